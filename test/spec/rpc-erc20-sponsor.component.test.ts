import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { entryPoints } from '../../core/entry-point/address.js';
import { DomainError } from '../../core/errors.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseLossBudget } from '../../core/policy/token-loss.js';
import { refuse } from '../../core/refusal.js';
import { priced, refused } from '../../core/pricing/price-source.js';
import { toAddressKey, zeroAddress } from '../../core/units/address.js';
import type { TokenPaymentRequest } from '../../core/paymaster/token-payment-checker.js';
import { addressOf, aLimitConfig, sha256, someNow, someVersions } from '../build/configs.js';
import { aPrice, aTokenChain, aTokenProfile, eurx, oldx, tokenVersions, usdx } from '../build/fee-tokens.js';
import { anOperation, anOperationWithoutLimits, execute } from '../build/operations.js';
import { settle } from '../build/unpaid.js';
import {
  packedData,
  rpcPath,
  signerAddress,
  startRpc,
  verifyTokenPayment,
  type RpcAnswer,
  type RpcHost,
} from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc({ chain: aTokenChain() });
let checked: TokenPaymentRequest[] = [];
beforeEach(async () => {
  await host.put();
  host.world.price = () => priced(aPrice());
  checked = [];
  host.world.payment = (request) => {
    checked.push(request);
    return Promise.resolve({ pass: true });
  };
});

const estimated = { callGasLimit: 90_001n, verificationGasLimit: 150_002n, preVerificationGas: 50_003n };

