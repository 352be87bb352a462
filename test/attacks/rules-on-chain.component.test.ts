import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { LimitConfig } from '../../core/policy/spending-limit/schema.js';
import type { EpochMs } from '../../core/units/time.js';
import { formatDecimal, parseDecimal } from '../../core/units/wei.js';
import { calendarWindowAt } from '../../core/usage/calendar.js';
import { aLimitConfig } from '../build/configs.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOps, refusalOf } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount, type SignedUserOp } from '../chain/support/user-op.js';
import { startService, type Service } from './support/service.js';
import { onOneProcess } from './support/stores.js';
import { askingAsOwner, priceAt, sponsored } from './support/owner.js';
import { aDeployedAccount, ask, explain, expectServed, increment } from './support/wallet.js';

// Rules of owners, tried by somebody who chooses what he asks for and when his operations are mined. What counts is what the chain
// took.

const version = 'singleton-0.7';
const entryPoint = '0.7';
const gwei = 10n ** 9n;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(onOneProcess)('on %s', (store) => {
  let service: Service;
  const { request, mine, used } = askingAsOwner(version, () => service);
  beforeAll(async () => {
    service = await startService(store, { devChain, versions: [version] });
    await service.changeChain((chain) => ({ ...chain, nativePrice: priceAt('3000') }));
  });
  afterAll(() => service.stop());

  const put = (name: string, rules: Partial<PaymasterConfig>) => service.paymaster(name, rules);
  const limited = (name: string, limit: Partial<LimitConfig>) =>
    put(name, { limits: [aLimitConfig({ policyId: `of-${name}`, ...limit })] });

  test('a limit in dollars: the price multiplies while promises live, and what the chain took at their price is counted, never more than the limit', async () => {
    const threshold = 500;
    const shop = await limited('dollars', { thresholdType: 'USD', threshold: String(threshold) });
    const signed: SignedUserOp[] = [];
    let refusal: unknown;
    while (refusal === undefined && signed.length < 100) {
      const asked = await request(shop.url, { maxFeePerGas: 40n * gwei });
      refusal = asked.reason;
      if (asked.signed !== undefined) signed.push(asked.signed);
    }
    expect(refusal).toBe('LIMIT_REACHED');
    expect(signed.length).toBeGreaterThan(1);

    const held = await used(shop.url);
    expect(held).toBeLessThanOrEqual(threshold);
    await service.changeChain((chain) => ({ ...chain, nativePrice: priceAt('300000') }));
    try {
      const took = await mine(signed, 'dollars');
      const dollars = (Number(took) / 1e18) * 3000 * 1.01;
      // Each settlement is rounded up, to a gwei and to a micro-dollar.
      expect(Math.abs((await used(shop.url)) - dollars)).toBeLessThan(signed.length * 1e-5);
      expect(dollars).toBeLessThanOrEqual(held);
      const dear = await request(shop.url, { maxFeePerGas: 40n * gwei });
      expect([dear.reason, dear.signed]).toEqual(['LIMIT_REACHED', undefined]);
    } finally {
      await service.changeChain((chain) => ({ ...chain, nativePrice: priceAt('3000') }));
    }
  });

  test('a limit per operation: the most that the operation can take is compared, and no other gas or fee is mined', async () => {
    const most = (perOperation: string): Partial<PaymasterConfig> => ({
      operationLimits: [{ policyId: 'each', name: 'Each', thresholdType: 'NATIVE_ASSET', perOperation }],
    });
    const shop = await put('each', most('1'));
    const { signed, answer, account, op } = await request(shop.url);
    if (signed === undefined) throw new Error('nothing was signed');
    const data = answer.result?.['paymasterAndData'] as `0x${string}`;
    for (const raised of [
      { callGasLimit: op.callGasLimit + 1n },
      { verificationGasLimit: op.verificationGasLimit + 1n },
      { preVerificationGas: op.preVerificationGas + 1n },
      { maxFeePerGas: op.maxFeePerGas + 1n },
    ])
      expect(
        await refusalOf(devChain, entryPoint, [await signByAccount(account, { ...op, ...raised }, data)]),
      ).toContain('AA34');
    // Exactly what the EntryPoint asks for when the operation begins.
    const explained = JSON.stringify(await explain(shop.url, op, sponsored));
    const cost = /may cost ([0-9.]+) ether/.exec(explained)?.[1] ?? '';
    const took = await mine([signed], 'each');
    expect(took).toBeLessThanOrEqual(parseDecimal(cost, 18));

    await put('each', { configGeneration: 1, ...most(cost) });
    expect((await request(shop.url)).reason).toBeUndefined();
    const below = formatDecimal(parseDecimal(cost, 18) - gwei, 18);
    await put('each', { configGeneration: 2, ...most(below) });
    const dear = await request(shop.url);
    expect([dear.reason, dear.signed]).toEqual(['COST_TOO_HIGH', undefined]);
  });

  test('a day of the calendar: a promise made before midnight counts in that day, when it is mined in the next', async () => {
    const calendar = { every: 'day', timeZone: 'Pacific/Auckland' } as const;
    const { durationMs: _none, ...limit } = aLimitConfig({
      policyId: 'of-calendar',
      threshold: '2',
      calendar,
    });
    const shop = await put('calendar', { limits: [limit] });
    const secondsToMidnight = () =>
      Math.floor((calendarWindowAt(calendar, service.now()).until - service.now()) / 1000);
    if (secondsToMidnight() < 400) await service.pass(400);
    await service.pass(secondsToMidnight() - 200);
    const evening = [await request(shop.url), await request(shop.url), await request(shop.url)];
    expect(evening.map(({ reason }) => reason)).toEqual([undefined, undefined, 'LIMIT_REACHED']);

    await service.pass(260);
    const morning = await request(shop.url);
    expect(morning.reason).toBeUndefined();
    const promises = [...evening, morning].flatMap((asked) => asked.signed ?? []);
    await mine(promises, 'calendar');
    expect(await used(shop.url)).toBe(1);
    expect([(await request(shop.url)).reason, (await request(shop.url)).reason]).toEqual([
      undefined,
      'LIMIT_REACHED',
    ]);
  });

  test('an endless limit: neither time nor a new threshold gives back what was mined', async () => {
    const { durationMs: _none, ...limit } = aLimitConfig({ policyId: 'of-endless', threshold: '2' });
    const shop = await put('endless', { limits: [limit] });
    const mined = [await request(shop.url), await request(shop.url)];
    await mine(
      mined.flatMap(({ signed }) => signed ?? []),
      'endless',
    );
    await service.pass(400 * 86_400);
    expect((await request(shop.url)).reason).toBe('LIMIT_REACHED');

    await put('endless', { configGeneration: 1, limits: [{ ...limit, threshold: '3' }] });
    const asked = [await request(shop.url), await request(shop.url)];
    expect(asked.map(({ reason }) => reason)).toEqual([undefined, 'LIMIT_REACHED']);
  });

  test('a window: data that were signed before it ends are worth nothing after it', async () => {
    const end = (service.now() + 120_000) as EpochMs;
    const shop = await put('window', { windows: [{ policyId: 'launch', name: 'Launch', until: end }] });
    const late = await request(shop.url);
    const inTime = await request(shop.url);
    if (late.signed === undefined || inTime.signed === undefined) throw new Error('nothing was signed');
    expect(late.answer.result?.['validUntil']).toBeLessThanOrEqual(Math.floor(end / 1000));
    await handleOps(devChain, entryPoint, [inTime.signed]);

    await service.pass(130);
    expect(await refusalOf(devChain, entryPoint, [late.signed])).toContain('AA32');
    expect((await request(shop.url)).reason).toBe('WINDOW_CLOSED');
  });

  test('a sender that is not allowed cannot spend what another sender was promised', async () => {
    const attacker = await aDeployedAccount(devChain, version);
    const list = await service.addressList([attacker.address]);
    const shop = await put('senders', {
      senders: [{ policyId: 'banned', name: 'Banned', action: 'Deny', list, count: 1 }],
    });
    const his = await buildUserOp(attacker, [increment(devChain)]);
    expect((await ask(shop.url, his, sponsored, attacker)).reason).toBe('SENDER_NOT_ALLOWED');

    // By paying in tokens he gets around a list that judges sponsorships alone, and around no other one.
    const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: devChain.deployments.feeToken.address } };
    expect((await ask(shop.url, his, inTokens, attacker)).reason).not.toBe('SENDER_NOT_ALLOWED');
    const strict = await put('senders-in-tokens', {
      senders: [
        {
          policyId: 'banned-in-tokens',
          name: 'Banned',
          action: 'Deny',
          list,
          count: 1,
          appliesTo: ['SPONSORED', 'ERC20'],
        },
      ],
    });
    for (const mode of [sponsored, inTokens])
      expect((await ask(strict.url, his, mode, attacker)).reason).toBe('SENDER_NOT_ALLOWED');

    const friend = await request(shop.url);
    const data = friend.answer.result?.['paymasterAndData'];
    const stolen = await signByAccount(attacker, { ...his, ...gasOf(friend.op) }, data as `0x${string}`);
    expect(await refusalOf(devChain, entryPoint, [stolen])).toContain('AA34');

    await service.changeChain((chain) => ({ ...chain, deniedSenders: list }));
    try {
      const open = await put('no-rules', {});
      for (const mode of [sponsored, inTokens])
        expect((await ask(open.url, his, mode, attacker)).reason).toBe('SENDER_DENIED');
      await expectServed(devChain, version, open.url);
    } finally {
      await service.changeChain(({ deniedSenders: _none, ...chain }) => chain);
    }
  });

  test('an expression: data that were signed for calls that it lets pass are worth nothing for other calls', async () => {
    const shop = await put('expression', {
      expressions: [
        {
          policyId: 'plain',
          name: 'Plain',
          text: `calls.all(c, c.value == 0 && c.target == "${devChain.deployments.sponsoredContract.address}")`,
          methods: [],
        },
      ],
    });
    const [account, coins] = [await aDeployedAccount(devChain, version), 10n ** 15n];
    await devChain.setBalance(account.address, coins);
    const fair = await buildUserOp(account, [increment(devChain)]);
    const greedy = await buildUserOp(account, [
      increment(devChain),
      { to: devChain.deployments.treasury, data: '0x', value: coins },
    ]);
    expect((await ask(shop.url, greedy, sponsored, account)).reason).toBe('EXPRESSION_REFUSED');
    const { signed, answer } = await ask(shop.url, fair, sponsored, account);
    if (signed === undefined) throw new Error('nothing was signed');
    const data = answer.result?.['paymasterAndData'] as `0x${string}`;
    const swapped = await signByAccount(account, { ...fair, callData: greedy.callData }, data);
    expect(await refusalOf(devChain, entryPoint, [swapped])).toContain('AA34');
    await mine([signed], 'expression');
  });

  test('campaigns: one operation that is promised in two takes from both, and is mined once', async () => {
    const limitOf = (campaign: string) => ({
      ...aLimitConfig({ policyId: `of-${campaign}`, name: campaign, threshold: '1' }),
      campaign,
    });
    const shop = await put('campaigns', {
      campaigns: ['summer', 'winter'],
      limits: [limitOf('summer'), limitOf('winter')],
    });
    const inCampaign = (sponsorshipPolicyId: string) => ({ ...sponsored, sponsorshipPolicyId });
    const account = await aDeployedAccount(devChain, version);
    const op = await buildUserOp(account, [increment(devChain)]);
    expect((await ask(shop.url, op, sponsored)).reason).toBe('CAMPAIGN_REQUIRED');
    const promises = [];
    for (const name of ['summer', 'winter'])
      promises.push((await ask(shop.url, op, inCampaign(name), account)).signed ?? []);
    const [first, second] = promises.flat();
    if (first === undefined || second === undefined) throw new Error('nothing was signed');
    await mine([first], 'campaigns');
    expect(await refusalOf(devChain, entryPoint, [second])).toContain('AA25');

    const next = await aDeployedAccount(devChain, version);
    const another = await buildUserOp(next, [increment(devChain)]);
    for (const name of ['summer', 'winter'])
      expect((await ask(shop.url, another, inCampaign(name))).reason).toBe('LIMIT_REACHED');
  });

  test('a limit in Shadow refuses nobody, and what was mined meanwhile is there when it is enforced', async () => {
    const limit = aLimitConfig({ policyId: 'of-shadow', threshold: '1' });
    const shop = await put('shadow', { limits: [{ ...limit, shadow: true }] });
    const asked = [await request(shop.url), await request(shop.url), await request(shop.url)];
    const signed = asked.flatMap((each) => each.signed ?? []);
    expect(signed).toHaveLength(3);
    await mine(signed, 'shadow');

    await put('shadow', { configGeneration: 1, limits: [limit] });
    expect((await request(shop.url)).reason).toBe('LIMIT_REACHED');
    expect(await used(shop.url)).toBe(3);
  });
});

function gasOf({
  callGasLimit,
  verificationGasLimit,
  preVerificationGas,
}: {
  readonly callGasLimit: bigint;
  readonly verificationGasLimit: bigint;
  readonly preVerificationGas: bigint;
}) {
  return { callGasLimit, verificationGasLimit, preVerificationGas };
}
