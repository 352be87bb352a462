import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { priced } from '../../core/pricing/price-source.js';
import type { EpochMs } from '../../core/units/time.js';
import { aPaymasterConfig, someChainId, someToken, someVersions } from '../build/configs.js';
import { aPrice, aTokenProfile, usdx } from '../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, sponsored } from '../build/operations.js';
import { verifySponsorship } from '../build/rpc.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

const chain = {
  profiles: someVersions
    .map(aTokenProfile)
    .map((profile) => (profile.version === 'hybrid-0.9' ? { ...profile, tokenLossBudget: '100' } : profile)),
  feeTokens: [usdx],
};
const host = useRpc({ chain });

type Window = NonNullable<PaymasterConfig['windows']>[number];
const at = (seconds: number): EpochMs => (host.clock.now() + seconds * 1000) as EpochMs;
const aWindow = (window: Partial<Window>): Window => ({ policyId: 'w1', name: 'Launch', ...window });
const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
let nonce = 100;

beforeEach(async () => {
  host.world.price = () => priced(aPrice());
  await host.put();
});

const ask = async (method: string, mode: object, operation = anOperation({ nonce: (nonce += 1) })) =>
  (
    await host.call(method, [operation, mode], {
      headers: method === 'pm_explainSponsorship' ? { authToken: someToken } : {},
    })
  ).body;
const sponsor = async (mode: object = sponsored, operation?: ReturnType<typeof anOperation>) =>
  (await ask('pm_sponsorUserOperation', mode, operation)).result ?? {};

describe('a WINDOW policy', () => {
  test.each([
    { name: 'before it opens', window: { from: 1 }, reason: 'WINDOW_CLOSED', says: 'opens at' },
    { name: 'at the moment at which it opens', window: { from: 0 }, reason: undefined, says: 'open' },
    { name: 'within', window: { from: -1, until: 60 }, reason: undefined, says: 'open until' },
    { name: 'at its end', window: { until: 0 }, reason: 'WINDOW_CLOSED', says: 'ended at' },
    { name: 'long ago', window: { until: -4e9 }, reason: 'WINDOW_CLOSED', says: 'ended at' },
  ])('$name: $reason', async ({ window: { from, until: end }, reason, says }) => {
    const window = aWindow({
      ...(from === undefined ? {} : { from: at(from) }),
      ...(end === undefined ? {} : { until: at(end) }),
    });
    await host.put({ windows: [window] });
    const answer = await sponsor();
    expect(answer['reason']).toBe(reason);
    expect(answer['paymasterAndData'] === '0x').toBe(reason !== undefined);
    const explained = (await ask('pm_explainSponsorship', sponsored)).result ?? {};
    expect(explained).toMatchObject({
      rules: expect.arrayContaining([
        expect.objectContaining({
          policyType: 'WINDOW',
          policyId: 'w1',
          says: expect.stringContaining(says),
          verdict: reason === undefined ? 'pass' : 'refuse',
        }),
      ]),
    });
    expect(explained['steps']).toContainEqual(
      expect.objectContaining({ step: 'window', verdict: reason === undefined ? 'pass' : 'refuse' }),
    );
  });

  test('of several all have to be open, and the record names the one that is not', async () => {
    const closed = aWindow({ policyId: 'w2', name: 'Later', from: at(60) });
    await host.put({ windows: [aWindow({ until: at(60) }), closed] });
    expect((await sponsor())['reason']).toBe('WINDOW_CLOSED');
    const range = {
      organisation: aPaymasterConfig().namespace,
      from: 0 as EpochMs,
      to: at(86_400),
      limit: 50,
    };
    await until('the refusal is recorded', async () => {
      const { decisions } = await host.ledger.decisions(range);
      return decisions.some(({ decision: { policies } }) =>
        policies.some(({ policyId, effect }) => policyId === 'w2' && effect === 'refused'),
      );
    });
  });
});

