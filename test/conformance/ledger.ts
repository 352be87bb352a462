import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { LedgerEntry } from '../../core/ledger/ledger.js';
import {
  usageGroups,
  usageSteps,
  type DecisionQuery,
  type DecisionView,
  type UsageGroup,
  type UsageQuery,
  type UsageRow,
} from '../../core/ledger/query.js';
import type { LedgerMaintenance } from '../../core/ledger/ledger.js';
import type { Decision } from '../../core/ledger/record.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Wei } from '../../core/units/wei.js';
import { createMemoryLedger, type TestedLedger } from '../fakes/memory-ledger.js';
import { runs } from '../support/property.js';
import { isSoak } from '../support/soak-seconds.js';
import {
  aDecision,
  address,
  aGap,
  alone,
  anId,
  anUnusedEnd,
  aRefusal,
  aReversal,
  aSample,
  aSettlement,
  at,
  hex,
  reservationOf,
} from './ledger-records.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** Around the end of a month. */
const noon = at('2026-01-31T12:00:00Z');
const largest = 2n ** 256n - 1n;

/**
 * Guarantees of every ledger, with the default retention. `create` gives an empty one. Each test uses another
 * organisation, so that one ledger is enough for most of them.
 */
export function ledgerConformance(implementation: string, create: () => Promise<TestedLedger>): void {
  describe(`ledger: ${implementation}`, () => {
    let ledger: TestedLedger;
    const others: TestedLedger[] = [];
    beforeAll(async () => {
      ledger = await create();
    });
    afterAll(async () => {
      await Promise.all([ledger, ...others].map((one) => one.stop()));
    });

    test('a decision is answered with everything that was stored', async () => {
      const full = aDecision('full', noon, {
        fundingAddress: address(1),
        mode: 'ERC20',
        callerRequestId: 'mine "quoted", and ünusual',
        nonce: largest,
        userOpHash: hex(32, 5),
        calls: [
          { target: address(2), selector: '0x' as Hex },
          { target: address(3), selector: '0x12345678' as Hex, contractId: 'nft', name: 'mint' },
        ],
        detail: "it's\na detail",
        policies: [
          { policyId: 'p1', effect: 'counted' },
          { policyId: 'p2', effect: 'refused' },
        ],
        maxCostWei: largest,
        validUntil: 1_800_000_000 as NonNullable<Decision['validUntil']>,
        token: address(4),
      });
      const refusal = aRefusal('full', (noon + 1) as EpochMs, {
        contract: undefined,
        mode: undefined,
        calls: [],
        policies: [{ policyId: 'p1', effect: 'refused' }],
      });
      await ledger.append([...reservationOf(full), ...alone(refusal)]);
      expect(await ledger.decision('full', full.id)).toEqual({ decision: full, settlement: undefined });
      expect(await ledger.decision('full', refusal.id)).toEqual({ decision: refusal, settlement: undefined });
      expect(await ledger.decision('full', anId(noon))).toBeUndefined();
    });

    test('a text that is not an id names no decision, and none is stored under it', async () => {
      const record = { ...aRefusal('full', noon), id: "' OR 1=1" };
      expect(await ledger.decision('full', record.id)).toBeUndefined();
      await expect(ledger.append(alone(record))).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    });

    test('an organisation sees nothing of another one', async () => {
      const mine = aDecision('tenant-a', noon);
      const other = aDecision('tenant-b', noon, { requestId: mine.requestId, userOpHash: hex(32, 77) });
      await ledger.append([...reservationOf(mine), ...reservationOf(other, aSettlement(other, noon))]);
      expect(await ledger.decision('tenant-a', other.id)).toBeUndefined();
      expect(await idsOf(ledger, { organisation: 'tenant-a' })).toEqual([mine.id]);
      expect(await idsOf(ledger, { organisation: 'tenant-a', requestId: mine.requestId })).toEqual([mine.id]);
      expect(await idsOf(ledger, { organisation: 'tenant-a', userOpHash: hex(32, 77) })).toEqual([]);
      expect(await idsOf(ledger, { organisation: 'tenant' })).toEqual([]);
      expect(await usageOf(ledger, { organisation: 'tenant-a' })).toMatchObject([{ sponsored: 1, mined: 0 }]);
      for (const groupBy of groups)
        for (const row of await usageOf(ledger, { organisation: 'tenant-a', groupBy, step: 'day' }))
          expect(row.spentWei).toBe(0n);
    });

    test('pages lose and repeat nothing while newer decisions are stored', async () => {
      const decisions = times(45).map((index) => aDecision('pages', (noon + index) as EpochMs));
      await ledger.append(decisions.flatMap((one) => reservationOf(one)));
      const seen: string[] = [];
      let before: string | undefined;
      do {
        const page = await ledger.decisions({
          ...allOf('pages'),
          limit: 10,
          ...(before !== undefined && { before }),
        });
        expect(page.decisions.length).toBeLessThanOrEqual(10);
        seen.push(...page.decisions.map(({ decision }) => decision.id));
        before = page.next;
        await ledger.append(reservationOf(aDecision('pages', (noon + 1000 + seen.length) as EpochMs)));
      } while (before !== undefined);
      expect(seen).toEqual(decisions.map(({ id }) => id).reverse());
    });

    test('a value that one of many decisions has is found, if need be after pages without any', async () => {
      const rare = { reason: 'FACTORY_NOT_ALLOWED', paymasterId: 'toy', sender: address(77) };
      const refusals = times(300).map((index) =>
        aRefusal('rare', (noon - index * 20 * minuteMs) as EpochMs, index === 290 ? rare : {}),
      );
      await ledger.append(alone(...refusals));
      const { id } = refusals[290]!;
      const range = { organisation: 'rare', from: (noon - 90 * dayMs) as EpochMs };
      const { reason, paymasterId, sender } = rare;
      for (const filters of [{ reason }, { paymasterId }, { sender }, { reason, paymasterId, sender }])
        expect(await idsOf(ledger, { ...range, ...filters })).toEqual([id]);
      expect(await idsOf(ledger, { ...range, verdict: 'sponsored' })).toEqual([]);
    });

    test('ranges contain their beginning and not their end', async () => {
      const [first, second] = [aDecision('ranges', noon), aDecision('ranges', (noon + minuteMs) as EpochMs)];
      await ledger.append([...reservationOf(first), ...reservationOf(second)]);
      const from = noon;
      const to = (noon + minuteMs) as EpochMs;
      expect(await idsOf(ledger, { organisation: 'ranges', from, to })).toEqual([first.id]);
      expect(await idsOf(ledger, { organisation: 'ranges', from: to })).toEqual([second.id]);
      expect(await usageOf(ledger, { organisation: 'ranges', from, to })).toMatchObject([
        { from, to, sponsored: 1 },
      ]);
      expect(await usageOf(ledger, { organisation: 'ranges', from: to, to })).toEqual([]);
    });

    test('decisions are found by paymaster, sender, verdict, reason, request id and operation hash', async () => {
      const organisation = 'search';
      const noise = times(300).map((index) =>
        aRefusal(organisation, (noon + index) as EpochMs, {
          sender: address(1000 + (index % 7)),
          reason: 'LIMIT_REACHED',
        }),
      );
      const signed = aDecision(organisation, (noon + 50) as EpochMs, {
        paymasterId: 'till',
        userOpHash: hex(32, 901),
        sender: address(2),
      });
      const mined = aDecision(organisation, (noon + 60) as EpochMs, { callerRequestId: 'theirs' });
      const repeated = aRefusal(organisation, (noon + 70) as EpochMs, { callerRequestId: 'theirs' });
      await ledger.append(alone(...noise.slice(0, 150)));
      await ledger.append([
        ...reservationOf(signed),
        ...reservationOf(mined, aSettlement(mined, at('2026-02-01T00:00:10Z'), { userOpHash: hex(32, 902) })),
        ...alone(repeated, ...noise.slice(150)),
      ]);
      const find = (query: Partial<DecisionQuery>) => idsOf(ledger, { organisation, ...query, limit: 7 });
      expect(await find({ paymasterId: 'till' })).toEqual([signed.id]);
      expect(await find({ sender: address(2) })).toEqual([signed.id]);
      expect(await find({ sender: address(3) })).toEqual([]);
      expect(await find({ verdict: 'sponsored' })).toEqual([mined.id, signed.id]);
      expect(await find({ reason: 'METHOD_NOT_ALLOWED' })).toEqual([repeated.id]);
      expect(await find({ userOpHash: hex(32, 901) })).toEqual([signed.id]);
      expect(await find({ userOpHash: hex(32, 902) })).toEqual([mined.id]);
      expect(await find({ requestId: signed.requestId })).toEqual([signed.id]);
      expect(await find({ requestId: 'theirs' })).toEqual([repeated.id, mined.id]);
      expect(await find({ requestId: 'theirs', verdict: 'refused' })).toEqual([repeated.id]);
      expect(await find({ sender: address(1003) })).toEqual(
        noise
          .filter(({ sender }) => sender === address(1003))
          .map(({ id }) => id)
          .reverse(),
      );
      expect(await find({ requestId: 'theirs', to: (noon + 65) as EpochMs })).toEqual([mined.id]);
    });

    test('decisions are found by a method that they call, by the key that asked, and by what they can cost at least, to the last wei', async () => {
      const organisation = 'methods';
      const call = { target: address(9), selector: '0xd09de08a' as Hex };
      const other = { target: address(9), selector: '0xffffffff' as Hex };
      const huge = 123_456_789_012_345_678_901n;
      const made = [
        aDecision(organisation, noon, {
          calls: [call],
          maxCostWei: 9n as Wei,
          policies: [{ policyId: 'web', effect: 'key' }],
        }),
        aDecision(organisation, (noon + 1) as EpochMs, { calls: [other, call], maxCostWei: 10n as Wei }),
        aDecision(organisation, (noon + 2) as EpochMs, { calls: [other], maxCostWei: huge as Wei }),
        aRefusal(organisation, (noon + 3) as EpochMs, {
          calls: [],
          policies: [{ policyId: 'web', effect: 'campaign' }],
        }),
      ];
      await ledger.append(alone(...made));
      const ids = made.map(({ id }) => id);
      const find = (query: Partial<DecisionQuery>) => idsOf(ledger, { organisation, ...query, limit: 7 });
      expect(await find({ selector: call.selector })).toEqual([ids[1], ids[0]]);
      expect(await find({ selector: '0x00000000' })).toEqual([]);
      expect(await find({ key: 'web' })).toEqual([ids[0]]);
      expect(await find({ minCostWei: 10n as Wei })).toEqual([ids[2], ids[1]]);
      expect(await find({ minCostWei: huge as Wei })).toEqual([ids[2]]);
      expect(await find({ minCostWei: (huge + 1n) as Wei })).toEqual([]);
      expect(await find({ minCostWei: 10n as Wei, selector: call.selector })).toEqual([ids[1]]);
    });

    test('what was mined of a deleted paymaster belongs to the organisation of its decision', async () => {
      const decision = aDecision('deleted', noon);
      const settlement = aSettlement(decision, at('2026-01-31T12:00:10Z'), { userOpHash: hex(32, 903) });
      await ledger.append(reservationOf(decision, { ...settlement, organisation: '' }));
      const range = { from: at('2026-01-31T00:00:00Z'), to: at('2026-02-01T00:00:00Z') };
      const found = await ledger.decisions({
        organisation: 'deleted',
        ...range,
        userOpHash: hex(32, 903),
        limit: 10,
      });
      expect(found.decisions.map(({ decision: { id } }) => id)).toEqual([decision.id]);
      const [row] = await ledger.usage({
        organisation: 'deleted',
        paymasterId: undefined,
        ...range,
        step: 'day',
        groupBy: undefined,
        limit: 10,
      });
      expect(row).toMatchObject({ sponsored: 1, mined: 1, spentWei: 600n });
    });

    test('usage has a row for each step in UTC, cut to the range', async () => {
      const organisation = 'steps';
      const moments = [
        '2026-01-31T22:59:59.999Z',
        '2026-01-31T23:00:00Z',
        '2026-02-01T00:00:00Z',
        '2026-02-28T23:59:59Z',
        '2026-03-01T00:00:00Z',
        '2026-03-29T01:30:00Z',
      ].map(at);
      await ledger.append(moments.flatMap((time) => reservationOf(aDecision(organisation, time))));
      const range = { organisation, from: at('2026-01-31T22:30:00Z'), to: at('2026-03-29T02:15:00Z') };
      expect(rangesOf(await usageOf(ledger, { ...range, step: 'month' }))).toEqual([
        ['2026-01-31T22:30:00.000Z', '2026-02-01T00:00:00.000Z', 2],
        ['2026-02-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z', 2],
        ['2026-03-01T00:00:00.000Z', '2026-03-29T02:15:00.000Z', 2],
      ]);
      expect(rangesOf(await usageOf(ledger, { ...range, step: 'day' }))).toEqual([
        ['2026-01-31T22:30:00.000Z', '2026-02-01T00:00:00.000Z', 2],
        ['2026-02-01T00:00:00.000Z', '2026-02-02T00:00:00.000Z', 1],
        ['2026-02-28T00:00:00.000Z', '2026-03-01T00:00:00.000Z', 1],
        ['2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z', 1],
        ['2026-03-29T00:00:00.000Z', '2026-03-29T02:15:00.000Z', 1],
      ]);
      expect(rangesOf(await usageOf(ledger, { ...range, step: 'hour' }))).toEqual([
        ['2026-01-31T22:30:00.000Z', '2026-01-31T23:00:00.000Z', 1],
        ['2026-01-31T23:00:00.000Z', '2026-02-01T00:00:00.000Z', 1],
        ['2026-02-01T00:00:00.000Z', '2026-02-01T01:00:00.000Z', 1],
        ['2026-02-28T23:00:00.000Z', '2026-03-01T00:00:00.000Z', 1],
        ['2026-03-01T00:00:00.000Z', '2026-03-01T01:00:00.000Z', 1],
        ['2026-03-29T01:00:00.000Z', '2026-03-29T02:00:00.000Z', 1],
      ]);
    });

    test('one row more than the limit tells that there are more', async () => {
      const organisation = 'limit';
      const decisions = times(5).map((index) => aDecision(organisation, (noon + index * hourMs) as EpochMs));
      await ledger.append(decisions.flatMap((one) => reservationOf(one)));
      const rows = (limit: number) => usageOf(ledger, { organisation, step: 'hour', limit });
      expect(await rows(5)).toHaveLength(5);
      expect(rangesOf(await rows(3)).map(([from]) => from)).toEqual(
        times(4).map((index) => new Date(noon + index * hourMs).toISOString()),
      );
    });

    test('amounts of 256 bits add up exactly', async () => {
      const organisation = 'large';
      const decisions = times(3).map((index) =>
        aDecision(organisation, (noon + index) as EpochMs, { maxCostWei: largest }),
      );
      const token = { address: address(55), amount: largest, decimals: 18 };
      await ledger.append(decisions.flatMap((one) => reservationOf(one)));
      for (const one of decisions)
        await ledger.append(reservationOf(one, aSettlement(one, noon, { actualGasCostWei: largest, token })));
      for (const step of usageSteps)
        expect(await usageOf(ledger, { organisation, step })).toMatchObject([
          {
            promisedWei: 3n * largest,
            spentWei: 3n * largest,
            tokens: [{ address: address(55), decimals: 18, amount: 3n * largest }],
          },
        ]);
    });

    test('money of several calls is divided so that it adds up, and every policy gets all of it', async () => {
      const organisation = 'calls';
      const selector = '0x42966c68' as Hex;
      const decision = aDecision(organisation, noon, {
        maxCostWei: 1001n,
        calls: [
          { target: address(1), selector, contractId: 'a', name: 'burn' },
          { target: address(1), selector, contractId: 'a', name: 'mint' },
          { target: address(2), selector: '0xdeadbeef' as Hex, contractId: 'b' },
          { target: address(3), selector },
        ],
        policies: [
          { policyId: 'p1', effect: 'counted' },
          { policyId: 'p2', effect: 'counted' },
        ],
      });
      const plain = aRefusal(organisation, noon, { calls: [], mode: undefined });
      await ledger.append([...reservationOf(decision), ...alone(plain)]);
      const sums = async (groupBy: UsageGroup) =>
        (await usageOf(ledger, { organisation, groupBy, step: 'day' })).map(
          ({ group, sponsored, refused, promisedWei }) => [group, sponsored, refused, promisedWei],
        );
      expect(await sums('contract')).toEqual([
        ['(none)', 0, 1, 0n],
        ['a', 1, 0, 501n],
        ['b', 1, 0, 250n],
        ['other', 1, 0, 250n],
      ]);
      expect(await sums('method')).toEqual([
        ['(none)', 0, 1, 0n],
        ['a:burn', 1, 0, 251n],
        ['a:mint', 1, 0, 250n],
        ['other', 1, 0, 500n],
      ]);
      expect(await sums('policy')).toEqual([
        ['(none)', 0, 1, 0n],
        ['p1', 1, 0, 1001n],
        ['p2', 1, 0, 1001n],
      ]);
      expect(await sums('mode')).toEqual([
        ['(none)', 0, 1, 0n],
        ['SPONSORED', 1, 0, 1001n],
      ]);
      expect(await sums('reason')).toEqual([
        ['(none)', 1, 0, 1001n],
        ['METHOD_NOT_ALLOWED', 0, 1, 0n],
      ]);
    });

    test('usage by key adds up to all of it, what no key with a name asked for included', async () => {
      const organisation = 'keys';
      const shops = { policyId: 'shops', effect: 'key' as const };
      const named = aDecision(organisation, noon, { maxCostWei: 1001n, policies: [shops] });
      const first = aDecision(organisation, noon, { maxCostWei: 77n, sender: address(9) });
      const refused = aRefusal(organisation, noon, { policies: [shops] });
      const ofToken = { address: address(50), amount: 5n, decimals: 6 };
      const later = (noon + minuteMs) as EpochMs;
      const own = aDecision(organisation, (noon - 40 * hourMs) as EpochMs, { policies: [shops] });
      await ledger.append([
        ...reservationOf(named, aSettlement(named, later, { actualGasCostWei: largest, token: ofToken })),
        ...reservationOf(first, aSettlement(first, later, { actualGasCostWei: 12n, token: ofToken })),
        ...reservationOf(own),
        ...alone(refused, aGap(organisation, noon)),
      ]);
      const rows = await usageOf(ledger, { organisation, groupBy: 'key', step: 'day' });
      const shown = rows.map(({ group, sponsored, refused: no, promisedWei, spentWei, tokens }) => [
        group,
        sponsored,
        no,
        promisedWei,
        spentWei,
        tokens.map(({ amount }) => amount),
      ]);
      expect(shown).toEqual([
        ['shops', 1, 0, own.maxCostWei, 0n, []],
        ['(none)', 1, 5, 77n, 12n, [5n]],
        ['shops', 1, 1, 1001n, largest, [5n]],
      ]);
      const query = { organisation, groupBy: 'key', step: 'day', paymasterId: undefined } as const;
      const { from, to } = allOf('');
      const spent = (await ledger.spent({ ...query, from: startOfDay(from), to: startOfDay(to) })) ?? [];
      const sums = new Map<string, bigint>();
      for (const { group, spentWei } of spent) sums.set(group, (sums.get(group) ?? 0n) + spentWei);
      expect(Object.fromEntries(sums)).toEqual({ '(none)': 12n, shops: largest });
    });

    test('the promise that was mined gets the cost, and the others of its nonce are spent elsewhere', async () => {
      const organisation = 'mined';
      const first = aDecision(organisation, noon);
      const second = aDecision(organisation, (noon + 1000) as EpochMs);
      const committed = aDecision(organisation, (noon + 2000) as EpochMs, { verdict: 'committed' });
      const settlement = aSettlement(second, (noon + hourMs) as EpochMs, { success: false });
      await ledger.append(reservationOf(first, second, committed, settlement));
      const { outcome, mined } = settlement;
      expect((await ledger.decision(organisation, second.id))?.settlement).toEqual({
        outcome,
        mined,
        at: settlement.at,
        takenBack: 0,
      });
      expect((await ledger.decision(organisation, first.id))?.settlement).toEqual({
        outcome: 'spent-elsewhere',
        mined: undefined,
        at: settlement.at,
        takenBack: 0,
      });
      expect((await ledger.decision(organisation, committed.id))?.settlement).toBeUndefined();
      expect(await usageOf(ledger, { organisation, step: 'hour' })).toMatchObject([
        { asks: 2, sponsored: 1, refused: 0, mined: 0, promisedWei: 1000n, spentWei: 0n },
        { asks: 0, sponsored: 0, mined: 1, reverted: 1, expired: 0, promisedWei: 0n, spentWei: 600n },
      ]);
    });

    test('an operation whose digest the chain did not show costs exactly once', async () => {
      const organisation = 'ambiguous';
      const [first, second] = [aDecision(organisation, noon), aDecision(organisation, (noon + 1) as EpochMs)];
      const settlement = aSettlement(first, (noon + minuteMs) as EpochMs, { digest: undefined });
      await ledger.append(reservationOf(first, second, settlement));
      expect((await ledger.decision(organisation, second.id))?.settlement?.outcome).toBe('mined');
      expect(await usageOf(ledger, { organisation })).toMatchObject([
        { asks: 2, sponsored: 1, mined: 1, expired: 0, spentWei: 600n },
      ]);
    });

    test('an operation that was asked for six times counts once, with the most that it can cost, and its asks are a figure of their own', async () => {
      const organisation = 'six';
      const asks = [500n, 900n, 700n, 900n, 1_100n, 3n].map((maxCostWei, index) => ({
        ...aDecision(organisation, (noon + index) as EpochMs),
        maxCostWei,
      }));
      for (const ask of asks) await ledger.append(reservationOf(asks[0]!, ask));
      expect(await usageOf(ledger, { organisation })).toMatchObject([
        { asks: 6, sponsored: 1, promisedWei: 1_100n, expired: 0 },
      ]);
      await ledger.append(reservationOf(asks[0]!, anUnusedEnd(asks[0]!, (noon + 7) as EpochMs, 'expired')));
      expect(await usageOf(ledger, { organisation })).toMatchObject([
        { asks: 6, sponsored: 1, promisedWei: 1_100n, expired: 1 },
      ]);
    });

    test.each(['expired', 'spent-elsewhere'] as const)(
      'a promise that ended as %s costs nothing',
      async (outcome) => {
        const organisation = `unused-${outcome}`;
        const decision = aDecision(organisation, noon);
        await ledger.append(reservationOf(decision, anUnusedEnd(decision, (noon + 5) as EpochMs, outcome)));
        expect((await ledger.decision(organisation, decision.id))?.settlement).toEqual({
          outcome,
          mined: undefined,
          at: noon + 5,
          takenBack: 0,
        });
        expect(await usageOf(ledger, { organisation })).toMatchObject([
          { sponsored: 1, mined: 0, expired: 1, spentWei: 0n },
        ]);
      },
    );

    test('a reorganisation takes a settlement back, and another one may follow in another block', async () => {
      const organisation = 'reorg';
      const decision = aDecision(organisation, noon);
      const token = { address: address(56), amount: 9n, decimals: undefined };
      const first = aSettlement(decision, (noon + hourMs) as EpochMs, { token });
      await ledger.append(reservationOf(decision, first));
      await ledger.append(reservationOf(decision, aReversal(decision, (noon + 2 * hourMs) as EpochMs)));
      expect((await ledger.decision(organisation, decision.id))?.settlement).toBeUndefined();
      const sponsoredOnly = { sponsored: 1, mined: 0, reverted: 0, expired: 0, spentWei: 0n, tokens: [] };
      expect(await usageOf(ledger, { organisation })).toMatchObject([sponsoredOnly]);
      const again = aSettlement(decision, (noon + 3 * hourMs) as EpochMs, { actualGasCostWei: 700n });
      await ledger.append(reservationOf(decision, again));
      expect((await ledger.decision(organisation, decision.id))?.settlement).toEqual({
        outcome: 'mined',
        mined: again.mined,
        at: again.at,
        takenBack: 1,
      });
      expect(await usageOf(ledger, { organisation, step: 'hour' })).toMatchObject([
        sponsoredOnly,
        { from: noon + 3 * hourMs, mined: 1, spentWei: 700n },
      ]);
    });

    test('a settlement before its decision counts for the paymaster, and for the decision when that comes', async () => {
      const organisation = 'early';
      const decision = aDecision(organisation, noon);
      const [, settlement] = reservationOf(decision, aSettlement(decision, (noon + minuteMs) as EpochMs));
      await ledger.append([settlement!]);
      const spent = (groupBy: UsageGroup) =>
        usageOf(ledger, { organisation, groupBy }).then((rows) =>
          rows.map(({ group, mined, spentWei }) => [group, mined, spentWei]),
        );
      expect(await spent('paymaster')).toEqual([['shop', 1, 600n]]);
      expect(await spent('contract')).toEqual([['(none)', 1, 600n]]);
      await ledger.append(reservationOf(decision));
      expect(await spent('paymaster')).toEqual([['shop', 1, 600n]]);
      expect(await spent('contract')).toEqual([['token', 1, 600n]]);
      expect((await ledger.decision(organisation, decision.id))?.settlement?.outcome).toBe('mined');
    });

    test('records that were left out are counted', async () => {
      const organisation = 'gaps';
      const signed = aGap(organisation, noon, { cause: 'signed', reason: undefined, count: 2 });
      await ledger.append(alone(aGap(organisation, noon), signed));
      await ledger.append(alone(signed));
      expect(await usageOf(ledger, { organisation, groupBy: 'reason' })).toMatchObject([
        { group: '(none)', sponsored: 2, refused: 0 },
        { group: 'METHOD_NOT_ALLOWED', sponsored: 0, refused: 5 },
      ]);
    });

    test('sums of a day by sender have all that it was decided about', async () => {
      const organisation = 'senders';
      const hours = [0, 1, 2, 26, 27];
      const decisions = hours.flatMap((hour) =>
        [1, 2, hour + 10].map((sender) =>
          aDecision(organisation, (at('2026-01-31T00:30:00Z') + hour * hourMs) as EpochMs, {
            sender: address(sender),
            paymasterId: sender === 2 ? 'till' : 'shop',
            policies: sender === 1 ? [{ policyId: 'p', effect: 'counted' }] : [],
          }),
        ),
      );
      const refused = aRefusal(organisation, noon, { sender: address(99) });
      await ledger.append([...decisions.flatMap((one) => reservationOf(one)), ...alone(refused)]);
      const bySender = await usageOf(ledger, {
        organisation,
        step: 'day',
        groupBy: 'sender',
        from: at('2026-01-31T00:00:00Z'),
        to: at('2026-02-01T00:00:00Z'),
      });
      expect(bySender.map(({ group, sponsored, refused: no }) => [group, sponsored, no])).toEqual(
        [
          [address(1), 3, 0],
          [address(2), 3, 0],
          [address(10), 1, 0],
          [address(11), 1, 0],
          [address(12), 1, 0],
          [address(99), 0, 1],
        ].sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
      );
    });

    test('ten thousand entries at once are stored', async () => {
      // Alone: the queries of other tests need not read past them.
      const own = await create();
      others.push(own);
      const organisation = 'batch';
      const decisions = times(5000).map((index) =>
        aDecision(organisation, (noon + index) as EpochMs, { sender: address(index) }),
      );
      await own.append(
        decisions.flatMap((one) => reservationOf(one, aSettlement(one, (one.at + 5000) as EpochMs))),
      );
      expect(await usageOf(own, { organisation, step: 'month' })).toMatchObject([
        { sponsored: 5000, mined: 5000, promisedWei: 5_000_000n, spentWei: 3_000_000n },
      ]);
      expect((await idsOf(own, { organisation, limit: 1000 })).length).toBe(5000);
    });

    test('samples of funds are kept once a minute, with the price of the coin if it was known, and what the account spent', async () => {
      const organisation = 'funds';
      const contract = address(4711);
      const fundingAddress = address(4712);
      const [own, shared] = [
        { chainId: 31337, contract, fundingAddress },
        { chainId: 31337, contract, fundingAddress: undefined },
      ];
      const decision = aDecision(organisation, noon, { contract, fundingAddress });
      await ledger.append(reservationOf(decision, aSettlement(decision, (noon + minuteMs) as EpochMs)));
      await ledger.append(
        alone(
          aSample(contract, noon, {
            fundingAddress,
            balanceWei: largest,
            promisedWei: 1n,
            usdPerNative: largest,
          }),
          aSample(contract, (noon + 1) as EpochMs, { fundingAddress, balanceWei: 2n }),
          aSample(contract, (noon + minuteMs) as EpochMs, { fundingAddress, balanceWei: 3n }),
          aSample(contract, (noon + 2 * minuteMs) as EpochMs, { fundingAddress, balanceWei: 4n }),
          aSample(contract, noon, { balanceWei: 5n }),
        ),
      );
      const to = (noon + 2 * minuteMs) as EpochMs;
      expect(await ledger.funds({ accounts: [own, shared], from: noon, to })).toEqual([
        {
          account: own,
          spentWei: 600n,
          samples: [
            { at: noon, balanceWei: largest, promisedWei: 1n, usdPerNative: largest },
            { at: noon + minuteMs, balanceWei: 3n, promisedWei: 0n, usdPerNative: undefined },
          ],
        },
        {
          account: shared,
          // Its deposit pays for what the wallet pays the contract.
          spentWei: 600n,
          samples: [{ at: noon, balanceWei: 5n, promisedWei: 0n, usdPerNative: undefined }],
        },
      ]);
      expect(await ledger.funds({ accounts: [shared, own], from: noon, to, samples: false })).toEqual([
        { account: shared, spentWei: 600n, samples: [] },
        { account: own, spentWei: 600n, samples: [] },
      ]);
      expect(await ledger.funds({ accounts: [], from: noon, to })).toEqual([]);
    });

    test('entries in any order, and again, give the same as all records say', async () => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(history, fc.infiniteStream(fc.nat()), async (reservations, luck) => {
          run += 1;
          const organisation = `property-${run}`;
          const entries = reservations.flatMap((one) => entriesOf(organisation, one));
          const model = createMemoryLedger();
          await model.append(entries);
          for (const batch of deliveries(entries, luck)) await ledger.append(batch);
          await expectSame(ledger, model, organisation);
        }),
        runs(isSoak ? 15 : 4),
      );
    });

    test('what is older than its retention is removed, and the rest stays', async () => {
      const own = await create();
      others.push(own);
      const organisation = 'retention';
      const now = at('2027-06-15T12:00:00Z');
      const ago = (days: number) => (now - days * dayMs) as EpochMs;
      const [lapsed, kept] = [aDecision(organisation, ago(432)), aDecision(organisation, ago(399))];
      const contract = address(815);
      const account = { chainId: 31337, contract, fundingAddress: undefined };
      const sampled = [432, 399, 31, 29].flatMap((days) =>
        [0, 1].map((minute) => aSample(contract, (ago(days) + minute * minuteMs) as EpochMs)),
      );
      const recent = aDecision(organisation, ago(1));
      const promises = [lapsed, kept, recent].flatMap((one) => reservationOf(one));
      await own.append([...promises, ...alone(...sampled)]);
      if ('rollUp' in own) while (await (own as Pick<LedgerMaintenance, 'rollUp'>).rollUp());
      while (await own.prune(now));
      for (const step of ['minute', 'hour'] as const) {
        const counts = [ago(399), ago(1)].map(
          async (from) =>
            (await usageOf(own, { organisation, step, from, to: (from + hourMs) as EpochMs })).length,
        );
        // One that adds records up has no sums to remove.
        const isKept = step === 'hour' || !('rollUp' in own);
        expect(await Promise.all(counts)).toEqual([isKept ? 1 : 0, 1]);
      }
      expect(await own.decision(organisation, lapsed.id)).toBeUndefined();
      expect(await own.decision(organisation, kept.id)).toBeDefined();
      expect(await usageOf(own, { organisation, step: 'month', from: ago(500), to: now })).toMatchObject([
        { sponsored: 1 },
        { sponsored: 1 },
      ]);
      const [{ samples } = { samples: [] }] = await own.funds({
        accounts: [account],
        from: ago(500),
        to: now,
      });
      expect(samples.map(({ at: time }) => time)).toEqual([ago(399), ago(31), ago(29), ago(29) + minuteMs]);
      expect(await own.prune(now)).toBe(false);
    });

    test('after the stop every call is refused as UNAVAILABLE', async () => {
      const own = await create();
      await own.ping();
      await own.stop();
      await own.stop();
      const unavailable = { code: 'UNAVAILABLE' };
      await expect(own.ping()).rejects.toMatchObject(unavailable);
      await expect(own.append(alone(aRefusal('closed', noon)))).rejects.toMatchObject(unavailable);
      await expect(usageOf(own, { organisation: 'closed' })).rejects.toMatchObject(unavailable);
    });
  });
}

