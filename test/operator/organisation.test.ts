import { describe, expect, test } from '@jest/globals';
import type { Condition } from '../../core/meta/meta.js';
import type { Finding } from '../../core/meta/conditions.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { createOrganisationReconciler } from '../../operator/reconcilers/organisation.js';
import { aPaymaster, anOrganisation } from '../build/resources.js';
import { someNow } from '../build/sources.js';

// The API server cannot check a checksum, and stores that can do so refuse a wrong one. So this tests the reconciler alone.

const mistyped = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD';

type Case = {
  readonly name: string;
  /** The condition Accepted as it is stored. */
  readonly stands?: { readonly status: 'True' | 'False'; readonly observedGeneration: number };
  readonly paymaster?: Paymaster;
  readonly want: readonly string[];
};

const acceptedPaymaster = (address: string): Paymaster => ({
  ...aPaymaster({ funding: { address } }),
  status: { conditions: [condition('True', 1)] },
});

const refused = ['Accepted=BadChecksum', 'Ready=NotAccepted'];
const warned = ['Accepted=Accepted', 'AddressChecksum=Wrong', 'Ready=Ready'];

describe('a wallet of an Organisation with a wrong EIP-55 checksum', () => {
  test.each<Case>([
    { name: 'is refused in a new Organisation', want: refused },
    {
      name: 'is refused when it comes with a change',
      stands: { status: 'True', observedGeneration: 1 },
      want: refused,
    },
    {
      name: 'stays refused',
      stands: { status: 'False', observedGeneration: 2 },
      want: refused,
    },
    {
      name: 'is a warning where it was accepted before',
      stands: { status: 'True', observedGeneration: 2 },
      want: warned,
    },
    {
      name: 'is a warning while it funds a paymaster',
      paymaster: acceptedPaymaster(mistyped.toLowerCase()),
      want: warned,
    },
    {
      name: 'is refused when only another wallet funds a paymaster',
      paymaster: acceptedPaymaster(`0x${'ab'.repeat(20)}`),
      want: refused,
    },
  ])('$name', async ({ stands, paymaster, want }) => {
    const built = anOrganisation({ fundingAddresses: [`0x${'12'.repeat(20)}`, mistyped] });
    const organisation = {
      ...built,
      metadata: { ...built.metadata, generation: 2 },
      status: {
        conditions: stands === undefined ? [] : [condition(stands.status, stands.observedGeneration)],
      },
    };
    let written: readonly Finding[] = [];
    const reconcile = createOrganisationReconciler({
      serving: undefined,
      cache: {
        organisationsOf: () => [organisation],
        paymastersIn: () => (paymaster === undefined ? [] : [paymaster]),
      },
      statuses: {
        write: (_kind, _object, findings) => {
          written = findings;
          return Promise.resolve();
        },
      },
      offeredChains: { get: () => undefined },
      clock: { now: () => someNow },
    });
    await reconcile('acme');
    expect(written.map(({ type, reason }) => `${type}=${reason}`)).toEqual(want);
    const told = written.find(({ reason }) => reason === 'BadChecksum' || reason === 'Wrong');
    expect(told?.message).toMatch(/^spec\.fundingAddresses\[1\] must be .*EIP-55/);
  });
});

function condition(status: 'True' | 'False', observedGeneration: number): Condition {
  const reason = status === 'True' ? 'Accepted' : 'BadChecksum';
  const lastTransitionTime = '2026-01-01T12:00:00.000Z';
  return { type: 'Accepted', status, reason, message: '', observedGeneration, lastTransitionTime };
}
