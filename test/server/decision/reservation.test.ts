import { describe, expect, test } from '@jest/globals';
import type { ProfileConfig } from '../../../core/config/chain-config.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { refusedError } from '../../../core/refused-error.js';
import { silentLogger } from '../../../core/log.js';
import { toAddressKey } from '../../../core/units/address.js';
import { plusSeconds, toSeconds, type EpochMs } from '../../../core/units/time.js';
import type { Mode } from '../../../core/usage/reservation.js';
import type { ReserveRefusal } from '../../../core/usage/reserve-request.js';
import { aStepDecision } from '../../conformance/step-records.js';
import { describeRefusal } from '../../../server/decision/refusal.js';
import {
  nothingSigned,
  planReservation,
  replanReservation,
  type PlannedReservation,
  type Promised,
} from '../../../server/decision/reservation.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { servePaymaster } from '../../../server/view/served-paymaster.js';
import { createSharing } from '../../../server/view/sharing.js';
import {
  addressOf,
  aChainConfig,
  aLimitConfig,
  aPaymasterConfig,
  aProfileConfig,
  someFunding,
  someNow,
} from '../../build/configs.js';

const gweiPerCoin = 1_000_000_000;
const wallet = addressOf(0xd0);
const tokenAccount = toAddressKey(addressOf(0xacc));

type Case = {
  readonly version?: string;
  readonly profile?: Partial<ProfileConfig>;
  readonly paymaster?: Partial<PaymasterConfig>;
  readonly mode?: Mode;
  readonly payer?: ReturnType<typeof toAddressKey> | undefined;
  readonly unsecured?: bigint;
  readonly capacity?: number;
  readonly now?: EpochMs;
};

const oneCoin = 10n ** 18n;

function promisedIn({ version = '1.1.0', profile, paymaster, mode = 'SPONSORED', ...rest }: Case): Promised {
  const token = addressOf(0x70c);
  const config = aChainConfig({
    configGeneration: 5,
    profiles: [aProfileConfig(version, { token, options: optionsOf(version), ...profile })],
  });
  const chain = serveChain(config, { get: () => undefined, recover: () => undefined }, silentLogger);
  const served = chain.profiles.get(version);
  if (served === undefined) throw new Error(`version ${version} is not served`);
  const isSponsored = mode === 'SPONSORED';
  const payer = 'payer' in rest ? rest.payer : undefined;
  return {
    paymaster: servePaymaster(
      aPaymasterConfig({ version, configGeneration: 3, ...paymaster }),
      createSharing(),
    ),
    chain,
    profile: served,
    op: {
      sender: toAddressKey(addressOf(0xa)),
      nonce: 7n,
      initCode: '0x',
      callData: '0x',
      callGasLimit: 1n,
      verificationGasLimit: 1n,
      preVerificationGas: 1n,
      maxFeePerGas: 1n,
      maxPriorityFeePerGas: 1n,
      signature: '0x',
    },
    need: { entryPoint: oneCoin, funding: payer === undefined ? undefined : 2n * oneCoin },
    usdPerNative: undefined,
    unsecured: rest.unsecured ?? (isSponsored ? 0n : oneCoin),
    promise: {
      digest: nothingSigned,
      mode,
      contract: isSponsored ? served.contractKey : (served.token?.contractKey ?? served.contractKey),
      ...(payer === undefined ? {} : { fundingAddress: payer }),
      prefundWei: oneCoin,
      validUntil: plusSeconds(toSeconds(someNow), 300),
    },
  };
}

function optionsOf(version: string): ProfileConfig['options'] {
  const treasury = version.startsWith('singleton') ? { treasury: addressOf(0x7e) } : {};
  return { priceMarkup: 1_000_000, unaccountedGas: 50_000, ...treasury };
}

function plan(given: Case): PlannedReservation {
  return planReservation(promisedIn(given), given.capacity ?? Number.POSITIVE_INFINITY)(given.now ?? someNow);
}

const holdOf = (request: PlannedReservation, bounds: string) =>
  request.holds.find((hold) => hold.bounds === bounds);