const groups = Object.keys(usageGroups) as UsageGroup[];

function times(count: number): number[] {
  return [...Array(count).keys()];
}

/** Wide enough for what the tests store around the end of January. */
function allOf(organisation: string): DecisionQuery {
  return {
    organisation,
    from: (noon - 40 * dayMs) as EpochMs,
    to: (noon + 100 * dayMs) as EpochMs,
    limit: 50,
  };
}

/** All pages; every implementation may answer shorter pages than it was asked for. */
async function viewsOf(ledger: TestedLedger, query: Partial<DecisionQuery>): Promise<DecisionView[]> {
  const views: DecisionView[] = [];
  let page = await ledger.decisions({ ...allOf(''), ...query });
  views.push(...page.decisions);
  while (page.next !== undefined) {
    page = await ledger.decisions({ ...allOf(''), ...query, before: page.next });
    views.push(...page.decisions);
  }
  return views;
}

async function idsOf(ledger: TestedLedger, query: Partial<DecisionQuery>): Promise<string[]> {
  return (await viewsOf(ledger, query)).map(({ decision }) => decision.id);
}

/** By month and over everything, unless the query says otherwise. */
async function usageOf(ledger: TestedLedger, query: Partial<UsageQuery>): Promise<readonly UsageRow[]> {
  const { organisation, from, to } = allOf('');
  return ledger.usage({
    organisation,
    from: startOfDay(from),
    to: startOfDay(to),
    paymasterId: undefined,
    step: 'month',
    groupBy: undefined,
    limit: 10_000,
    ...query,
  });
}

