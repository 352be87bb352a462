import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import type { DecisionInputs } from '../../../core/ledger/record.js';
import { addressListOf } from '../../../core/policy/address-list.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import type { DecidedInputs } from '../../../server/decision/inputs.js';
import { formatInputs, parseInputs } from '../../../server/decision/inputs-text.js';
import { Replayer } from '../../../server/replay/replayer.js';
import { aLimitConfig, someNow } from '../../build/configs.js';
import { runs } from '../../support/property.js';
import { recordRounds, type Asked, type Ending, type Round } from './recorded-world.js';
import { modelOf, plainRounds } from './model.js';
import { idOf, limitedPaymasters, minuteMs, withoutLimits } from './paymasters.js';
import { expectSameVerdicts, replay, someRounds } from './replayed.js';

test('under an unchanged configuration every verdict is the recorded one, for the same reason', async () => {
  const reasons = new Set<string>();
  await fc.assert(
    fc.asyncProperty(someRounds, async (rounds) => {
      const recorded = await recordRounds(limitedPaymasters, rounds);
      for (const reason of await expectSameVerdicts(recorded)) reasons.add(reason);
    }),
    { ...runs(25), endOnFailure: true },
  );
  expect([...reasons]).toEqual(
    expect.arrayContaining([
      'sponsored',
      'LIMIT_REACHED',
      'WEBHOOK_REFUSED',
      'CONTRACT_NOT_REGISTERED',
      'FEE_TOO_HIGH',
      'EXECUTION_REVERTS',
      'TOKEN_PAYMENT_FAILS',
      'GAS_LIMIT_TOO_HIGH',
    ]),
  );
});

test('under a tightened limit exactly those are newly refused that a model computes', async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(someRounds, fc.integer({ min: 0, max: 4 }), async (rounds, threshold) => {
      const recorded = await recordRounds(withoutLimits, plainRounds(rounds));
      const durationMs = 9 * minuteMs;
      const tight = { durationMs, startMs: someNow, threshold: String(threshold) };
      const proposed = withoutLimits.map((config, n) =>
        n === 1 ? config : { ...config, limits: [aLimitConfig({ ...tight, policyId: `tight ${n}` })] },
      );
      const { newlyRefused, newlySponsored, notReplayed } = await replay({
        ...recorded,
        paymasters: proposed,
      });
      const expected = [0, 2].flatMap((n) => modelOf(recorded, idOf(n), threshold, durationMs));
      expect(newlyRefused.count).toBe(expected.length);
      expect(expected).toEqual(expect.arrayContaining(newlyRefused.examples.map(({ decision }) => decision)));
      expect(newlyRefused.byReason).toEqual(
        expected.length === 0 ? [] : [{ reason: 'LIMIT_REACHED', count: expected.length }],
      );
      expect([newlySponsored.count, notReplayed]).toEqual([0, []]);
      count += expected.length;
    }),
    { ...runs(25), endOnFailure: true },
  );
  expect(count).toBeGreaterThan(50);
});

const anyAsked: Asked = {
  paymaster: 0,
  mode: 'SPONSORED',
  phases: false,
  sender: 1,
  nonce: 0,
  target: 0x7a,
  maxFeePerGas: 2_000_000_000,
  givesLimits: true,
  estimate: 90_000,
  reverts: false,
  webhook: 'verified',

  pays: true,
};
const oneByOne = (
  count: number,
  change: Partial<Asked> = {},
  endings: readonly Ending[] = [],
): readonly Round[] =>
  Array.from({ length: count }, (_, nonce) => ({
    asked: [{ ...anyAsked, nonce, ...change }],
    endings,
    passes: 1_500,
  }));

