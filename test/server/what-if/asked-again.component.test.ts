import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { PastRecord } from '../../../core/ledger/past.js';
import type { EpochMs } from '../../../core/units/time.js';
import { WhatIf } from '../../../core/what-if/what-if.js';
import { forCampaign } from '../../../server/view/campaigns.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import { addressOf, aLimitConfig, aPaymasterConfig, someNow, someTarget } from '../../build/configs.js';
import { anOperation, execute } from '../../build/operations.js';
import { runs } from '../../support/property.js';
import { until } from '../../support/until.js';
import { useRpc } from '../../support/use-rpc.js';

// The oracle of a what-if is the service: the same traffic is asked again under the proposed rules, and the same is refused.

const host = useRpc();
const targets = [someTarget, addressOf(0xbeef)];
let nonces = 0;
let policies = 0;

type Asked = { readonly sender: number; readonly target: number; readonly gwei: number };
const traffic = fc.array(
  fc.record({ sender: fc.nat(2), target: fc.nat(1), gwei: fc.integer({ min: 1, max: 9 }) }),
  { minLength: 4, maxLength: 12 },
);
const hour = 3_600_000;
const rules = fc.record({
  count: fc.option(fc.integer({ min: 0, max: 10 })),
  ofEach: fc.option(fc.integer({ min: 0, max: 3 })),
  coins: fc.option(fc.integer({ min: 1, max: 30 })),
  each: fc.option(fc.integer({ min: 1, max: 9 })),
  closed: fc.boolean(),
  contracts: fc.constantFrom('open', 'registered', 'shadow'),
});
type Rules = typeof rules extends fc.Arbitrary<infer R> ? R : never;

function configOf({ count, ofEach, coins, each, closed, contracts }: Rules): Partial<PaymasterConfig> {
  policies += 1;
  const limit = (name: string, threshold: string, more: object = {}) =>
    aLimitConfig({ policyId: `${name}-${policies}`, name, threshold, ...more });
  const milli = (amount: number): string => (amount / 1_000).toFixed(3);
  return {
    limits: [
      ...(count === null ? [] : [limit('count', String(count))]),
      ...(ofEach === null ? [] : [limit('of each', String(ofEach), { scope: 'SMART_ACCOUNT' })]),
      ...(coins === null ? [] : [limit('coins', milli(coins), { thresholdType: 'NATIVE_ASSET' })]),
    ],
    ...(each === null
      ? {}
      : {
          operationLimits: [
            {
              policyId: `each-${policies}`,
              name: 'each',
              thresholdType: 'NATIVE_ASSET',
              perOperation: milli(each),
            },
          ],
        }),
    ...(closed
      ? {
          windows: [{ policyId: `w-${policies}`, name: 'closed', from: (someNow + 1_000 * hour) as EpochMs }],
        }
      : {}),
    ...(contracts === 'open' ? open : contracts === 'shadow' ? { contractsInShadow: true } : {}),
  };
}

const open: Partial<PaymasterConfig> = {
  contracts: [],
  contractsRegistered: false,
  defaultContractAction: 'Allow',
};

/** The nonces that are refused. */
async function refusedOf(operations: readonly object[]): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const operation of operations) {
    const { body } = await host.call('pm_sponsorUserOperation', [
      operation,
      { mode: 'SPONSORED', calculateGasLimits: false },
    ]);
    const { nonce } = operation as { nonce: string };
    if ((body.result as { paymasterAndData?: string } | undefined)?.paymasterAndData === '0x')
      refused.push(String(BigInt(nonce)));
  }
  return refused;
}

test('of the traffic that was signed it refuses what the service refuses when it is asked again', async () => {
  await fc.assert(
    fc.asyncProperty(traffic, rules, async (asked: readonly Asked[], proposed) => {
      const operations = asked.map(({ sender, target, gwei }) => {
        nonces += 1;
        return anOperation({
          sender: addressOf(0xa000 + sender),
          nonce: `0x${nonces.toString(16)}`,
          callData: execute(targets[target]),
          maxFeePerGas: `0x${(gwei * 1e9).toString(16)}`,
          maxPriorityFeePerGas: '0x1',
        });
      });
      await host.put(open);
      expect(await refusedOf(operations)).toEqual([]);
      const config = aPaymasterConfig(configOf(proposed));
      const records = await recordsOf(operations);
      const served = servePaymaster(config, createSharing());
      const whatIf = new WhatIf({
        chainId: config.chainId,
        rulesFor: (campaign) => forCampaign(served, campaign),
        listOf: () => undefined,
        from: 0 as EpochMs,
      });
      for (const record of records) whatIf.take(record);
      const { wouldBeRefused, judged } = whatIf.result();
      expect(judged).toBe(operations.length);
      const byId = new Map(
        records.flatMap((one) => (one.verdict === null ? [] : [[one.id, one.nonce] as const])),
      );
      const found = Object.values(wouldBeRefused.examples).flat();
      await host.put(configOf(proposed));
      // Asked in the order of their ids, and each reason has examples of its own.
      const refused = await refusedOf(operations);
      expect(new Set(found.map(({ decision }) => byId.get(decision)))).toEqual(new Set(refused));
      expect(wouldBeRefused.count).toBe(refused.length);
    }),
    runs(15),
  );
});

/** Those of the first time that they were asked. */
async function recordsOf(operations: readonly object[]): Promise<readonly PastRecord[]> {
  const wanted = new Set(operations.map((one) => String(BigInt((one as { nonce: string }).nonce))));
  const { paymasterId, namespace: organisation } = aPaymasterConfig();
  let found: readonly PastRecord[] = [];
  await until('the decisions are there', async () => {
    const to = (host.clock.now() + hour) as EpochMs;
    const all: PastRecord[] = [];
    let after: string | undefined;
    do {
      const page = await host.ledger.past({
        organisation,
        paymasterId,
        from: 0 as EpochMs,
        to,
        after,
        limit: 100,
      });
      all.push(...(JSON.parse(page.text) as PastRecord[]));
      after = page.last;
    } while (after !== undefined);
    found = all.filter((one) => one.verdict !== null && wanted.has(one.nonce));
    return found.length >= operations.length;
  });
  return found;
}