describe('an organisation takes at most its share of', () => {
  type Row = Case & { readonly name: string; readonly account?: number; readonly percent?: number };
  const byDefault = (organisations: readonly string[]): Partial<ProfileConfig> => ({
    defaultFunding: { address: wallet, organisations },
  });
  const onDefault = { payer: toAddressKey(wallet) };
  test.each<Row>([
    {
      name: 'a default wallet of all: a quarter',
      profile: byDefault(['*']),
      ...onDefault,
      account: 1,
      percent: 25,
    },
    {
      name: 'a default wallet of two: a quarter',
      profile: byDefault(['acme', 'other']),
      ...onDefault,
      account: 1,
      percent: 25,
    },
    {
      name: 'a default wallet that is its alone: all',
      profile: byDefault(['acme']),
      ...onDefault,
      account: 1,
      percent: 100,
    },
    {
      name: 'a default wallet with a share set: that',
      profile: { ...byDefault(['acme']), organisationShare: 40 },
      ...onDefault,
      account: 1,
      percent: 40,
    },
    { name: 'a wallet that it proved itself: nothing is bounded', payer: toAddressKey(someFunding) },
    {
      name: 'a wallet that it proved itself and others use by default: nothing is bounded',
      profile: { defaultFunding: { address: someFunding, organisations: ['*'] } },
      payer: toAddressKey(someFunding),
    },
    { name: 'a contract without balances: a quarter', version: 'verifying-0.7', account: 0, percent: 25 },
    {
      name: 'a contract without balances that the platform opens to it alone: all',
      version: 'singleton-0.7',
      profile: byDefault(['acme']),
      account: 0,
      percent: 100,
    },
    {
      name: 'the account that pays for token operations: a quarter',
      mode: 'ERC20',
      payer: tokenAccount,
      account: 1,
      percent: 25,
    },
    {
      name: 'a token contract that pays from its deposit: a quarter',
      mode: 'ERC20',
      account: 0,
      percent: 25,
    },
    {
      name: 'a token account, also if another organisation is the only one listed: a quarter',
      mode: 'ERC20',
      payer: tokenAccount,
      profile: byDefault(['other']),
      account: 1,
      percent: 25,
    },
  ])('$name', ({ account, percent, ...given }) => {
    const request = plan({
      ...given,
      ...(given.version === 'verifying-0.7' ? { profile: { options: optionsOf('') } } : {}),
    });
    const hold = holdOf(request, 'share');
    if (account === undefined) {
      expect(hold).toBeUndefined();
      return;
    }
    expect(hold).toMatchObject({
      threshold: { account, percent },
      cost: request.accounts[account]?.need,
      admitsOneAlone: true,
    });
    expect(hold?.counter).toContain(request.promise.contract);
  });

  test('a share is counted by organisation, and in both modes of one deposit together', () => {
    const singleton = {
      version: 'singleton-0.7',
      profile: { token: aProfileConfig('singleton-0.7').sponsorship },
    };
    const counters = [
      plan(singleton),
      plan({ ...singleton, mode: 'ERC20' }),
      plan({ ...singleton, paymaster: { namespace: 'other' } }),
    ].map((request) => holdOf(request, 'share')?.counter);
    expect(counters[0]).toBe(counters[1]);
    expect(counters[2]).not.toBe(counters[0]);
  });
});

describe('unsecured token payments', () => {
  test('draw on the budget less the losses of the day, and on the parts of organisation, paymaster and account', () => {
    const request = plan({ mode: 'ERC20', profile: { tokenLossBudget: '4' } });
    const cost = gweiPerCoin;
    const day = request.bars.at(-1);
    expect(request.holds.filter(({ bounds }) => bounds !== 'live' && bounds !== 'share')).toEqual([
      expect.objectContaining({
        bounds: 'contract',
        cost,
        threshold: 4 * gweiPerCoin,
        plusUsed: [day?.counter],
      }),
      expect.objectContaining({ bounds: 'organisation', cost, threshold: gweiPerCoin, admitsOneAlone: true }),
      expect.objectContaining({
        bounds: 'paymaster',
        cost,
        threshold: gweiPerCoin / 2,
        admitsOneAlone: true,
      }),
      expect.objectContaining({
        bounds: 'account',
        cost,
        threshold: 0.4 * gweiPerCoin,
        admitsOneAlone: true,
      }),
    ]);
    // The budget has no exception for a single payment: it is the platform's final bound.
    expect(holdOf(request, 'contract')).not.toHaveProperty('admitsOneAlone');
  });

  test('that are secured draw nothing from the budget', () => {
    const request = plan({ mode: 'ERC20', unsecured: 0n });
    expect(request.holds.map(({ bounds }) => bounds)).toEqual(['live', 'share']);
  });

  test('take no spending limit, and a sponsorship takes no part of the budget', () => {
    const paymaster = { limits: [aLimitConfig()] };
    const [sponsored, paid] = [plan({ paymaster }), plan({ paymaster, mode: 'ERC20' })];
    expect([sponsored.limits.length, sponsored.bars.length]).toEqual([1, 0]);
    expect([paid.limits.length, paid.bars.length]).toEqual([0, 3]);
    expect(sponsored.holds.map(({ bounds }) => bounds)).toEqual(['live']);
  });
});

describe('fences', () => {
  test('name the paymaster, the chain and the contract', () => {
    expect(plan({ now: (someNow + 1) as EpochMs }).fences).toEqual([
      { id: aPaymasterConfig().paymasterId, generation: 3 },
      { id: 'chain', generation: 5 },
      { id: expect.stringContaining('contract:'), generation: 0 },
    ]);
  });

  test('of a generation far ahead of the clock close at most a minute ahead', () => {
    const [fence] = plan({ paymaster: { configGeneration: someNow * 2 } }).fences;
    expect(fence?.generation).toBe(someNow + 60_000);
  });
});