function startOfDay(time: EpochMs): EpochMs {
  return (time - (time % dayMs)) as EpochMs;
}

function rangesOf(rows: readonly UsageRow[]): [string, string, number][] {
  return rows.map(({ from, to, sponsored }) => [
    new Date(from).toISOString(),
    new Date(to).toISOString(),
    sponsored,
  ]);
}

/** One reservation of a random history: decisions, and how it ended, with reorganisations between. */
type History = {
  readonly decisions: readonly { readonly minute: number; readonly shape: number }[];
  readonly endings: readonly { readonly minute: number; readonly what: number }[];
};

const moment = fc.integer({ min: 0, max: 3 * 24 * 60 });
const history = fc.array(
  fc.record({
    decisions: fc.array(fc.record({ minute: moment, shape: fc.nat(200) }), { minLength: 1, maxLength: 4 }),
    endings: fc.array(fc.record({ minute: moment, what: fc.nat(60) }), { maxLength: 5 }),
  }),
  { minLength: 1, maxLength: 6 },
);

function entriesOf(organisation: string, { decisions, endings }: History): LedgerEntry[] {
  const minute = (count: number) => (noon - dayMs + count * minuteMs) as EpochMs;
  const made = decisions.map(({ minute: when, shape }) => ofShape(organisation, minute(when), shape));
  const [first] = made;
  if (first === undefined) return [];
  const { id } = first;
  const ends = endings.map(({ minute: when, what }) => {
    const about = made[what % made.length] ?? first;
    if (what % 3 === 0) return aReversal(about, minute(when));
    if (what % 5 === 0) return anUnusedEnd(about, minute(when));
    return aSettlement(about, minute(when), {
      ...(what % 7 === 0 && { digest: undefined }),
      ...(what % 11 === 0 && { digest: hex(16, 3) }),
      ...(what % 2 === 0 && {
        token: { address: address(50 + (what % 3)), amount: BigInt(what), decimals: 6 },
      }),
      success: what % 4 !== 0,
      actualGasCostWei: BigInt(what) * 7n,
    });
  });
  const ofReservation = [...made.filter(({ verdict }) => verdict !== 'refused'), ...ends];
  return [
    ...ofReservation.map((record) => ({ record, reservation: id })),
    ...alone(...made.filter(({ verdict }) => verdict === 'refused')),
  ];
}