describe('pm_sponsorUserOperation in mode ERC20', () => {
  test.each(tokenVersions)(
    'version %s: signs what is answered, at the rate and premium of now',
    async (version) => {
      await host.put({ version });
      const operation = anOperation();
      const { status, body } = await pay(operation);
      expect(status).toBe(200);
      expect(body.result).toMatchObject({
        mode: 'ERC20',
        MODE: 'ERC20',
        preVerificationGas: '60000',
        verificationGasLimit: 200_000,
        callGasLimit: 100_000,
      });
      expect(verifyTokenPayment(operation, body.result, version)).toEqual({
        signer: signerAddress,
        paymaster: aTokenProfile(version).token?.toLowerCase(),
        token: usdx.address.toLowerCase(),
        rateWithPremium: 3_300_000_000n,
        validUntil: someNow / 1000 + 300,
        validAfter: someNow / 1000 - 60,
      });
    },
  );

  test('from EntryPoint 0.7 on the fields of the paymaster come unpacked too', async () => {
    await host.put({ version: 'singleton-0.7' });
    const result = (await pay(anOperation())).body.result ?? {};
    const gas = layouts['singleton-0.7'].token?.gas({});
    expect(result['paymasterVerificationGasLimit']).toBe(Number(gas?.paymasterVerificationGasLimit));
    expect(result['paymasterPostOpGasLimit']).toBe(Number(gas?.paymasterPostOpGasLimit));
    const word = (value: unknown): string => BigInt(String(value)).toString(16).padStart(32, '0');
    expect(result['paymasterAndData']).toBe(
      `${String(result['paymaster'])}${word(result['paymasterVerificationGasLimit'])}` +
        `${word(result['paymasterPostOpGasLimit'])}${String(result['paymasterData']).slice(2)}`,
    );
  });

  test('exactly the operation that is signed was simulated before', async () => {
    const operation = anOperation();
    const { body } = await pay(operation);
    const [request] = checked;
    expect(checked).toHaveLength(1);
    expect(request?.op).toMatchObject({
      callData: operation['callData'],
      callGasLimit: 100_000n,
      verificationGasLimit: 200_000n,
      preVerificationGas: 60_000n,
    });
    expect(request?.terms).toMatchObject({ exchangeRate: 3_000_000_000n, priceMarkup: 1_100_000 });
    expect(verifyTokenPayment(operation, body.result).signer).toBe(signerAddress);
  });

  test.each([
    ['calculateGasLimits is true', anOperation(), { calculateGasLimits: true }],
    ['limits are missing', anOperationWithoutLimits(), {}],
  ])('%s: limits are estimated, and those of the payment added', async (_name, operation, params) => {
    host.world.estimate = () => Promise.resolve(estimated);
    const { body } = await pay(operation, params);
    expect(body.result).toMatchObject({ callGasLimit: 90_001 });
    expect(Number(body.result?.['verificationGasLimit'])).toBeGreaterThan(150_002);
    expect(Number(body.result?.['preVerificationGas'])).toBeGreaterThan(40_000);
    expect(verifyTokenPayment(operation, body.result).signer).toBe(signerAddress);
  });

  test('the user pays: whitelist, limits, webhooks and broken policies of the owner do not apply', async () => {
    await host.put({
      limits: [aLimitConfig({ policyId: 'erc20', threshold: '0' })],
      webhooks: [
        { policyId: 'hook', name: 'hook', url: 'https://example.com', method: 'POST', onError: 'Deny' },
      ],
      invalidPolicies: ['broken'],
    });
    host.world.webhook = () => Promise.reject(new Error('no webhook may be asked'));
    const operation = anOperation({ callData: execute(addressOf(0xdead)) });
    const { body } = await pay(operation);
    expect(verifyTokenPayment(operation, body.result).signer).toBe(signerAddress);
  });

  test.each([
    ['no tokenInfo', {}],
    ['no feeTokenAddress', { tokenInfo: {} }],
    ['an empty one', { tokenInfo: { feeTokenAddress: '' } }],
    ['only members of the quote method', { tokenInfo: { preferredToken: usdx.address, tokenList: [] } }],
  ])('missing token address (%s): -32602 FEE_TOKEN_REQUIRED', async (_name, params) => {
    const { status, body } = await host.call('pm_sponsorUserOperation', [
      anOperation(),
      { mode: 'ERC20', ...params },
    ]);
    expect(status).toBe(400);
    expect(body.error).toMatchObject({
      code: -32602,
      data: { reason: 'FEE_TOKEN_REQUIRED', retryable: false },
    });
    expect(body.error?.message).toContain('params[1].tokenInfo.feeTokenAddress');
  });

  test('unsupported token address: -32602 FEE_TOKEN_UNSUPPORTED naming those that are', async () => {
    const { status, body } = await pay(anOperation(), {}, addressOf(0xabc));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'FEE_TOKEN_UNSUPPORTED' } });
    expect(body.error?.message).toContain(`USDX ${usdx.address}`);
  });

  test('a token that is not an address: -32602 naming the field', async () => {
    const { body } = await pay(anOperation(), {}, 'USDX');
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain('params[1].tokenInfo.feeTokenAddress');
  });

  test.each([
    [
      'stale',
      { source: 'chainlink 0x5f4e', reason: 'STALE', ageSeconds: 9_000, maxAgeSeconds: 7_200 } as const,
      'its price is 9000 s old, at most 7200 s are accepted',
    ],
    [
      'in doubt',
      {
        source: 'combine',
        reason: 'DEVIATION',
        lowest: { rate: 1n, source: 'a' },
        highest: { rate: 2n, source: 'b' },
        maxDeviationPercent: 5,
      } as const,
      'its sources are more than 5 % apart',
    ],
  ])(
    'a price that is %s: an error that names figures, and no source of the platform',
    async (_name, refusal, text) => {
      host.world.price = () => refused(refusal);
      const { body } = await pay(anOperation(), {}, oldx.address);
      expect(body.error).toMatchObject({ code: -32602, data: { reason: 'FEE_TOKEN_UNSUPPORTED' } });
      expect(body.error?.message).toContain(text);
      expect(body.error?.message).not.toContain('chainlink');
      expect(checked).toEqual([]);
    },
  );

  test.each([
    ['TOKEN_BALANCE', 'after its call the account holds 5 base units'],
    ['TOKEN_ALLOWANCE', 'after its call the account allows 0 base units'],
    ['TOKEN_PAYMENT_FAILS', 'AA33 reverted'],
  ] as const)('%s: an error with the figures, never 0x', async (reason, detail) => {
    host.world.payment = () => Promise.resolve(refuse(reason, detail));
    const { status, body } = await pay(anOperation());
    expect(status).toBe(400);
    expect(body.result).toBeUndefined();
    expect(body.error).toMatchObject({ code: -32501, data: { reason, retryable: false } });
    expect(body.error?.message).toContain(detail);
    expect((await host.metrics.render()).body).toMatch(
      new RegExp(`paymaster_refusals_total\\{reason="${reason}"\\} [1-9]`),
    );
  });

  test.each([
    ['suspended', { suspended: true }, {}, 'SUSPENDED'],
    ['fees above the cap', {}, { maxFeePerGas: '0x174876e800' }, 'FEE_TOO_HIGH'],
    ['limits above the cap', {}, { callGasLimit: 50_000_000 }, 'GAS_LIMIT_TOO_HIGH'],
    ['too little for the contract', {}, { verificationGasLimit: 40_000 }, 'GAS_LIMIT_TOO_LOW'],
  ])('%s: an error with the reason, and nothing is simulated', async (_name, paymaster, fields, reason) => {
    await host.put(paymaster);
    const { status, body } = await pay(anOperation(fields));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32501, data: { reason } });
    expect(checked).toEqual([]);
  });

  test('an operation whose call fails is refused', async () => {
    host.world.estimate = () => Promise.resolve({ ...estimated, reverted: 'nothing to sell' });
    const { body } = await pay(anOperationWithoutLimits());
    expect(body.error).toMatchObject({ code: -32501, data: { reason: 'EXECUTION_REVERTS' } });
  });

  test.each<[{ expiryDuration?: number | string }, number]>([
    [{ expiryDuration: 60 }, 60],
    [{ expiryDuration: 600 }, 600],
    [{ expiryDuration: '6000' }, 600],
    [{}, 300],
  ])('%j: valid for %i seconds, 600 at most whatever the chain allows', async (params, seconds) => {
    await host.putChain({ maxExpirySeconds: 86_400 });
    await host.put({ maxExpirySeconds: 86_400 });
    const operation = anOperation();
    const { body } = await pay(operation, params);
    const validUntil = someNow / 1000 + seconds;
    expect(verifyTokenPayment(operation, body.result).validUntil).toBe(validUntil);
    expect(body.result).toMatchObject({ validUntil });
    const shortened = params.expiryDuration === '6000';
    expect(body.result?.['expiryAsked']).toBe(shortened ? 6000 : undefined);
    await host.putChain();
  });

  test('the wallet of the paymaster is not drawn on: an empty one is not an obstacle', async () => {
    await host.put({ fundingAddress: addressOf(0xbeef) });
    expect((await pay(anOperation())).body.result?.['mode']).toBe('ERC20');
  });

  test('a version without token mode: -32602 MODE_NOT_AVAILABLE', async () => {
    await host.put({ version: 'verifying-0.7' });
    const { status, body } = await pay(anOperation());
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'MODE_NOT_AVAILABLE' } });
  });
});

