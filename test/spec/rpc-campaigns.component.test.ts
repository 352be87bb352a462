import { describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { entryPoint09 } from '../../core/entry-point/v09.js';
import { compileAddressList } from '../../core/policy/address-list.js';
import { priced } from '../../core/pricing/price-source.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  addressOf,
  aLimitConfig,
  aPaymasterConfig,
  someNow,
  someTarget,
  someChainId,
  someToken,
  someVersions,
} from '../build/configs.js';
import { aPrice, aTokenProfile, usdx } from '../build/fee-tokens.js';
import { anOperation, execute, mintCall, sponsored } from '../build/operations.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

const chain = {
  profiles: someVersions
    .map(aTokenProfile)
    .map((profile) => (profile.version === 'hybrid-0.9' ? { ...profile, tokenLossBudget: '100' } : profile)),
  feeTokens: [usdx],
};
const host = useRpc({ chain });
const sender = addressOf(0xca4b);
let nonce = 500;

const limitOf = (campaign: string | undefined, threshold: string, policyId = `of ${campaign}`) => ({
  ...aLimitConfig({ policyId, name: policyId, threshold }),
  ...(campaign === undefined ? {} : { campaign }),
});
const winter = limitOf('winter', '2');
const summer = limitOf('summer', '1');
const both: Partial<PaymasterConfig> = { campaigns: ['summer', 'winter'], limits: [winter, summer] };

const operation = () =>
  anOperation({ sender, nonce: (nonce += 1), callData: execute(someTarget, mintCall()) });
const ask = async (
  campaign: unknown,
  { method = 'pm_sponsorUserOperation', op = operation(), mode = {} } = {},
) =>
  (
    await host.call(
      method,
      [op, { ...sponsored, ...mode, ...(campaign === undefined ? {} : { sponsorshipPolicyId: campaign }) }],
      { headers: { authToken: someToken } },
    )
  ).body;
const reasonOf = async (campaign?: unknown) => (await ask(campaign)).result?.['reason'];
const range = () => ({
  organisation: aPaymasterConfig().namespace,
  from: 0 as EpochMs,
  to: (host.clock.now() + 86_400_000) as EpochMs,
});