function ofShape(organisation: string, time: EpochMs, shape: number): Decision {
  const selector = '0x42966c68' as Hex;
  const common: Partial<Decision> = {
    paymasterId: shape % 2 === 0 ? 'shop' : 'till',
    chainId: shape % 5 === 0 ? 10 : 31337,
    sender: address(shape % 4),
    maxCostWei: BigInt(shape) * 13n,
    calls: times(shape % 4).map((index) => ({
      target: address(index),
      selector,
      ...((shape + index) % 3 !== 0 && { contractId: `c${index % 2}`, name: `m${shape % 3}` }),
    })),
    policies: [
      ...times(shape % 3).map((index) => ({
        policyId: `p${index}`,
        effect: (shape + index) % 4 === 0 ? ('would_refuse' as const) : ('counted' as const),
      })),
      ...(shape % 6 === 1 ? [{ policyId: 'winter', effect: 'campaign' as const }] : []),
      ...(shape % 3 === 1 ? [{ policyId: `key-${shape % 2}`, effect: 'key' as const }] : []),
    ],
  };
  if (shape % 7 === 0) return aRefusal(organisation, time, common);
  return aDecision(organisation, time, { ...common, ...(shape % 11 === 0 && { verdict: 'committed' }) });
}

/** All entries in a random order, some of them twice, in batches of random size. */
function deliveries(entries: readonly LedgerEntry[], luck: Iterator<number>): LedgerEntry[][] {
  const next = (below: number): number => (luck.next().value ?? 0) % below;
  const waiting = [...entries, ...entries.filter(() => next(3) === 0)];
  const batches: LedgerEntry[][] = [];
  while (waiting.length > 0) {
    const batch: LedgerEntry[] = [];
    for (let size = 1 + next(8); size > 0 && waiting.length > 0; size -= 1)
      batch.push(...waiting.splice(next(waiting.length), 1));
    batches.push(batch);
  }
  return batches;
}

