import { describe, expect, it } from '@jest/globals';
import type { Decision } from '../../../core/ledger/record.js';
import { createTally, type Tally } from '../../../core/ledger/rollup.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs } from '../../../core/units/time.js';

const start = Date.parse('2026-11-02T10:00:00Z') as EpochMs;
const minute = 60_000;

describe('a tally of many decisions', () => {
  // More kinds than it keeps for a paymaster, each of them again and again, in three minutes and from three senders.
  const decisions = Array.from({ length: 600 }, (_, i) => decision(i, `policy-${i % 11}`));

  it('has the sums of tallies of each decision alone', () => {
    const together = createTally();
    for (const one of decisions) count(together, one);
    const alone = decisions.map((one) => {
      const tally = createTally();
      count(tally, one);
      return tally;
    });
    expect(sumsOf([together])).toEqual(sumsOf(alone));
  });
});

function count(tally: Tally, one: Decision): void {
  tally.addDecision(one);
  tally.addReservation(one, one.maxCostWei ?? 0n, 1);
}

function sumsOf(
  tallies: readonly Tally[],
): Record<string, readonly [asks: number, sponsored: number, promisedWei: bigint]> {
  const sums: Record<string, readonly [number, number, bigint]> = {};
  const add = (
    key: string,
    { asks, sponsored, promisedWei }: { asks: number; sponsored: number; promisedWei: bigint },
  ): void => {
    const [all, count, money] = sums[key] ?? [0, 0, 0n];
    sums[key] = [all + asks, count + sponsored, money + promisedWei];
  };
  for (const tally of tallies) {
    for (const one of tally.rollups()) add(`${one.minute} ${one.dimension} ${one.value}`, one.amounts);
    for (const one of tally.senders()) add(`${one.day} ${one.sender}`, one.amounts);
  }
  return sums;
}

function decision(index: number, policyId: string): Decision {
  const at = (start + (index % 3) * minute + index) as EpochMs;
  return {
    kind: 'decision',
    id: String(index),
    at,
    organisation: 'acme',
    paymasterId: 'paymaster',
    chainId: 1,
    entryPoint: address(1),
    contract: address(2),
    fundingAddress: undefined,
    mode: 'SPONSORED',
    method: 'pm_sponsorUserOperation',
    requestId: 'request',
    callerRequestId: undefined,
    sender: address(10 + ((index % 7) % 3)),
    nonce: BigInt(index),
    userOpHash: undefined,
    digest: undefined,
    // Two calls: money is divided among them.
    calls: [call('token', 'transfer'), call(index % 2 === 0 ? 'token' : 'market', 'buy')],
    verdict: 'sponsored',
    reason: undefined,
    detail: undefined,
    policies: [{ policyId, effect: 'counted' }],
    maxCostWei: 1_001n + BigInt(index),
    validUntil: undefined,
    token: undefined,
    factory: undefined,
    callsLeftOut: 0,
    usdPerNative: undefined,
  };
}

function call(contractId: string, name: string): Decision['calls'][number] {
  return { target: address(3), selector: '0x12345678' as Hex, contractId, name };
}

function address(number: number): AddressKey {
  return `0x${number.toString(16).padStart(40, '0')}` as AddressKey;
}