describe('Deposits in mode ERC20', () => {
  test('what was promised to other operations is not promised again', async () => {
    // 0.0016 ether per operation at most, of the contract's deposit and of the token account in it.
    const small = await startRpc({ chain: withShare(100), deposit: '0.003' });
    try {
      const answers: RpcAnswer[] = [];
      for (const nonce of [1, 2, 3]) answers.push(await payAt(small, anOperation({ nonce })));
      expect(answers.map(({ body }) => body.error?.data.reason)).toContain('DEPOSIT_TOO_LOW');
      const signed = answers.filter(({ body }) => body.result !== undefined).length;
      expect(signed).toBeGreaterThan(0);
      const promised = await small.usage.reservations(31337);
      expect(promised).toHaveLength(signed);
      expect(promised[0]?.promises[0]?.mode).toBe('ERC20');
      expect(promised[0]?.limits).toEqual([]);
    } finally {
      await small.stop();
    }
  });

  test('an organisation takes at most its share of what several pay from, and another one is served meanwhile', async () => {
    const shared = await startRpc({ chain: withShare(50), deposit: '0.005' });
    try {
      const other = 'other.key';
      await shared.put({ paymasterId: 'other', namespace: 'other', keys: [{ sha256: sha256(other) }] });
      for (const nonce of [1, 2]) await payAt(shared, anOperation({ nonce }));
      const { status, body } = await payAt(shared, anOperation({ nonce: 3 }));
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: -32501, data: { reason: 'ORGANISATION_SHARE_FULL' } });
      expect(body.error?.message).toContain('"acme"');
      const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
      const path = rpcPath(other);
      const op = anOperation({ nonce: 3, sender: addressOf(0x600d) });
      expect((await shared.call('pm_sponsorUserOperation', [op, mode], { path })).body.result).toBeDefined();
    } finally {
      await shared.stop();
    }
  });

  test('a contract without deposit: NOT_FUNDED', async () => {
    const empty = await startRpc({ chain: aTokenChain(), deposit: '0' });
    try {
      const { body } = await payAt(empty, anOperation());
      expect(body.error).toMatchObject({ code: -32501, data: { reason: 'NOT_FUNDED' } });
    } finally {
      await empty.stop();
    }
  });
});