describe('a paymaster whose policies have campaigns', () => {
  test('refuses silence, and an unknown, a paused and an ended campaign alike', async () => {
    const ended = { policyId: 'w', name: 'Over', until: someNow, campaign: 'autumn' };
    await host.put({
      ...both,
      campaigns: ['autumn', 'paused', 'summer', 'winter'],
      windows: [ended],
    });
    expect(await reasonOf()).toBe('CAMPAIGN_REQUIRED');
    expect(await reasonOf('')).toBe('CAMPAIGN_REQUIRED');
    const answers = [];
    for (const name of [
      'never heard of',
      'Winter',
      'winter ',
      'autumn',
      'paused',
      '__proto__',
      'x'.repeat(9_000),
    ])
      answers.push((await ask(name)).result);
    expect(answers[0]).toMatchObject({ reason: 'CAMPAIGN_NOT_ACTIVE', paymasterAndData: '0x' });
    for (const answer of answers)
      expect(JSON.stringify(answer).replaceAll(/"requestId":"[^"]*"/g, '')).toBe(
        JSON.stringify(answers[0]).replaceAll(/"requestId":"[^"]*"/g, ''),
      );
    expect(JSON.stringify(answers)).not.toMatch(/winter|summer|autumn|paused/);
  });

  test('judges by the policies of the one that is named, and by those without one', async () => {
    await host.put({ ...both, limits: [winter, summer, limitOf(undefined, '3', 'for all')] });
    expect(await reasonOf('summer')).toBeUndefined();
    expect(await reasonOf('summer')).toBe('LIMIT_REACHED');
    expect(await reasonOf('winter')).toBeUndefined();
    expect(await reasonOf('winter')).toBeUndefined();
    // The fourth of all, and the third of winter: both are full.
    expect(await reasonOf('winter')).toBe('LIMIT_REACHED');
    await host.put({ ...both, limits: [limitOf('winter', '9'), summer, limitOf(undefined, '3', 'for all')] });
    expect(await reasonOf('winter')).toBe('LIMIT_REACHED');
  });

  test('one operation that asks in two campaigns takes from both', async () => {
    await host.put({ ...both, limits: [limitOf('winter', '1', 'w1'), limitOf('summer', '1', 's1')] });
    const op = operation();
    for (const campaign of ['winter', 'summer'])
      expect((await ask(campaign, { op })).result?.['reason']).toBeUndefined();
    expect(await reasonOf('winter')).toBe('LIMIT_REACHED');
    expect(await reasonOf('summer')).toBe('LIMIT_REACHED');
  });

  test('two phases that name different campaigns take from both', async () => {
    const version = 'hybrid-0.9';
    await host.put({
      ...both,
      version,
      limits: [limitOf('winter', '1', 'w2'), limitOf('summer', '1', 's2')],
    });
    const op = operation();
    const get = async (campaign: string, phase: string, fields: object = {}) =>
      (
        await host.call('pm_getPaymasterData', [
          { ...op, ...fields },
          entryPoint09.address,
          someChainId,
          { signingPhase: phase, sponsorshipPolicyId: campaign },
        ])
      ).body;
    const committed = (await get('winter', 'commit')).result ?? {};
    const signature = { ...committed, signature: '0x5157' };
    expect((await get('unknown', 'finalize', signature)).error?.data.reason).toBe('CAMPAIGN_NOT_ACTIVE');
    expect((await get('summer', 'finalize', signature)).error).toBeUndefined();
    expect(await reasonOf('winter')).toBe('LIMIT_REACHED');
    expect(await reasonOf('summer')).toBe('LIMIT_REACHED');
  });

  test('with withoutCampaign: Allow judges silence by the policies without one alone', async () => {
    await host.put({
      ...both,
      withoutCampaign: true,
      limits: [limitOf('winter', '0', 'w0'), limitOf(undefined, '1', 'a1')],
    });
    expect(await reasonOf()).toBeUndefined();
    expect(await reasonOf()).toBe('LIMIT_REACHED');
    expect(await reasonOf('unknown')).toBe('CAMPAIGN_NOT_ACTIVE');
  });

  test('lets an account be deployed alone in the campaign that permits it', async () => {
    await host.put({
      ...both,
      limits: [limitOf('winter', '9', 'w9'), limitOf('summer', '9', 's9')],
      deployments: [{ policyId: 'd', name: 'Wallets', campaign: 'winter' }],
    });
    const deploys = () =>
      anOperation({ sender, nonce: (nonce += 1), initCode: `0x${'fa'.repeat(20)}5fbfb9cf`, callData: '0x' });
    expect((await ask('summer', { op: deploys() })).result?.['reason']).toBe('DEPLOYMENT_NOT_ALLOWED');
    expect((await ask('winter', { op: deploys() })).result?.['reason']).toBeUndefined();
  });

  test('keeps the promise of a campaign that ends meanwhile, and makes no other', async () => {
    const was = { ...winter, policyId: 'ending', threshold: '2' };
    await host.put({ ...both, limits: [was, summer] });
    const op = operation();
    const signed = (await ask('winter', { op })).result;
    await host.put({ campaigns: ['summer', 'winter'], limits: [summer] });
    expect((await ask('winter', { op })).result?.['reason']).toBe('CAMPAIGN_NOT_ACTIVE');
    expect(await reasonOf()).toBe('CAMPAIGN_REQUIRED');
    await host.put({ ...both, limits: [{ ...was, threshold: '1' }, summer] });
    // Its promise still counts when it comes back.
    expect(signed?.['paymasterAndData']).not.toBe('0x');
    expect(await reasonOf('winter')).toBe('LIMIT_REACHED');
  });

  test('shows the names to the owner, and records the campaign', async () => {
    await host.put({ ...both, limits: [limitOf('winter', '5', 'recorded'), summer] });
    const shown = await ask('winter', { method: 'pm_explainSponsorship' });
    expect(shown.result).toMatchObject({
      sponsored: true,
      limits: [{ policyId: 'recorded' }],
      campaigns: { named: 'winter', active: ['winter', 'summer'] },
    });
    expect((await ask('x', { method: 'pm_explainSponsorship' })).result).toMatchObject({
      reason: 'CAMPAIGN_NOT_ACTIVE',
      campaigns: { named: 'x', active: ['winter', 'summer'] },
    });
    await ask('winter');
    await until('it is in the record and in the sums', async () => {
      const { decisions } = await host.ledger.decisions({ ...range(), limit: 100 });
      const policies = decisions.map(({ decision }) =>
        decision.policies.map(({ policyId, effect }) => `${policyId} ${effect}`),
      );
      const isRecorded = policies.some((each) => each.join() === 'recorded counted,winter campaign');
      const rows = await host.ledger.usage({
        ...range(),
        paymasterId: undefined,
        step: 'day',
        groupBy: 'campaign',
        limit: 100,
      });
      return isRecorded && rows.some(({ group, sponsored: signed }) => group === 'winter' && signed >= 1);
    });
  });
});

