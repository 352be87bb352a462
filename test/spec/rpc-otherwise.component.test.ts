import { readFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { compileAddressList } from '../../core/policy/address-list.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { layouts } from '../../core/paymaster/layouts.js';
import type { Decision } from '../../core/ledger/record.js';
import { priced, refused } from '../../core/pricing/price-source.js';
import { leavesTokens, refusals, type RefusalReason } from '../../core/refusal.js';
import type { EpochMs } from '../../core/units/time.js';
import { addressOf, aLimitConfig, aPaymasterConfig, aProfileConfig, someNow } from '../build/configs.js';
import { aPrice, aTokenChain, aTokenProfile, eurx, tokenVersions, usdx } from '../build/fee-tokens.js';
import { anOperation, execute, type WireOperation } from '../build/operations.js';
import { startRpc, verifySponsorship, verifyTokenPayment } from '../build/rpc.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

// `otherwise`: sponsored, and where that is refused by a limit, window, sender, contract or deposit, paid in a token.

const host = useRpc({ chain: aTokenChain() });
const much = '1000000000000';
const otherwise = { mode: 'ERC20', feeTokenAddress: usdx.address, maxTokenAmount: much };
const given = { callGasLimit: 100_000, verificationGasLimit: 200_000, preVerificationGas: 60_000 };
const stale = { source: 'feed', reason: 'STALE', ageSeconds: 9_000, maxAgeSeconds: 7_200 } as const;
let nonce = 0;

/** Each from another account, because losses by unpaid tokens are bounded per account. */
function fresh(overrides: WireOperation = {}): WireOperation {
  nonce += 1;
  return anOperation({ nonce, sender: addressOf(0xbee0000 + nonce), ...overrides });
}

const sponsor = (operation: WireOperation, members: object = { otherwise }) =>
  host.call('pm_sponsorUserOperation', [operation, { mode: 'SPONSORED', ...members }]);
const quote = (operation: WireOperation, members: object = { otherwise }) =>
  host.call('pm_getFeeQuoteOrData', [operation, { mode: 'SPONSORED', ...members }]);

type Erc7677 = (operation: WireOperation, context?: object, version?: string) => ReturnType<typeof host.call>;
const erc7677 =
  (method: string): Erc7677 =>
  (operation, context = { otherwise }, version = '1.1.0') =>
    host.call(method, [
      operation,
      entryPoints[layouts[aProfileConfig(version).layout].entryPointVersion],
      '0x7a69',
      context,
    ]);
const stubOf = erc7677('pm_getPaymasterStubData');
const dataOf = erc7677('pm_getPaymasterData');

/** As wallets do: with the fields of the stub. */
const withStub = (operation: WireOperation, stub: Readonly<Record<string, unknown>> | undefined) => {
  const { isFinal: _final, sponsor: _sponsor, ...fields } = stub ?? {};
  return { ...operation, ...fields };
};

/** Counted anew each time. */
const aLimitOfOne = () => aLimitConfig({ policyId: `one-${(nonce += 1)}`, threshold: '1' });

/** A paymaster whose only limit is used up by somebody else. */
async function fill(version = '1.1.0'): Promise<void> {
  await host.put({ version, limits: [aLimitOfOne()], sponsor: { name: 'Shop' } });
  const { body } = await sponsor(fresh(), {});
  expect(body.result?.['paymasterAndData']).not.toBe('0x');
}

/** A list of accounts that has none of ours. */
async function admitOne(): Promise<void> {
  const { list } = compileAddressList([addressOf(0xa11ce)]);
  await host.configs.putList(list);
  await host.put({ senders: [{ policyId: 's', name: 'Few', action: 'Allow', list: list.hash, count: 1 }] });
}

beforeEach(async () => {
  await host.putChain(aTokenChain());
  await host.put();
  host.world.price = () => priced(aPrice());
  host.world.payment = () => Promise.resolve({ pass: true });
});

describe('who could gain by it', () => {
  test('a caller who fills a limit makes nobody pay who has not said that he would', async () => {
    await fill();
    const { body } = await sponsor(fresh(), {});
    expect(body.result).toMatchObject({ mode: 'SPONSORED', paymasterAndData: '0x', reason: 'LIMIT_REACHED' });
  });

  test('an account never pays more than its request allows, also when others fill the limit', async () => {
    await fill();
    const { body } = await sponsor(fresh(), { otherwise: { ...otherwise, maxTokenAmount: '1' } });
    expect(body.result).toMatchObject({
      mode: 'SPONSORED',
      paymasterAndData: '0x',
      reason: 'LIMIT_REACHED',
      otherwise: { reason: 'TOKEN_AMOUNT_TOO_HIGH' },
    });
  });

  test('data are never in tokens after a stub that said sponsored, with its fields or without', async () => {
    await host.put({ limits: [aLimitOfOne()], sponsor: { name: 'Shop' } });
    const operation = fresh();
    const stub = await stubOf(operation);
    expect(stub.body.result).toMatchObject({ sponsor: { name: 'Shop' } });
    // Somebody is faster.
    await sponsor(fresh(), {});
    for (const asked of [withStub(operation, stub.body.result), operation]) {
      const { body } = await dataOf(asked);
      expect(body.result).toBeUndefined();
      expect(body.error?.data).toMatchObject({ reason: 'LIMIT_REACHED', retry: 'ERC20' });
    }
  });

  test('a payment that has become dearer than the maximum since the stub is refused', async () => {
    await fill();
    const operation = fresh();
    // As many base units as it may cost at the price of the stub, and not twice as many.
    const context = { otherwise: { ...otherwise, maxTokenAmount: '4000000' } };
    const stub = await stubOf(operation, context);
    expect(stub.body.error).toBeUndefined();
    host.world.price = () => priced(aPrice({ rate: 6_000_000_000n }));
    const { body } = await dataOf(withStub(operation, stub.body.result), context);
    expect(body.error?.data.reason).toBe('TOKEN_AMOUNT_TOO_HIGH');
  });

  test('a stub in one token does not become data in another', async () => {
    await fill();
    const operation = fresh();
    const stub = await stubOf(operation);
    const { body } = await dataOf(withStub(operation, stub.body.result), {
      otherwise: { ...otherwise, feeTokenAddress: eurx.address },
    });
    expect(body.error).toMatchObject({
      code: -32602,
      message: expect.stringContaining('params[3].otherwise.feeTokenAddress must be'),
    });
  });

  test('data of another contract do not count as a stub', async () => {
    await fill();
    const stub = await stubOf(fresh());
    const foreign = `${addressOf(0xbad)}${String(stub.body.result?.['paymasterAndData']).slice(42)}`;
    const { body } = await dataOf(fresh({ paymasterAndData: foreign }));
    expect(body.error?.data).toMatchObject({ reason: 'LIMIT_REACHED', retry: 'ERC20' });
  });

  test('refusals that the caller makes lead to no payment', async () => {
    for (const [overrides, reason] of [
      [{ maxFeePerGas: '0xffffffffffff' }, 'FEE_TOO_HIGH'],
      [{ callData: '0x12345678' }, 'ACCOUNT_UNKNOWN'],
    ] as const) {
      const { body } = await sponsor(fresh(overrides));
      expect(body.result).toMatchObject({ mode: 'SPONSORED', paymasterAndData: '0x', reason });
      expect(body.result).not.toHaveProperty('otherwise');
    }
  });
});

describe('pm_sponsorUserOperation', () => {
  test('an operation that passes is sponsored', async () => {
    const operation = fresh();
    const { body } = await sponsor(operation);
    expect(body.result).toMatchObject({ mode: 'SPONSORED' });
    expect(body.result).not.toHaveProperty('insteadOf');
    verifySponsorship(operation, body.result);
  });

  test.each(tokenVersions)(
    'version %s: one that is refused pays in the token, and the answer says why',
    async (version) => {
      await fill(version);
      const operation = fresh();
      const { body, headers } = await sponsor(operation);
      expect(body.result).toMatchObject({
        mode: 'ERC20',
        insteadOf: { mode: 'SPONSORED', reason: 'LIMIT_REACHED' },
      });
      expect(headers.get('x-sponsorship-reason')).toBeNull();
      expect(verifyTokenPayment(operation, body.result, version).token).toBe(usdx.address.toLowerCase());
    },
  );

  const causes: readonly [RefusalReason, () => Promise<unknown>, WireOperation][] = [
    ['LIMIT_REACHED', () => fill(), {}],
    ['CONTRACT_NOT_REGISTERED', () => Promise.resolve(), { callData: execute(addressOf(0xdead)) }],
    ['METHOD_NOT_WHITELISTED', () => Promise.resolve(), { callData: execute(undefined, '0xdeadbeef') }],
    ['WINDOW_CLOSED', () => host.put({ windows: [{ policyId: 'w', name: 'Over', until: someNow }] }), {}],
    ['SENDER_NOT_ALLOWED', admitOne, {}],
  ];
  test.each(causes)('%s is such a refusal', async (reason, cause, overrides) => {
    await cause();
    const { body } = await sponsor(fresh(overrides));
    expect(body.result).toMatchObject({ mode: 'ERC20', insteadOf: { mode: 'SPONSORED', reason } });
  });

  test('a deposit that covers neither leaves 0x with both reasons', async () => {
    const poor = await startRpc({ chain: aTokenChain(), deposit: '0.00001' });
    try {
      const params = [fresh(), { mode: 'SPONSORED', otherwise }];
      const { body } = await poor.call('pm_sponsorUserOperation', params);
      expect(body.result).toMatchObject({
        paymasterAndData: '0x',
        reason: 'DEPOSIT_TOO_LOW',
        otherwise: { reason: 'DEPOSIT_TOO_LOW' },
      });
    } finally {
      await poor.stop();
    }
  });

  test('a price that may not be used, or a token that is not served, leaves 0x with both reasons', async () => {
    await fill();
    host.world.price = () => refused(stale);
    expect((await sponsor(fresh())).body.result).toMatchObject({
      paymasterAndData: '0x',
      reason: 'LIMIT_REACHED',
      otherwise: { reason: 'FEE_TOKEN_UNSUPPORTED' },
    });
    const unknown = { ...otherwise, feeTokenAddress: addressOf(0xabc) };
    expect((await sponsor(fresh(), { otherwise: unknown })).body.result).toMatchObject({
      reason: 'LIMIT_REACHED',
      otherwise: { reason: 'FEE_TOKEN_UNSUPPORTED' },
    });
  });

  test('the ledger has both decisions of the request, and the payment says what it is made instead of', async () => {
    await fill();
    const operation = fresh();
    await sponsor(operation);
    let records: readonly Decision[] = [];
    await until('both are recorded', async () => {
      records = await recordsOf(operation);
      return records.length === 2;
    });
    const [refusal, payment] = records;
    expect(refusal).toMatchObject({ verdict: 'refused', mode: 'SPONSORED', reason: 'LIMIT_REACHED' });
    expect(payment).toMatchObject({
      verdict: 'sponsored',
      mode: 'ERC20',
      detail: 'instead of a sponsorship that was refused: LIMIT_REACHED',
      requestId: refusal?.requestId,
    });
  });
});

describe('pm_getFeeQuoteOrData', () => {
  test('quotes the token where the operation is not sponsored', async () => {
    await fill();
    const { body } = await quote(fresh());
    expect(body.result).toMatchObject({ mode: 'ERC20', feeQuotes: [{ tokenAddress: usdx.address }] });
  });

  test('answers 0x where nothing can be quoted, or the caller is to blame', async () => {
    const { body } = await quote(fresh({ callData: '0x12345678' }));
    expect(body.result).toMatchObject({
      mode: 'SPONSORED',
      paymasterAndData: '0x',
      reason: 'ACCOUNT_UNKNOWN',
    });
    await fill();
    host.world.price = () => refused(stale);
    expect((await quote(fresh())).body.result).toMatchObject({ reason: 'LIMIT_REACHED' });
  });
});

describe.each(tokenVersions)('ERC-7677, version %s', (version) => {
  test('the stub of an operation that passes shows the sponsor, and its data are sponsored', async () => {
    await host.put({ version, sponsor: { name: 'Shop' } });
    const operation = operationOf(version);
    const stub = await stubOf(operation, undefined, version);
    expect(stub.body.result).toMatchObject({ sponsor: { name: 'Shop' } });
    const { body } = await dataOf(withStub(operation, stub.body.result), undefined, version);
    verifySponsorship(operation, { ...given, ...body.result }, version);
  });

  test('the stub of one that is refused has the length of the token mode and no sponsor, and its data are of that mode', async () => {
    await fill(version);
    const operation = operationOf(version);
    const stub = await stubOf(operation, undefined, version);
    expect(stub.body.result).not.toHaveProperty('sponsor');
    const plain = await stubOf(operation, { token: usdx.address }, version);
    expect(Object.keys(stub.body.result ?? {})).toEqual(Object.keys(plain.body.result ?? {}));
    expect(JSON.stringify(stub.body.result)).toHaveLength(JSON.stringify(plain.body.result).length);
    const { body } = await dataOf(withStub(operation, stub.body.result), undefined, version);
    expect(body.error).toBeUndefined();
    const paid = verifyTokenPayment(operation, { ...given, ...body.result }, version);
    expect(paid).toMatchObject({
      paymaster: aTokenProfile(version).token?.toLowerCase(),
      token: usdx.address.toLowerCase(),
    });
    expect(body.result).not.toHaveProperty('sponsor');
    await until('it is recorded', async () => (await recordsOf(operation)).some(isPaidByStub));
  });
});

const isPaidByStub = ({ mode, detail }: Decision): boolean =>
  mode === 'ERC20' && detail === 'instead of a sponsorship that the stub refused';

test('the page names every reason that leads to a payment, and no other', () => {
  const page = readFileSync('docs/otherwise.md', 'utf8').split('## How')[0] ?? '';
  const named = Object.keys(refusals).filter((reason) => page.includes(`\`${reason}\``));
  expect(named).toEqual(Object.keys(refusals).filter((reason) => leavesTokens({ reason })));
});

test('a stub that is refused in both modes names both reasons', async () => {
  await fill();
  const { body } = await stubOf(fresh(), { otherwise: { ...otherwise, maxTokenAmount: 1 } });
  expect(body.error).toMatchObject({
    message: expect.stringMatching(
      /^A spending limit has too little left.* Otherwise, in tokens: The payment/,
    ),
    data: { reason: 'LIMIT_REACHED', otherwise: 'TOKEN_AMOUNT_TOO_HIGH' },
  });
});

describe('mistakes in `otherwise` name the field and what is expected', () => {
  const forms = [
    ['params[1]', (members: object) => sponsor(fresh(), members)],
    ['params[1]', (members: object) => quote(fresh(), members)],
    ['params[3]', (members: object) => stubOf(fresh(), { mode: 'SPONSORED', ...members })],
    ['params[3]', (members: object) => dataOf(fresh(), { mode: 'SPONSORED', ...members })],
  ] as const;
  const wrong: readonly [unknown, string][] = [
    ['USDC', 'otherwise must be an object with mode, feeTokenAddress and maxTokenAmount, got "USDC"'],
    [{ ...otherwise, mode: 'SPONSORED' }, 'otherwise.mode must be ERC20, got "SPONSORED"'],
    [{ ...otherwise, mode: undefined }, 'otherwise.mode must be ERC20'],
    [
      { ...otherwise, feeTokenAddress: 'USDC' },
      'otherwise.feeTokenAddress must be an address of 0x and 40 hex digits',
    ],
    [{ ...otherwise, maxTokenAmount: undefined }, 'otherwise.maxTokenAmount must be given'],
    [{ ...otherwise, maxTokenAmount: -1 }, 'otherwise.maxTokenAmount must be a quantity'],
  ];
  test.each(
    forms.flatMap(([path, ask]) => wrong.map(([value, text]) => [`${path}.${text}`, ask, value] as const)),
  )('%s', async (text, ask, value) => {
    const { body } = await ask({ otherwise: value });
    expect(body.error).toMatchObject({ code: -32602, message: expect.stringContaining(text) });
  });

  test.each(forms.map(([path, ask]) => [path, ask] as const))(
    '%s: mode ERC20 takes none',
    async (path, ask) => {
      const { body } = await ask({
        mode: 'ERC20',
        tokenInfo: { feeTokenAddress: usdx.address },
        otherwise,
      });
      expect(body.error?.message).toContain(
        `${path}.otherwise must be left out: mode ERC20 pays in tokens anyway`,
      );
    },
  );

  test('a context that names a token takes none either, nor do two phases', async () => {
    const named = await stubOf(fresh(), { token: usdx.address, otherwise });
    expect(named.body.error?.message).toContain('params[3].otherwise must be left out');
    const phased = await dataOf(fresh(), { signingPhase: 'commit', otherwise });
    expect(phased.body.error?.code).toBe(-32602);
  });

  test('nor does the form whose answer does not say who pays', async () => {
    const { body } = await host.call('pm_sponsorUserOperation', [fresh(), entryPoints['0.6'], { otherwise }]);
    expect(body.error?.message).toContain(
      'params[2].otherwise must be left out: it is read by pm_getPaymasterStubData and in the form with a mode object',
    );
  });
});

/** In the form of the EntryPoint of the version. */
function operationOf(version: string): WireOperation {
  const { entryPointVersion } = layouts[aProfileConfig(version).layout];
  const { initCode: _code, paymasterAndData: _data, ...later } = fresh();
  return entryPointVersion === '0.6' ? fresh() : later;
}

async function recordsOf(operation: WireOperation): Promise<readonly Decision[]> {
  const { namespace: organisation } = aPaymasterConfig();
  const range = { organisation, from: 0 as EpochMs, to: (host.clock.now() + 86_400_000) as EpochMs };
  const { decisions } = await host.ledger.decisions({ ...range, limit: 500 });
  return decisions
    .map(({ decision }) => decision)
    .filter((decision) => decision.nonce === BigInt(Number(operation['nonce'])))
    .toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
