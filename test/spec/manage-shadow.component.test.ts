import { beforeAll, expect, test } from '@jest/globals';
import { derivePaymasterId, derivePolicyId } from '../../core/config/ids.js';
import { contractsInShadow } from '../../core/policy/shadow.js';
import { plusMs, type EpochMs } from '../../core/units/time.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, recordOf, recordsOf } from '../build/dashboard.js';
import { aDecision, reservationOf } from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { useDashboard } from '../support/use-dashboard.js';

// What is in Shadow of many paymasters: all of it is told, or that there is more.

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: false });
const paymasters = Array.from({ length: 25 }, (_, index) => `shop-${index}`);

/** Operations that were sponsored a minute ago, all of them against what is in Shadow. */
async function sponsor(paymaster: string, operations: number, policyId: string): Promise<void> {
  const at = plusMs(host.clock.now(), -60_000) as EpochMs;
  const paymasterId = derivePaymasterId('acme', paymaster);
  const policies = [{ policyId, effect: 'would_refuse' as const }];
  for (let nonce = 0n; nonce < operations; nonce += 1n)
    await ledger.append(reservationOf(aDecision('acme', at, { paymasterId, nonce, policies })));
}

async function shadowProblems() {
  const response = await host.fetch(`${managePrefix}/problems`, { headers: { authToken: acmeToken } });
  const { items, complete } = recordOf(recordOf(await response.json())['data']);
  const of = (check: string) => recordsOf(items).filter((problem) => problem['check'] === check);
  return { complete, much: of('shadow-refuses-much'), unread: of('shadow-unread') };
}

beforeAll(async () => {
  for (const name of paymasters) {
    const spec = {
      name,
      chainId,
      type: 'HYBRID' as const,
      version: '1.1.0',
      contractsEnforcement: 'Shadow' as const,
    };
    await host.resources.apply({
      manager: 'test',
      kind: 'Paymaster',
      key: { namespace: 'acme', name },
      spec,
    });
  }
});

test('policies in Shadow of 25 paymasters are all told', async () => {
  for (const paymaster of paymasters) {
    const name = `${paymaster}-daily`;
    const spec = {
      paymasterRef: { name: paymaster },
      name: 'daily',
      enforcement: 'Shadow' as const,
      policyType: 'PAYMASTER_SA_LIMIT' as const,
      spendingLimit: {
        scope: 'PAYMASTER' as const,
        thresholdType: 'COUNT' as const,
        threshold: '1',
        never: {},
      },
    };
    await host.resources.apply({
      manager: 'test',
      kind: 'PaymasterPolicy',
      key: { namespace: 'acme', name },
      spec,
    });
    await sponsor(paymaster, 10, derivePolicyId('acme', name));
  }
  const { complete, much, unread } = await shadowProblems();
  expect(complete).toBe(true);
  expect(much.map(({ name }) => String(name)).toSorted()).toEqual(paymasters.toSorted());
  expect(much[0]).toMatchObject({
    message: '"daily" would have refused 10 of the 10 operations that were sponsored in the last 24 hours.',
  });
  expect(unread).toEqual([]);
});

test('lists of contracts in Shadow are looked at for the 20 busiest, and it is said that there are more', async () => {
  // The later a paymaster, the busier: the first five are not looked at.
  for (const [index, paymaster] of paymasters.entries())
    await sponsor(paymaster, 10 + index, contractsInShadow);
  const { much, unread } = await shadowProblems();
  const lists = much.filter(({ message }) => String(message).startsWith('The list of contracts'));
  expect(lists.map(({ name }) => String(name)).toSorted()).toEqual(paymasters.slice(5).toSorted());
  expect(unread).toMatchObject([
    { severity: 'note', displayName: 'acme', message: 'Looked at: the 20 busiest of 25.' },
  ]);
});