test('proposed sender lists, limits per operation, windows and expressions refuse what they would have refused', async () => {
  const recorded = await recordRounds(withoutLimits, [...oneByOne(3), ...oneByOne(2, { sender: 2 })]);
  const first = (parseInputs(recorded.records[0]!.body) as DecidedInputs).request.op.sender;
  const { list } = addressListOf([first]);
  const identity = { policyId: 'p', name: 'P' };
  const reasonsUnder = async (change: Partial<PaymasterConfig>, lists = [list]) => {
    const paymasters = recorded.paymasters.map((config) => ({ ...config, ...change }));
    return (await replay({ ...recorded, paymasters, lists })).newlyRefused.byReason;
  };
  const perOperation = (most: string) => ({
    operationLimits: [{ ...identity, thresholdType: 'NATIVE_ASSET', perOperation: most } as const],
  });
  expect(await reasonsUnder(perOperation('0'))).toEqual([{ reason: 'COST_TOO_HIGH', count: 5 }]);
  expect(await reasonsUnder(perOperation('1'))).toEqual([]);
  const senders = (action: 'Allow' | 'Deny') => ({
    senders: [{ ...identity, action, list: list.hash, count: 1 }],
  });
  expect(await reasonsUnder(senders('Deny'))).toEqual([{ reason: 'SENDER_NOT_ALLOWED', count: 3 }]);
  expect(await reasonsUnder(senders('Allow'))).toEqual([{ reason: 'SENDER_NOT_ALLOWED', count: 2 }]);
  expect(await reasonsUnder(senders('Deny'), [])).toEqual([{ reason: 'SENDERS_UNKNOWN', count: 5 }]);
  // The third round began 3 seconds after the first.
  const windows = [{ ...identity, until: (someNow + 3_000) as EpochMs }];
  expect(await reasonsUnder({ windows })).toEqual([{ reason: 'WINDOW_CLOSED', count: 3 }]);
  const expressionsOf = (text: string) => ({ expressions: [{ ...identity, text, methods: [] }] });
  const byCalls = expressionsOf(`sender != "${first}" && calls.all(c, c.value == 0)`);
  expect(await reasonsUnder(byCalls)).toEqual([{ reason: 'EXPRESSION_REFUSED', count: 3 }]);
  expect(await reasonsUnder(expressionsOf('cost.native > 0'))).toEqual([]);
  expect(await reasonsUnder(expressionsOf('cost.native == 0'))).toEqual([
    { reason: 'EXPRESSION_REFUSED', count: 5 },
  ]);
});

test('campaigns are proposed for the names that were sent, also where nobody read them', async () => {
  const recorded = await recordRounds(withoutLimits, [
    ...oneByOne(3, { campaign: 'winter' }),
    ...oneByOne(2, { sender: 2 }),
  ]);
  const limit = { ...aLimitConfig({ policyId: 'w', threshold: '2' }), campaign: 'winter' };
  const under = (change: Partial<PaymasterConfig>) =>
    replay({ ...recorded, paymasters: recorded.paymasters.map((config) => ({ ...config, ...change })) });
  const enforced = await under({ campaigns: ['winter'], limits: [limit] });
  expect(enforced.newlyRefused.byReason).toEqual([
    { reason: 'CAMPAIGN_REQUIRED', count: 2 },
    { reason: 'LIMIT_REACHED', count: 1 },
  ]);
  const tried = await under({ limits: [{ ...limit, shadow: true }] });
  expect(tried.newlyRefused.count).toBe(0);
  expect(tried.wouldRefuse).toEqual([{ policyId: 'w', reason: 'LIMIT_REACHED', count: 1 }]);
});

