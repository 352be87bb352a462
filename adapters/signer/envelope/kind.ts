import { address } from '../../../core/meta/schema-parts.js';
import type { Signer } from '../../../core/paymaster/signer.js';
import { choice, object, text, type Infer } from '../../../core/schema/structural.js';
import { parseAddress } from '../../../core/units/address.js';
import { systemClock } from '../../../core/units/time.js';
import { pause } from '../../timers.js';
import { withinDeadline } from '../../within-deadline.js';
import { CallFailed, callFailedBy } from '../call-failed.js';
import { createLocalSigner } from '../file/local-signer.js';
import { describedKind, type OpenDeps, type OpenSigner } from '../kind.js';
import { keyField, keyProblems } from '../providers/provider.js';
import { providerNames, findProvider } from '../providers/table.js';
import { createPrivateKey } from 'node:crypto';

const schema = object('A private key that is wrapped by another key.', {
  required: {
    provider: choice('Whose key wraps it.', providerNames),
    key: keyField,
    ciphertext: text('The wrapped key, base64.', {
      maxLength: 4096,
      pattern: '^[A-Za-z0-9+/]{40,}={0,2}$',
      expected: 'base64 of the wrapped key',
    }),
    address: address('The account of the private key: what the contract accepts.'),
  },
});

/** The key is wrapped by a key of a provider, which opens it once at the start: from then on it is in memory. */
export const envelope = describedKind({
  title: 'the private key, wrapped by a key of a cloud or of a file, and opened in memory at the start',
  schema,
  problems: ({ provider, key }) => keyProblems(key, findProvider(provider).wrapping),
  open: openEnvelope,
});

/** Time to open it, repeats included. */
const openMs = 5_000;

function openEnvelope(
  spec: Infer<typeof schema>,
  { curve, environment, access, origin }: OpenDeps,
): OpenSigner {
  const client = findProvider(spec.provider).connect({
    environment,
    access,
    connections: 1,
    clock: systemClock,
  });
  const pinned = parseAddress(spec.address);
  let opened: Signer | undefined;
  let trouble = 'it is not opened yet';
  const stopping = new AbortController();

  async function open(signal: AbortSignal): Promise<Signer> {
    const plaintext = await client.unwrap(spec.key, Buffer.from(spec.ciphertext, 'base64'), signal);
    const key = readPrivateKey(plaintext);
    if (key === undefined || !curve.isKey(key))
      throw new CallFailed('refused', 'the ciphertext holds no private key');
    const signer = createLocalSigner(curve, key, origin);
    if (signer.address === pinned) return signer;
    throw new CallFailed(
      'refused',
      `the ciphertext holds the key of ${signer.address}, and address says ${pinned}`,
    );
  }

  return {
    address: pinned,
    implementation: curve.name,
    trouble: () => (opened === undefined ? trouble : undefined),
    sign: (items) =>
      opened?.sign(items) ??
      items.map(() => ({ outcome: 'unsigned', error: new CallFailed('unreached', trouble) })),
    async check() {
      const signal = AbortSignal.any([AbortSignal.timeout(openMs), stopping.signal]);
      for (let pauseMs = 100; opened === undefined && !signal.aborted; pauseMs *= 2) {
        try {
          opened = await withinDeadline(signal, open(signal));
        } catch (error) {
          if (signal.aborted) return;
          const failed = callFailedBy(error);
          trouble = failed.message;
          if (failed.failure === 'refused') return;
          await pause(pauseMs, signal);
        }
      }
    },
    stop() {
      stopping.abort();
      client.stop();
    },
  };
}

const digits = /^(?:0x)?([0-9a-fA-F]{64})\s*$/;

/**
 * The 32 bytes of a private key that was wrapped: as they are, as 64 hex digits (a key file), or as PKCS#8, as AWS makes
 * data key pairs. Undefined for anything else.
 */
export function readPrivateKey(plaintext: Uint8Array): Uint8Array | undefined {
  if (plaintext.length === 32) return plaintext;
  const [, hex] = digits.exec(Buffer.from(plaintext).toString('latin1')) ?? [];
  if (hex !== undefined) return Buffer.from(hex, 'hex');
  try {
    const { crv, d } = createPrivateKey({ key: Buffer.from(plaintext), format: 'der', type: 'pkcs8' }).export(
      {
        format: 'jwk',
      },
    );
    return crv === 'secp256k1' && d !== undefined ? Buffer.from(d, 'base64url') : undefined;
  } catch {
    return undefined;
  }
}