describe('Operations that were mined and paid no token', () => {
  const contract = toAddressKey(aTokenProfile('1.1.0').token ?? zeroAddress);
  const dayMs = 86_400_000;

  /** The operation of this nonce was mined, at this cost in gwei that no token paid. */
  async function mine(at: RpcHost, nonce: bigint, sender: string, loss: number): Promise<void> {
    const found = await at.usage.reservations(31337);
    const reservation = found.find(({ key }) => key.nonce === nonce && key.sender === sender.toLowerCase());
    if (reservation === undefined) throw new Error(`nothing is reserved for nonce ${nonce}`);
    await settle(at, reservation.key, { contract, loss });
  }

  const answer = (lossGwei: number) => (lossGwei === 0 ? undefined : 'SENDER_BARRED');

  test.each([
    ['one that paid does not count', 0],
    ['one that did not bars its sender', 50_000],
  ])('%s', async (_name, lossGwei) => {
    const fresh = await startRpc({ chain: aTokenChain() });
    try {
      const sender = addressOf(0xbad);
      expect((await payAt(fresh, anOperation({ sender, nonce: 1 }))).body.result).toBeDefined();
      await mine(fresh, 1n, sender, lossGwei);
      const next = await payAt(fresh, anOperation({ sender, nonce: 2 }));
      expect(next.body.error?.data.reason).toBe(answer(lossGwei));
      expect((await payAt(fresh, anOperation({ nonce: 2 }))).body.result).toBeDefined();
    } finally {
      await fresh.stop();
    }
  });

  test('a sponsorship and a payment for one nonce are one reservation, which says what was signed', async () => {
    const fresh = await startRpc({ chain: aTokenChain() });
    try {
      await fresh.call('pm_sponsorUserOperation', [anOperation(), { mode: 'SPONSORED' }]);
      await payAt(fresh, anOperation());
      const promised = await fresh.usage.reservations(31337);
      expect(promised).toHaveLength(1);
      expect(promised[0]?.promises.map(({ mode, token }) => [mode, token])).toEqual([
        ['ERC20', usdx.address.toLowerCase()],
        ['SPONSORED', undefined],
      ]);
    } finally {
      await fresh.stop();
    }
  });

  test.each([
    ['a barred sender', 'SENDER_BARRED', 50_000],
    ['an account that has promised its part of the budget', 'TOKEN_EXPOSURE_FULL', undefined],
  ])('%s is refused before anything is simulated, also without limits', async (_name, reason, loss) => {
    const fresh = await startRpc({ chain: aTokenChain() });
    try {
      const sender = addressOf(0xbad);
      const dear = { sender, maxFeePerGas: '50000000000' };
      expect((await payAt(fresh, anOperation({ ...dear, nonce: 1 }))).body.result).toBeDefined();
      if (loss !== undefined) await mine(fresh, 1n, sender, loss);
      const simulated: unknown[] = [];
      fresh.world.estimate = (request) => {
        simulated.push(request);
        return Promise.resolve(estimated);
      };
      fresh.world.payment = (request) => {
        simulated.push(request);
        return Promise.resolve({ pass: true });
      };
      for (const op of [anOperation, anOperationWithoutLimits]) {
        const { body } = await payAt(fresh, op({ ...dear, nonce: 2 }));
        expect(body.error?.data.reason).toBe(reason);
      }
      expect(simulated).toEqual([]);
      // The control: somebody else without limits is estimated, simulated and served.
      await fresh.put({ paymasterId: 'other', namespace: 'other', keys: [{ sha256: sha256('other') }] });
      const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
      const params = [anOperationWithoutLimits(), mode];
      const served = await fresh.call('pm_sponsorUserOperation', params, { path: rpcPath('other') });
      expect(served.body.result).toBeDefined();
      expect(simulated).toHaveLength(2);
    } finally {
      await fresh.stop();
    }
  });

  test('the bar lasts for a day at least and ends by itself; sponsorship is not touched', async () => {
    const fresh = await startRpc({ chain: aTokenChain() });
    try {
      const reasonNow = async (nonce: number): Promise<string | undefined> => {
        const head = fresh.world.head;
        const now = fresh.clock.now();
        if (head !== undefined) fresh.world.head = { ...head, timestamp: now / 1000, observedAt: now };
        const { body } = await payAt(fresh, anOperation({ nonce }));
        return body.error?.data.reason;
      };
      expect(await reasonNow(1)).toBeUndefined();
      await mine(fresh, 1n, String(anOperation()['sender']), 50_000);
      expect(await reasonNow(2)).toBe('SENDER_BARRED');
      const sponsored = await fresh.call('pm_sponsorUserOperation', [
        anOperation({ nonce: 2 }),
        { mode: 'SPONSORED' },
      ]);
      expect(sponsored.body.result?.['paymasterAndData']).not.toBe('0x');
      fresh.clock.advance(dayMs - 60_000);
      expect(await reasonNow(3)).toBe('SENDER_BARRED');
      fresh.clock.advance(dayMs + 60_000);
      // Balances are two days old by now; that a follower reads them again is not this test's matter.
      expect(await reasonNow(4)).not.toBe('SENDER_BARRED');
    } finally {
      await fresh.stop();
    }
  });

  test('above the daily budget token mode of the contract stops for everybody: -32006 TOKEN_LOSS', async () => {
    const fresh = await startRpc({ chain: aTokenChain() });
    try {
      const thieves = [addressOf(0xbad1), addressOf(0xbad2)];
      for (const sender of thieves) {
        expect((await payAt(fresh, anOperation({ sender, nonce: 1 }))).body.result).toBeDefined();
        await mine(fresh, 1n, sender, parseLossBudget() / 2 + 1);
      }
      const { status, body } = await payAt(fresh, anOperation({ nonce: 3 }));
      expect(status).toBe(400);
      expect(body.error).toMatchObject({ code: -32006, data: { reason: 'TOKEN_LOSS' } });
      expect(body.error?.message).toContain(contract);
      await fresh.put({ version: 'singleton-0.6' });
      expect((await payAt(fresh, anOperation({ nonce: 3 }))).body.result).toBeDefined();
    } finally {
      await fresh.stop();
    }
  });

  test('above the daily budget payments that the contract takes in validation are still served', async () => {
    const profiles = someVersions.map((version) => ({ ...aTokenProfile(version), tokenSecured: true }));
    const fresh = await startRpc({ chain: { ...aTokenChain(), profiles } });
    try {
      const thief = addressOf(0xbad1);
      expect((await payAt(fresh, anOperation({ sender: thief, nonce: 1 }))).body.result).toBeDefined();
      await mine(fresh, 1n, thief, parseLossBudget() + 1);
      expect((await payAt(fresh, anOperation({ nonce: 3 }))).body.error?.data.reason).toBe('TOKEN_LOSS');
      fresh.world.takeable = 10n ** 18n;
      expect((await payAt(fresh, anOperation({ nonce: 3 }))).body.result).toBeDefined();
    } finally {
      await fresh.stop();
    }
  });
});