/** What usage spent by hour, in both: the rows of a ledger may be cut anywhere. */
async function expectSameSpent(
  ledger: TestedLedger,
  model: TestedLedger,
  query: Parameters<TestedLedger['spent']>[0],
): Promise<void> {
  const sumsOf = async (of: TestedLedger) => {
    const sums = new Map<string, bigint>();
    for (const { start, paymasterId, group, spentWei } of (await of.spent(query)) ?? []) {
      const unit = query.step === 'minute' ? minuteMs : hourMs;
      const name = [start - (start % unit), paymasterId, group].join(' ');
      sums.set(name, (sums.get(name) ?? 0n) + spentWei);
    }
    return [...sums].filter(([, wei]) => wei !== 0n).sort(([a], [b]) => (a < b ? -1 : 1));
  };
  expect(await sumsOf(ledger)).toEqual(await sumsOf(model));
}

async function pastOf(
  ledger: TestedLedger,
  of: Omit<Parameters<TestedLedger['past']>[0], 'after' | 'limit'>,
): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  let after: string | undefined;
  do {
    const page = await ledger.past({ ...of, after, limit: 3 });
    const records = JSON.parse(page.text) as readonly { readonly calls?: string }[];
    // A store may write JSON in another order.
    all.push(...records.map(({ calls, ...record }) => ({ ...record, calls: calls && JSON.parse(calls) })));
    after = page.last;
  } while (after !== undefined);
  return all;
}