test('what was promised before the range counts: what was mined as spent, the rest as live', async () => {
  const { records, ...config } = await recordRounds(withoutLimits, oneByOne(4));
  const { paymasterId, chainId } = records[0]!;
  const inputs = records.map(({ body }) => parseInputs(body) as DecidedInputs);
  const limits = [aLimitConfig({ threshold: '5' })];
  const replayer = new Replayer(
    { ...config, paymasters: [{ ...withoutLimits[0]!, limits }] },
    () => undefined,
  );
  const keyOf = (nonce: bigint) => ({
    chainId,
    paymasterId,
    entryPoint: inputs[0]!.entryPoint,
    sender: inputs[0]!.request.op.sender,
    nonce,
  });
  const past = {
    at: someNow,
    campaign: undefined,
    maxCostWei: 1n,
    validUntil: (someNow / 1000 + 300) as EpochSeconds,
  };
  replayer.addPast({ ...past, key: keyOf(100n), spentWei: 1n });
  // Live: released in the range, before the fourth operation.
  replayer.addPast({ ...past, key: keyOf(101n), spentWei: undefined });
  replayer.addPast({ ...past, key: keyOf(102n), spentWei: undefined });
  const [first, second, third, fourth] = records as [
    DecisionInputs,
    DecisionInputs,
    DecisionInputs,
    DecisionInputs,
  ];
  const { sender, entryPoint } = keyOf(0n);
  const released = formatInputs({ kind: 'ending', how: 'released', entryPoint, sender, nonce: 102n });
  await replayer.take([first, second, third, { ...third, body: released }, fourth]);
  const { unchanged, newlyRefused } = replayer.result();
  expect(unchanged.sponsored).toBe(3);
  expect(newlyRefused.examples.map(({ decision }) => decision)).toEqual([third.id]);
});

test('a loosened limit: the newly sponsored count as mined at their maximum cost', async () => {
  const limited = { ...withoutLimits[0]!, limits: [aLimitConfig({ threshold: '2' })] };
  const recorded = await recordRounds([limited], oneByOne(9));
  const { newlySponsored, newlyRefused, unchanged } = await replay({
    ...recorded,
    paymasters: [{ ...limited, limits: [aLimitConfig({ threshold: '5' })] }],
  });
  expect(newlySponsored).toMatchObject({ count: 3, byReason: [{ reason: 'LIMIT_REACHED', count: 3 }] });
  expect(newlySponsored.maxCostWei).toBe((newlySponsored.maxCostWei / 3n) * 3n);
  expect(newlySponsored.maxCostWei).toBeGreaterThan(0n);
  expect(newlyRefused.count).toBe(0);
  expect(unchanged).toEqual({ sponsored: 2, refused: 4, otherReason: 0 });
});

test.each(['0', '4'])(
  'what a budget of %s refused is refused again: a replay does not know what others took of it',
  async (threshold) => {
    const budgeted = { ...withoutLimits[0]!, limits: [aLimitConfig({ budget: true, threshold })] };
    const recorded = await recordRounds([budgeted], oneByOne(3));
    const found = await replay({ ...recorded, paymasters: withoutLimits.slice(0, 1) });
    expect(found.asRecorded).toBe(threshold === '0' ? 3 : 2);
    expect(found.unchanged.refused).toBe(found.asRecorded);
    expect([found.newlySponsored.count, found.newlyRefused.count]).toEqual([0, 0]);
  },
);

test('what the newly refused have cost is known where they were mined in the range', async () => {
  const mined: Ending = { which: 0, how: 'settled', actualCost: 7_000 };
  const recorded = await recordRounds(withoutLimits, [
    ...oneByOne(3),
    { asked: [], endings: [mined, mined, mined], passes: 0 },
  ]);
  const paymasters = [{ ...withoutLimits[0]!, suspended: true }];
  const { newlyRefused } = await replay({ ...recorded, paymasters });
  expect(newlyRefused).toMatchObject({
    count: 3,
    spentWei: 21_000n * 10n ** 9n,
    byReason: [{ reason: 'SUSPENDED', count: 3 }],
  });
});

const newWebhook = {
  policyId: 'new',
  name: 'New',
  url: 'https://new.example',
  method: 'POST',
  onError: 'Allow',
} as const;