describe('Pending unsecured payments', () => {
  const others = ['second', 'third'];
  /** Some 0.04 coins at most, of the 0.1 that the contract may lose. */
  const dear = (nonce: number, sender: string): Record<string, unknown> =>
    anOperation({ sender, nonce, maxFeePerGas: '50000000000' });

  async function withOrganisations(chain = aTokenChain()): Promise<RpcHost> {
    const fresh = await startRpc({ chain });
    for (const name of others)
      await fresh.put({ paymasterId: name, namespace: name, keys: [{ sha256: sha256(name) }] });
    return fresh;
  }

  async function ask(at: RpcHost, operation: Record<string, unknown>, key?: string) {
    const mode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };
    const path = key === undefined ? rpcPath() : rpcPath(key);
    const { status, body } = await at.call('pm_sponsorUserOperation', [operation, mode], { path });
    return { status, reason: body.error?.data.reason, error: body.error };
  }

  test('stop an account, then everybody, when the budget is full: -32005 TOKEN_EXPOSURE_FULL, to be tried again', async () => {
    const fresh = await withOrganisations();
    try {
      const [thief, accomplice] = [addressOf(0xbad1), addressOf(0xbad2)];
      expect((await ask(fresh, dear(1, thief))).reason).toBeUndefined();
      // Asking again for the same operation promises nothing more.
      expect((await ask(fresh, dear(1, thief))).reason).toBeUndefined();
      for (const operation of [dear(2, thief), dear(1, accomplice)]) {
        const { status, error } = await ask(fresh, operation);
        expect(status).toBe(429);
        expect(error).toMatchObject({
          code: -32005,
          data: { reason: 'TOKEN_EXPOSURE_FULL', retryable: true, retryAfterSeconds: expect.any(Number) },
        });
      }
      expect((await ask(fresh, dear(1, addressOf(0x600d)), 'second')).reason).toBeUndefined();
      const { error } = await ask(fresh, dear(1, addressOf(0x600e)), 'third');
      expect(error?.data.reason).toBe('TOKEN_EXPOSURE_FULL');
      expect(error?.message).toContain('0.1 coins');
    } finally {
      await fresh.stop();
    }
  });

  test('leave room as soon as they are mined, less what was lost', async () => {
    const fresh = await withOrganisations();
    try {
      const contract = toAddressKey(aTokenProfile('1.1.0').token ?? zeroAddress);
      await ask(fresh, dear(1, addressOf(0xbad)));
      expect((await ask(fresh, dear(1, addressOf(0x600d)))).reason).toBe('TOKEN_EXPOSURE_FULL');
      const [promised] = await fresh.usage.reservations(31337);
      if (promised === undefined) throw new Error('nothing is reserved');
      await settle(fresh, promised.key, { contract, loss: 0 });
      expect((await ask(fresh, dear(1, addressOf(0x600d)))).reason).toBeUndefined();
      const [next] = await fresh.usage.reservations(31337);
      if (next === undefined) throw new Error('nothing is reserved');
      // 0.07 of 0.1 coins are gone for today.
      await settle(fresh, next.key, { contract, loss: 70_000_000 });
      expect((await ask(fresh, dear(1, addressOf(0x600e)))).reason).toBe('TOKEN_EXPOSURE_FULL');
    } finally {
      await fresh.stop();
    }
  });

  test('never make a payment wait that the contract takes in validation', async () => {
    const profiles = someVersions.map((version) => ({ ...aTokenProfile(version), tokenSecured: true }));
    const fresh = await withOrganisations({ ...aTokenChain(), profiles });
    try {
      await ask(fresh, dear(1, addressOf(0xbad)));
      expect((await ask(fresh, dear(1, addressOf(0x600d)))).reason).toBe('TOKEN_EXPOSURE_FULL');
      fresh.world.takeable = 10n ** 18n;
      let demanded: unknown;
      fresh.world.payment = ({ terms }) => {
        demanded = terms.inAdvance;
        return Promise.resolve({ pass: true });
      };
      const operation = dear(1, addressOf(0x600d));
      const { body } = await payAt(fresh, operation);
      expect(demanded).toBe(true);
      const data = String(body.result?.['paymasterAndData']) as `0x${string}`;
      expect(layouts['vendor-1.1.0'].token?.decode(data)).toMatchObject({ inAdvance: true });
    } finally {
      await fresh.stop();
    }
  });

  test.each([
    ['has allowed too little', 1n],
    ['has allowed nothing', 0n],
  ])('are refused where the platform wants none: an account that %s', async (_name, takeable) => {
    const profiles = someVersions.map((version) => ({
      ...aTokenProfile(version),
      tokenSecured: true,
      requireAllowance: true,
    }));
    const fresh = await withOrganisations({ ...aTokenChain(), profiles });
    try {
      fresh.world.takeable = takeable;
      const { error } = await ask(fresh, anOperation());
      expect(error).toMatchObject({ code: -32501, data: { reason: 'TOKEN_ALLOWANCE_REQUIRED' } });
      fresh.world.takeable = 10n ** 18n;
      expect((await ask(fresh, anOperation())).reason).toBeUndefined();
    } finally {
      await fresh.stop();
    }
  });
});

