import { address } from '../../../core/meta/schema-parts.js';
import { choice, object } from '../../../core/schema/structural.js';
import { given } from '../../../core/units/given.js';
import { parseAddress } from '../../../core/units/address.js';
import { systemClock } from '../../../core/units/time.js';
import { recoverWith } from '../curve.js';
import { describedKind } from '../kind.js';
import { keyField, keyProblems } from '../providers/provider.js';
import { findProvider, signingProviderNames } from '../providers/table.js';
import { createRemoteSigner, remoteLimits } from '../remote-signer.js';

/** The key never leaves the cloud, which is asked for every signature. */
export const kms = describedKind({
  title: 'a key of a cloud that signs there',
  schema: object('A key of a cloud that signs there.', {
    required: {
      provider: choice('Whose key it is.', signingProviderNames),
      key: keyField,
      address: address('The account of the key: what the contract accepts.'),
    },
  }),
  problems({ provider, key }) {
    const { signing } = findProvider(provider);
    return signing === undefined ? [] : keyProblems(key, signing);
  },
  open(spec, { curve, environment, access, limits, meter }) {
    const { calls } = limits ?? remoteLimits;
    const client = findProvider(spec.provider).connect({
      environment,
      access,
      connections: calls,
      clock: systemClock,
    });
    const signer = createRemoteSigner({
      address: parseAddress(spec.address),
      implementation: `kms-${spec.provider}`,
      recover: recoverWith(curve),
      meter: meter(),
      ask: ({ digest }, signal) => client.sign(spec.key, digest, signal),
      ...given({ limits }),
    });
    return { ...signer, stop: () => [signer, client].forEach((part) => part.stop?.()) };
  },
});
