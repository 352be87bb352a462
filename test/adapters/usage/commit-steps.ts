import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aBar,
  aDigest,
  aHash,
  aHold,
  aLimit,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  seconds,
  token,
} from '../../conformance/usage-requests.js';
import type { aClock } from './clock.js';

/** What wallets, strangers and time do with the commits of one sender; a step's calls run at the same moment. */
export type CommitStep =
  | { readonly do: 'ask'; readonly asks: readonly CommitAsk[] }
  | { readonly do: 'wait'; readonly seconds: number };
export type CommitAsk = {
  readonly kind: 'commit' | 'finalize' | 'drop';
  readonly nonce: number;
  /** Names the commitment; its cost and its digest follow from it. */
  readonly version: number;
};

const ask: fc.Arbitrary<CommitAsk> = fc.record({
  kind: fc.constantFrom('commit', 'commit', 'finalize', 'finalize', 'finalize', 'drop'),
  nonce: fc.nat(5),
  version: fc.nat(2),
});

export const commitSteps: fc.Arbitrary<CommitStep[]> = fc.array(
  fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant('ask'), asks: fc.array(ask, { minLength: 1, maxLength: 8 }) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('wait'), seconds: fc.constantFrom(1, 29, 30, 59, 60) }),
    },
  ),
  { minLength: 5, maxLength: 40, size: 'max' },
);

const threshold = 100;
const exposure = { ...aHold(0, { counter: 'exposure-1' }), threshold: 60 };

/**
 * Takes the steps on stores that share their data, in turn, and checks after each: limits are never exceeded, every promise was
 * committed within the last 60 seconds when it was made, and is held in full. In the end only promises hold anything.
 */
export async function checkCommits(
  steps: readonly CommitStep[],
  stores: readonly UsageStore[],
  clock: ReturnType<typeof aClock>,
): Promise<{ readonly signed: number; readonly refused: number }> {
  const committedAt = new Map<string, number>();
  const signed = new Set<string>();
  let calls = 0;
  let refused = 0;
  const next = (): UsageStore => stores[(calls += 1) % stores.length]!;
  const [first] = stores;
  if (first === undefined) throw new Error('no store was given');
  await first.addBalance(chainId, {
    contract,
    balance: gwei(threshold),
    reserved: gwei(0),
    readAt: clock.now(),
  });

  async function take({ kind, nonce, version }: CommitAsk): Promise<void> {
    if (kind === 'drop') return void (await next().dropCommits(chainId));
    const name = `${nonce}/${version}`;
    // A commit of the same moment may be decided before it.
    if (kind === 'commit') committedAt.set(name, clock.now());
    const { outcome } = await next().reserve(requestOf(kind, nonce, version));
    if (outcome !== 'reserved') refused += 1;
    if (kind !== 'finalize' || outcome !== 'reserved') return;
    expect(clock.now() - (committedAt.get(name) ?? -Infinity)).toBeLessThan(60_000);
    signed.add(name);
  }

  async function check(isOver: boolean): Promise<void> {
    const reservations = await first!.reservations(chainId);
    const promised = new Set<string>();
    let held = 0;
    let exposed = 0;
    for (const { key, promises, limits, holds, commit } of reservations) {
      const spend = limits.find(({ unit }) => unit === 'NATIVE_ASSET')?.cost ?? 0;
      const atRisk = holds.find(({ counter }) => counter === exposure.counter)?.cost ?? 0;
      // What can be lost is held as the spending is, by payments in tokens alone.
      expect(atRisk).toBe(isInTokens(Number(key.nonce >> 64n)) ? spend : 0);
      exposed += atRisk;
      const costs = promises.map(({ digest }) => {
        const version = [0, 1, 2].find((one) => digestOf(Number(key.nonce >> 64n), one) === digest)!;
        promised.add(`${key.nonce >> 64n}/${version}`);
        return costOf(version);
      });
      held += spend;
      for (const cost of costs) expect(spend).toBeGreaterThanOrEqual(cost);
      if (!isOver) continue;
      expect(commit).toBeUndefined();
      expect(spend).toBe(Math.max(...costs));
    }
    expect(promised).toEqual(signed);
    expect(held).toBeLessThanOrEqual(threshold);
    const [state, risk] = await first!.counters(chainId, [aSpend(0), exposure]);
    expect(state).toEqual({ used: 0, reserved: held });
    expect(risk).toEqual({ used: 0, reserved: exposed });
    expect(exposed).toBeLessThanOrEqual(exposure.threshold);
    expect((await first!.accounts(chainId)).map(({ reserved }) => Number(reserved))).toEqual([held]);
  }

  for (const step of steps) {
    if (step.do === 'wait') clock.advance(step.seconds * 1_000);
    else await Promise.all(step.asks.map(take));
    await check(false);
  }
  clock.advance(60_000);
  await first.dropCommits(chainId);
  await check(true);
  return { signed: signed.size, refused };
}

function requestOf(kind: 'commit' | 'finalize', nonce: number, version: number): ReserveRequest {
  const cost = costOf(version);
  const signed = { digest: digestOf(nonce, version), validUntil: seconds(3_000) };
  const inTokens = isInTokens(nonce);
  return aRequest({
    key: { nonce: BigInt(nonce) << 64n },
    limits: [aSpend(cost, { threshold }), aLimit({ threshold: 5 })],
    holds: inTokens ? [aHold(cost), { ...exposure, cost }] : [aHold(cost)],
    bars: inTokens ? [aBar()] : [],
    accounts: [aNeed(cost)],
    promise: inTokens ? { ...signed, mode: 'ERC20', token } : signed,
    phase: { kind, commitment: aHash(100 * nonce + version) },
  });
}

/** Every other operation pays in tokens; two of them fill the budget. */
function isInTokens(nonce: number): boolean {
  return nonce % 2 === 1;
}

function digestOf(nonce: number, version: number) {
  return aDigest(100 * nonce + version + 1);
}

function costOf(version: number): number {
  return 10 + 15 * version;
}