/** The example chain, with this maximum share in percent of an organisation in the platform's deposits and budgets. */
function withShare(organisationShare: number) {
  const chain = aTokenChain();
  return { ...chain, profiles: chain.profiles?.map((profile) => ({ ...profile, organisationShare })) ?? [] };
}

describe('ERC-7677 with a token', () => {
  test('the stub takes nothing in validation, so that a bundler can estimate an account that approves in the same operation', async () => {
    const profiles = someVersions.map((version) => ({ ...aTokenProfile(version), tokenSecured: true }));
    const fresh = await startRpc({ chain: { ...aTokenChain(), profiles } });
    await fresh.put();
    fresh.world.price = () => priced(aPrice());
    try {
      fresh.world.takeable = 10n ** 18n;
      const params = [anOperation(), entryPoints['0.6'], '0x7a69', { token: usdx.address }];
      const { body } = await fresh.call('pm_getPaymasterStubData', params);
      const data = String(body.result?.['paymasterAndData']) as `0x${string}`;
      const { inAdvance } = layouts['vendor-1.1.0'].token?.decode(data) ?? { inAdvance: 'not decoded' };
      expect(inAdvance).toBeUndefined();
    } finally {
      await fresh.stop();
    }
  });

  describe('where the contract looks in validation', () => {
    let fresh: RpcHost;
    beforeAll(async () => {
      const profiles = someVersions.map((version) => ({ ...aTokenProfile(version), tokenSecured: true }));
      fresh = await startRpc({ chain: { ...aTokenChain(), profiles } });
      fresh.world.price = () => priced(aPrice());
    });
    afterAll(() => fresh.stop());

    async function stubOf(version: string, fields: object = {}) {
      await fresh.put({ version });
      const { entryPoint } = aTokenProfile(version);
      const { body } = await fresh.call('pm_getPaymasterStubData', [
        anOperation({ signature: '0x', ...fields }),
        entryPoint,
        '0x7a69',
        { token: usdx.address },
      ]);
      return body.error?.data?.reason ?? (body.result === undefined ? 'no result' : 'answered');
    }
    const plenty = 10n ** 30n;
    const approve = execute(usdx.address, `0x095ea7b3${'00'.repeat(64)}`);

    test.each(['2.0.0', 'hybrid-0.9'])('%s: too few tokens are refused at the stub', async (version) => {
      fresh.world.holdings = () => Promise.resolve({ balance: 0n, allowance: plenty });
      expect(await stubOf(version)).toBe('TOKEN_BALANCE');
      expect(await stubOf(version, { callData: approve })).toBe('TOKEN_BALANCE');
      fresh.world.holdings = () => Promise.resolve({ balance: plenty, allowance: plenty });
      expect(await stubOf(version)).toBe('answered');
    });

    test.each(['2.0.0', 'hybrid-0.9'])(
      '%s: no allowance is refused at the stub, unless the operation may give it itself',
      async (version) => {
        fresh.world.holdings = () => Promise.resolve({ balance: plenty, allowance: 0n });
        expect(await stubOf(version)).toBe('TOKEN_ALLOWANCE');
        expect(await stubOf(version, { callData: approve })).toBe('answered');
        expect(await stubOf(version, { callData: '0x12345678' })).toBe('answered');
        const created = { initCode: addressOf(0xfac) };
        expect(await stubOf(version, created)).toBe('answered');
      },
    );

    test.each(['1.1.0', 'singleton-0.7'])(
      '%s looks after the call, which may bring the tokens: nothing is refused',
      async (version) => {
        fresh.world.holdings = () => Promise.resolve({ balance: 0n, allowance: 0n });
        expect(await stubOf(version)).toBe('answered');
      },
    );

    test('a chain that does not answer refuses nothing yet', async () => {
      fresh.world.holdings = () => Promise.reject(new DomainError('UNAVAILABLE', 'no node answers'));
      expect(await stubOf('2.0.0')).toBe('answered');
    });
  });

  const contexts = [
    ['the mode object', { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } }],
    ['a bare token', { token: usdx.address }],
  ] as const;

  test.each(
    tokenVersions.flatMap((version) => contexts.map(([name, context]) => [version, name, context] as const)),
  )(
    'version %s, context with %s: stub and data have the same fields and lengths',
    async (version, _name, context) => {
      await host.put({ version });
      // The nonce has a key of 192 bits.
      const nonce = `0x${'ab'.repeat(24)}0000000000000001`;
      const params = (fields: object): readonly unknown[] => [
        anOperation({ nonce, ...fields }),
        aTokenProfile(version).entryPoint,
        '0x7a69',
        context,
      ];
      const zeros = { callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0' };
      const stub = await host.call('pm_getPaymasterStubData', params(zeros));
      expect(checked).toEqual([]);
      const data = await host.call('pm_getPaymasterData', params({}));
      const { isFinal, ...fields } = stub.body.result ?? {};
      expect(isFinal).toBe(false);
      const { validUntil, ...result } = data.body.result ?? {};
      expect(validUntil).toBe(someNow / 1000 + 300);
      expect(Object.keys(fields).sort()).toEqual(Object.keys(result).sort());
      for (const [field, value] of Object.entries(fields)) {
        expect(value).toMatch(/^0x[0-9a-f]+$/i);
        expect(String(value)).toHaveLength(String(result[field]).length);
      }
      expect(checked).toHaveLength(1);
      const limits = { callGasLimit: 100_000, verificationGasLimit: 200_000, preVerificationGas: 60_000 };
      const paymasterAndData = packedData(result);
      expect(
        verifyTokenPayment(anOperation({ nonce }), { ...limits, paymasterAndData }, version),
      ).toMatchObject({
        signer: signerAddress,
        token: usdx.address.toLowerCase(),
      });
    },
  );

  test.each([
    ['no token', { mode: 'ERC20' }, -32602, 'FEE_TOKEN_REQUIRED'],
    ['an unsupported token', { token: addressOf(0xabc) }, -32602, 'FEE_TOKEN_UNSUPPORTED'],
    ['a token that is not an address', { token: 7 }, -32602, 'INVALID_INPUT'],
  ])('%s is refused at the stub stage already, under HTTP 200', async (_name, context, code, reason) => {
    const { status, body } = await host.call('pm_getPaymasterStubData', [
      anOperation(),
      entryPoints['0.6'],
      '0x7a69',
      context,
    ]);
    expect(status).toBe(200);
    expect(body.error).toMatchObject({ code, data: { reason } });
  });

  test('calculateGasLimits in the second call: zero limits are replaced, and answered in hex', async () => {
    host.world.estimate = () => Promise.resolve(estimated);
    const zeros = { callGasLimit: '0x0', verificationGasLimit: '0x0', preVerificationGas: '0x0' };
    const operation = anOperation(zeros);
    const params = [
      operation,
      entryPoints['0.6'],
      '0x7a69',
      { calculateGasLimits: true, token: eurx.address },
    ];
    const { body } = await host.call('pm_getPaymasterData', params);
    expect(body.result?.['callGasLimit']).toBe('0x15f91');
    expect(body.result?.['verificationGasLimit']).toMatch(/^0x[1-9a-f]/);
    expect(verifyTokenPayment(operation, body.result)).toMatchObject({
      signer: signerAddress,
      token: eurx.address.toLowerCase(),
    });
  });
});