describe("nobody gets data that outlive a window's end", () => {
  test.each(['1.1.0', 'singleton-0.7', 'hybrid-0.9'])(
    'version %s, whatever expiry is asked for',
    async (version) => {
      await host.put({
        version,
        windows: [aWindow({ until: at(90.7) }), aWindow({ policyId: 'w2', name: 'Longer', until: at(95) })],
      });
      for (const expiryDuration of [undefined, 600, 86_400, 30]) {
        const operation = anOperation({ nonce: (nonce += 1) });
        const answer = await sponsor({ ...sponsored, expiryDuration }, operation);
        const wanted = Math.floor(host.clock.now() / 1000) + (expiryDuration === 30 ? 30 : 90);
        expect(answer['validUntil']).toBe(wanted);
        expect(answer['expiryAsked']).toBe((expiryDuration ?? 0) > 90 ? expiryDuration : undefined);
        expect(verifySponsorship(operation, answer, version).validUntil).toBe(wanted);
      }
    },
  );

  test('nor by a request that takes long', async () => {
    const end = at(60);
    await host.put({ windows: [aWindow({ until: end })] });
    const { estimate } = host.world;
    host.world.estimate = () => {
      host.clock.advance(20_000);
      return Promise.resolve({
        callGasLimit: 90_001n,
        verificationGasLimit: 150_002n,
        preVerificationGas: 50_003n,
      });
    };
    const operation = anOperationWithoutLimits({ nonce: (nonce += 1) });
    const answer = await sponsor({ mode: 'SPONSORED', calculateGasLimits: true }, operation);
    host.world.estimate = estimate;
    expect(answer['paymasterAndData']).not.toBe('0x');
    expect(answer['validUntil']).toBe(end / 1000);
  });

  test('nor by a commit from before the window was made shorter', async () => {
    const version = 'hybrid-0.9';
    for (const context of [{}, inTokens]) {
      await host.put({ version });
      const operation = anOperation({ nonce: (nonce += 1) });
      const get = (fields: object, phase: string) =>
        host.call('pm_getPaymasterData', [
          { ...operation, ...fields },
          entryPoint09.address,
          someChainId,
          { ...context, signingPhase: phase },
        ]);
      const committed = (await get({}, 'commit')).body.result ?? {};
      expect(committed['validUntil']).toBeGreaterThan(at(60) / 1000);
      await host.put({
        version,
        windows: [aWindow({ until: at(60), appliesTo: ['SPONSORED', 'ERC20'] })],
      });
      const { body } = await get({ ...committed, signature: '0x5157' }, 'finalize');
      expect(body.error?.data.reason).toBe('COMMIT_NOT_OPEN');
    }
  });
});

describe('in mode ERC20 a window', () => {
  test('judges nothing by default', async () => {
    await host.put({ windows: [aWindow({ until: at(-1) })] });
    expect((await sponsor(inTokens))['paymasterAndData']).not.toBe('0x');
    expect((await sponsor())['reason']).toBe('WINDOW_CLOSED');
  });

  test('that applies to it refuses every way to ask, and bounds what is signed', async () => {
    await host.put({ windows: [aWindow({ from: at(60), appliesTo: ['SPONSORED', 'ERC20'] })] });
    const context = { token: usdx.address };
    const operation = anOperation();
    const reasons = [
      (await ask('pm_sponsorUserOperation', inTokens)).error?.data.reason,
      (await ask('pm_getFeeQuoteOrData', inTokens)).error?.data.reason,
      (await ask('pm_explainSponsorship', inTokens)).result?.['reason'],
      ...(await Promise.all(
        ['pm_getPaymasterData', 'pm_getPaymasterStubData'].map(
          async (method) =>
            (
              await host.call(method, [
                operation,
                '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789',
                someChainId,
                context,
              ])
            ).body.error?.data.reason,
        ),
      )),
    ];
    expect(reasons).toEqual(Array<string>(5).fill('WINDOW_CLOSED'));
    await host.put({ windows: [aWindow({ until: at(60), appliesTo: ['ERC20'] })] });
    expect((await sponsor(inTokens))['validUntil']).toBe(Math.floor(at(60) / 1000));
    expect((await sponsor())['validUntil']).toBe(Math.floor(at(300) / 1000));
  });

  test('is obeyed also while it has never been valid: nothing passes', async () => {
    await host.put({ invalidPolicies: ['Launch', 'Other'], invalidInTokens: ['Launch'] });
    expect((await ask('pm_sponsorUserOperation', inTokens)).error?.data.reason).toBe('POLICY_INVALID');
    await host.put({ invalidPolicies: ['Other'] });
    expect((await sponsor(inTokens))['paymasterAndData']).not.toBe('0x');
  });
});