async function expectSame(ledger: TestedLedger, model: TestedLedger, organisation: string): Promise<void> {
  const cut = { from: (noon - 7 * hourMs) as EpochMs, to: (noon + 31 * hourMs + 5 * minuteMs) as EpochMs };
  for (const groupBy of [undefined, ...groups])
    for (const step of usageSteps)
      for (const range of [{}, ...(groupBy === 'sender' ? [] : [cut])]) {
        if (groupBy === 'sender' && (step === 'hour' || step === 'minute')) continue;
        const query = { organisation, groupBy, step, ...range };
        const [rows, wanted] = [await usageOf(ledger, query), await usageOf(model, query)];
        expect(rows).toEqual(wanted);
        if (step !== 'month')
          await expectSameSpent(ledger, model, {
            ...cut,
            organisation,
            groupBy,
            step,
            paymasterId: undefined,
          });
      }
  for (const paymasterId of ['shop', 'till']) {
    const of = { organisation, paymasterId, ...cut };
    expect(await pastOf(ledger, of)).toEqual(await pastOf(model, of));
    expect(await ledger.gaps(of)).toEqual(await model.gaps(of));
  }
  for (const query of [{}, { sender: address(1) }, { verdict: 'sponsored' as const }])
    expect(await viewsOf(ledger, { organisation, ...query })).toEqual(
      await viewsOf(model, { organisation, ...query }),
    );
}