describe('pm_sponsorUserOperation in the form [userOp, entryPoint, context] with a token', () => {
  test('signs a token payment', async () => {
    const operation = anOperation({ nonce: 77 });
    const { status, body } = await host.call('pm_sponsorUserOperation', [
      operation,
      entryPoints['0.6'],
      { token: usdx.address },
    ]);
    expect(status).toBe(200);
    expect(verifyTokenPayment(operation, body.result).signer).toBe(signerAddress);
  });

  test('a refusal is an error under HTTP 200', async () => {
    host.world.payment = () => Promise.resolve(refuse('TOKEN_BALANCE', 'holds 5'));
    const { status, body } = await host.call('pm_sponsorUserOperation', [
      anOperation(),
      entryPoints['0.6'],
      { token: usdx.address },
    ]);
    expect(status).toBe(200);
    expect(body.error).toMatchObject({ code: -32501, data: { reason: 'TOKEN_BALANCE' } });
  });
});

function pay(
  operation: Readonly<Record<string, unknown>>,
  params: object = {},
  token: string = usdx.address,
) {
  return payAt(host, operation, params, token);
}

function payAt(
  at: RpcHost,
  operation: Readonly<Record<string, unknown>>,
  params: object = {},
  feeTokenAddress: string = usdx.address,
): Promise<RpcAnswer> {
  const mode = { mode: 'ERC20', ...params, tokenInfo: { feeTokenAddress } };
  return at.call('pm_sponsorUserOperation', [operation, mode]);
}
