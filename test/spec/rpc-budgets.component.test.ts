import { beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/entry-point/address.js';
import { faulty, priced } from '../../core/pricing/price-source.js';
import { parseDecimal } from '../../core/units/wei.js';
import { aLimitConfig, someChainId, someNow, someToken } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { useRpc } from '../support/use-rpc.js';

const nativePrice = { chainlink: { nativeFeed: '0x5f4eC3Df9cbd43714FE2740f5E3616155c5b8419' } };
const aBudget = (threshold: string) =>
  aLimitConfig({ policyId: 'budget-id', name: 'month', budget: true, thresholdType: 'USD', threshold });
// An operation may cost 0.00152 ether, 4.6056 dollars at a price of 3,000: see rpc-dollar-limits.
const host = useRpc({ chain: { nativePrice }, paymaster: { limits: [aBudget('40')] } });
const tight = useRpc({ chain: { nativePrice }, paymaster: { limits: [aBudget('10')] } });
const watching = useRpc({
  chain: { nativePrice },
  paymaster: { limits: [{ ...aBudget('1'), shadow: true }] },
});
const quartered = useRpc({
  chain: { nativePrice },
  paymaster: { limits: [{ ...aBudget('40'), shadow: true }] },
});

let nonce = 0;
beforeEach(() => {
  for (const { world } of [host, tight, watching, quartered])
    world.price = () => {
      const rate = parseDecimal('3000', 18);
      return priced({ rate, usdPerNative: rate, observedAt: someNow, source: 'feed' });
    };
});
const ask = async (on: typeof host) =>
  (
    await on.call('pm_sponsorUserOperation', [
      anOperation({ nonce: `0x${(++nonce).toString(16)}` }),
      sponsored,
    ])
  ).body;
const explained = async (on: typeof host) =>
  (
    await on.call('pm_explainSponsorship', [anOperation(), sponsored], {
      headers: { authToken: someToken },
    })
  ).body.result;

describe("A budget of the paymaster's organisation", () => {
  test('keeps one paymaster to a quarter while its operations are not mined, and says so', async () => {
    const answers = [await ask(host), await ask(host), await ask(host)];
    expect(answers.map(({ result }) => result?.['reason'])).toEqual([
      undefined,
      undefined,
      'BUDGET_SHARE_FULL',
    ]);
    expect(await explained(host)).toMatchObject({
      sponsored: false,
      reason: 'BUDGET_SHARE_FULL',
      limits: [{ policyId: 'budget-id', name: 'month', scope: 'ORGANISATION', threshold: '40 dollars' }],
      bounds: expect.arrayContaining([
        expect.objectContaining({
          of: "paymaster's quarter of a budget of the organisation",
          unit: 'dollars',
        }),
      ]),
    });
  });

  test('refuses a single operation above the quarter, which would otherwise hold the whole budget, and says that waiting does not help', async () => {
    expect((await ask(tight)).result).toMatchObject({ reason: 'BUDGET_SHARE_FULL' });
    expect(await tight.usage.reservations(someChainId)).toEqual([]);
    expect(await explained(tight)).toMatchObject({
      sponsored: false,
      steps: expect.arrayContaining([
        expect.objectContaining({ remedy: expect.stringContaining('needs more than a quarter') }),
      ]),
    });
  });

  test('is answered as an error that may be tried again, where answers are errors', async () => {
    const { error } = (
      await tight.call('pm_getPaymasterData', [anOperation(), entryPoints['0.6'], '0x7a69', {}])
    ).body;
    expect(error).toMatchObject({
      code: -32005,
      data: { reason: 'BUDGET_SHARE_FULL', retryable: true, retryAfterSeconds: 15 },
    });
  });

  test('in Shadow counts, says that it would refuse, and refuses nothing', async () => {
    const answers = [await ask(watching), await ask(watching)];
    expect(answers.map(({ result }) => result?.['reason'])).toEqual([undefined, undefined]);
    expect(await explained(watching)).toMatchObject({ sponsored: true, limits: [{ enforcement: 'Shadow' }] });
    const [held] = await watching.usage.reservations(someChainId);
    expect(held?.holds).toContainEqual(expect.objectContaining({ unit: 'USD', cost: 4_605_600 }));
  });

  test('in Shadow says that the quarter would refuse, once for each operation, and shows it as a bound that refuses nothing', async () => {
    const quarters = [await ask(quartered), await ask(quartered), await ask(quartered)];
    expect(quarters.map(({ result }) => result?.['reason'])).toEqual([undefined, undefined, undefined]);
    const shown = await explained(quartered);
    expect(shown).toMatchObject({
      sponsored: true,
      wouldRefuse: [{ policyId: 'budget-id', reason: 'BUDGET_SHARE_FULL' }],
      bounds: expect.arrayContaining([
        expect.objectContaining({ unit: 'dollars', taken: '13.8168', most: '10', enforcement: 'Shadow' }),
      ]),
    });
  });

  test('is not guessed at without a price', async () => {
    host.world.price = () => faulty('feed', 'UNREACHABLE', 'does not answer');
    const { error } = await ask(host);
    expect(error).toMatchObject({ code: -32003, data: { reason: 'PRICE_STALE', retryable: true } });
  });
});