describe('mode ERC20', () => {
  const list = compileAddressList([sender]).list;
  const denied = { policyId: 'd', name: 'Out', action: 'Deny', list: list.hash, count: 1 } as const;
  /** Of every way to ask. */
  const reasonsOf = async (campaign?: string): Promise<ReadonlySet<unknown>> => {
    const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
    const named = campaign === undefined ? {} : { sponsorshipPolicyId: campaign };
    const reasons = [(await ask(campaign, { method: 'pm_explainSponsorship', mode })).result?.['reason']];
    for (const method of ['pm_sponsorUserOperation', 'pm_getFeeQuoteOrData'])
      reasons.push((await ask(campaign, { method, mode })).error?.data.reason);
    for (const method of ['pm_getPaymasterData', 'pm_getPaymasterStubData']) {
      const context = { token: usdx.address, ...named };
      const entryPoint = '0x5FF137D4b0FDCD49DcA30c7CF57E578a026d2789';
      const { body } = await host.call(method, [operation(), entryPoint, someChainId, context]);
      reasons.push(body.error?.data.reason);
    }
    return new Set(reasons);
  };

  test('asks for a campaign where a policy of one judges payments in tokens, and no other leads around it', async () => {
    await host.configs.putList(list);
    host.world.price = () => priced(aPrice());
    await host.put(both);
    expect(await reasonsOf()).toEqual(new Set([undefined]));
    const inTokens = { ...denied, campaign: 'winter', appliesTo: ['ERC20'] } as const;
    await host.put({ ...both, senders: [inTokens] });
    expect(await reasonsOf()).toEqual(new Set(['CAMPAIGN_REQUIRED']));
    expect(await reasonsOf('summer')).toEqual(new Set(['CAMPAIGN_NOT_ACTIVE']));
    expect(await reasonsOf('winter')).toEqual(new Set(['SENDER_NOT_ALLOWED']));
  });
});

describe('policies in Shadow with campaigns', () => {
  test('refuse neither silence nor any name, and judge those that name theirs', async () => {
    await host.put({ limits: [{ ...limitOf('tried', '0', 'tried'), shadow: true }] });
    for (const name of [undefined, 'sp_other', 'tried']) expect(await reasonOf(name)).toBeUndefined();
    const shown = await ask('tried', { method: 'pm_explainSponsorship' });
    expect(shown.result).toMatchObject({ wouldRefuse: [{ policyId: 'tried' }] });
  });
});