test.each([
  {
    name: 'a webhook that was not asked',
    givesLimits: true,
    webhooks: [newWebhook],
    why: 'WEBHOOK_NOT_RECORDED',
  },
  { name: 'limits that were not simulated', givesLimits: false, webhooks: [], why: 'ESTIMATE_NOT_RECORDED' },
])('$name: the operation is counted as not decided', async ({ givesLimits, webhooks, why }) => {
  const recorded = await recordRounds(withoutLimits, oneByOne(2, { givesLimits }));
  const records = recorded.records.map((record) => {
    const inputs = parseInputs(record.body) as DecidedInputs;
    const { estimate: _, ...without } = inputs;
    return { ...record, body: formatInputs(without) };
  });
  const paymasters = [{ ...withoutLimits[0]!, webhooks }];
  const found = await replay({ ...recorded, paymasters, records });
  expect(found).toMatchObject({ replayed: 0, notReplayed: [{ why, count: 2 }] });
});

test('inputs that are too long, of a newer release, or of a paymaster that is gone are counted as such', async () => {
  const recorded = await recordRounds(withoutLimits, oneByOne(3));
  const [first, second, third] = recorded.records as [DecisionInputs, DecisionInputs, DecisionInputs];
  const { request, ...long } = parseInputs(first.body) as DecidedInputs;
  const callData = `0x${'ab'.repeat(20_000)}` as const;
  const tooLong = formatInputs({ ...long, request: { ...request, op: { ...request.op, callData } } });
  const records = [
    { ...first, body: tooLong },
    { ...second, body: '{"form":99}' },
    { ...third, paymasterId: 'gone' },
  ];
  const { notReplayed, replayed } = await replay({ ...recorded, records });
  expect(replayed).toBe(0);
  expect(new Set(notReplayed)).toEqual(
    new Set([
      { why: 'TOO_LONG', count: 1 },
      { why: 'UNKNOWN_FORM', count: 1 },
      { why: 'PAYMASTER_GONE', count: 1 },
    ]),
  );
});

test('a deposit that was too low refuses as recorded, after the limits', async () => {
  const recorded = await recordRounds(withoutLimits, oneByOne(3));
  const records = recorded.records.map((record) => {
    const inputs = parseInputs(record.body) as DecidedInputs;
    const refused = {
      ...inputs,
      verdict: { pass: false, reason: 'DEPOSIT_TOO_LOW' },
      usage: { ...inputs.usage!, outcome: 'deposit' },
    } as const;
    return { ...record, body: formatInputs(refused) };
  });
  expect(await replay({ ...recorded, records })).toMatchObject({
    asRecorded: 3,
    unchanged: { sponsored: 0, refused: 3, otherReason: 0 },
  });
  const paymasters = [{ ...withoutLimits[0]!, limits: [aLimitConfig({ threshold: '0' })] }];
  expect(await replay({ ...recorded, paymasters, records })).toMatchObject({
    asRecorded: 0,
    unchanged: { refused: 3, otherReason: 3 },
  });
});

test('a commit that is newly refused leaves nothing to finalize', async () => {
  const recorded = await recordRounds(withoutLimits, oneByOne(2, { paymaster: 1, phases: true }));
  const paymasters = withoutLimits.map((config) => ({
    ...config,
    limits: [aLimitConfig({ threshold: '1' })],
  }));
  const last = recorded.records.at(-1)!;
  const { entryPoint, request } = parseInputs(last.body) as DecidedInputs;
  const { sender } = request.op;
  // The limit has room again before the second finalize.
  const released = {
    ...last,
    body: formatInputs({ kind: 'ending', how: 'released', entryPoint, sender, nonce: 0n }),
  };
  const records = [...recorded.records.slice(0, -1), released, last];
  const { newlyRefused, unchanged } = await replay({ ...recorded, paymasters, records });
  expect(unchanged.sponsored).toBe(2);
  expect(new Set(newlyRefused.byReason)).toEqual(
    new Set([
      { reason: 'LIMIT_REACHED', count: 1 },
      { reason: 'COMMIT_NOT_OPEN', count: 1 },
    ]),
  );
});