describe('after a peek the plan', () => {
  // A generation far ahead of the clock is bounded by the time of the plan.
  const given: Case = { mode: 'ERC20', payer: tokenAccount, paymaster: { configGeneration: someNow * 2 } };
  const peeked = promisedIn(given);
  const asked = planReservation(peeked, Number.POSITIVE_INFINITY)(someNow);
  const day = 86_400_000;
  const { promise, need, unsecured } = peeked;

  type Row = { readonly name: string; readonly change?: Partial<Promised>; readonly now?: number };
  const again = ({ change, now = someNow }: Omit<Row, 'name'>) => {
    const promised = { ...peeked, ...change };
    const one = { request: asked, promised: peeked };
    return {
      replanned: replanReservation(one, promised, Number.POSITIVE_INFINITY, record)(now as EpochMs),
      planned: planReservation(promised, Number.POSITIVE_INFINITY, record)(now as EpochMs),
    };
  };
  // The peek had none: it promises nothing.
  const record = aStepDecision(1);
  const signed: Partial<Promised> = { promise: { ...promise, digest: `0x${'ab'.repeat(16)}` } };

  test.each<Row>([
    { name: 'has the promise that is signed', change: signed },
    { name: 'has the generations of its time', change: signed, now: someNow + 1000 },
    {
      name: 'takes what the operation needs by now',
      change: { need: { ...need, entryPoint: oneCoin * 2n } },
    },
    { name: 'takes what the balance needs by now', change: { need: { ...need, funding: oneCoin * 3n } } },
    { name: 'bounds what is unsecured by now', change: { unsecured: unsecured + oneCoin } },
    { name: 'bounds nothing once nothing is unsecured', change: { unsecured: 0n } },
    {
      name: 'charges the account that pays by now',
      change: { promise: { ...promise, fundingAddress: toAddressKey(wallet) } },
    },
    { name: 'counts in the windows of its time', change: signed, now: someNow + day },
  ])('$name', (row) => {
    const { replanned, planned } = again(row);
    expect(replanned).toEqual(planned);
  });

  test('keeps the amounts and counters when nothing of them has changed', () => {
    const { replanned } = again({ change: signed });
    expect(replanned.holds).toBe(asked.holds);
    expect(replanned.bars).toBe(asked.bars);
  });
});

test.each([
  { capacity: Number.POSITIVE_INFINITY, most: 500_000 },
  { capacity: 1_000_003, most: 200_000 },
])(
  'a paymaster has at most $most live reservations where there is room for $capacity',
  ({ capacity, most }) => {
    expect(holdOf(plan({ capacity }), 'live')).toMatchObject({ unit: 'COUNT', cost: 1, threshold: most });
  },
);

describe('a refusal says', () => {
  const request = plan({ mode: 'ERC20', payer: tokenAccount, profile: { tokenLossBudget: '4' } });
  const say = (refusal: ReserveRefusal, of: PlannedReservation = request) =>
    describeRefusal(promisedIn({}).paymaster, of, refusal);
  const indexOf = (bounds: string): number => request.holds.findIndex((hold) => hold.bounds === bounds);

  test('which organisation holds how much of which deposit', () => {
    expect(
      say({ outcome: 'held', index: indexOf('share'), taken: 3 * gweiPerCoin, most: 4 * gweiPerCoin }),
    ).toEqual({
      pass: false,
      reason: 'ORGANISATION_SHARE_FULL',
      detail: `operations of "acme" that are not mined yet take 3 of 4 ether, its share of the deposit of ${tokenAccount}; this one needs 2`,
    });
  });

  test('how many operations are pending', () => {
    expect(say({ outcome: 'held', index: indexOf('live'), taken: 10, most: 10 })).toMatchObject({
      reason: 'TOO_MANY_PROMISES',
      detail: '10 operations are not mined yet, at most 10 may be',
    });
  });

  test.each(['contract', 'organisation', 'paymaster', 'account'])(
    'that the part of the budget of the %s is taken, and the answer is RATE_LIMITED: the caller may retry',
    (bounds) => {
      const refusal = { outcome: 'held', index: indexOf(bounds), taken: 1, most: 2 } as const;
      expect(refusedError(say(refusal), { isPayer: true })).toMatchObject({
        code: 'RATE_LIMITED',
        details: { reason: 'TOKEN_EXPOSURE_FULL', retryAfterSeconds: expect.any(Number) },
      });
    },
  );

  test('that an account is barred, and until when', () => {
    expect(say({ outcome: 'barred', index: 0, used: 9 })).toMatchObject({ reason: 'SENDER_BARRED' });
  });

  test('that token mode has stopped for the day', () => {
    expect(refusedError(say({ outcome: 'barred', index: 2, used: 9 }), { isPayer: true })).toMatchObject({
      code: 'PAYMASTER_NOT_READY',
      details: { reason: 'TOKEN_LOSS' },
    });
  });

  test.each([
    ['chain', 'chain 31337 is suspended in the usage store'],
    [aPaymasterConfig().paymasterId, 'the paymaster is suspended in the usage store'],
    [
      request.fences[2]?.id ?? '',
      'is suspended in the usage store: by the platform, or because an operation of it was mined',
    ],
  ])('that %s is suspended', (id, detail) => {
    const refusal = say({ outcome: 'suspended', id });
    expect(refusal.reason).toBe('SUSPENDED');
    expect(refusal.detail).toContain(detail);
  });
});
