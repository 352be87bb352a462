import { describe, expect, test } from '@jest/globals';
import { Wallet } from 'ethers';
import { DomainError } from '../../core/errors.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { addressOf } from '../build/configs.js';
import { aTokenChain, usdx } from '../build/fee-tokens.js';
import { anOperation, execute } from '../build/operations.js';
import { signerAddress, verifySponsorship, verifyTokenPayment, type RpcAnswer } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

// An EIP-7702 operation runs the code of its delegate, so the delegate has to be one that the chain's platform trusts.

const trusted = addressOf(0x7702);
const host = useRpc({
  chain: { ...aTokenChain(), delegates: [trusted] },
  paymaster: { version: 'singleton-0.8' },
});

const sponsoredMode = { mode: 'SPONSORED' };
const tokenMode = { mode: 'ERC20', tokenInfo: { feeTokenAddress: usdx.address } };

const owner = new Wallet(`0x${'77'.repeat(32)}`);

function delegated(delegate: string, overrides: object = {}) {
  const { initCode: _none, ...operation } = anOperation();
  return {
    ...operation,
    sender: owner.address,
    factory: '0x7702',
    factoryData: '0x',
    eip7702Auth: authorized(owner, delegate),
    ...overrides,
  };
}

function authorized(by: Wallet, address: string, chainId = 31_337n, nonce = 0n) {
  const { r, s, yParity } = by.authorizeSync({ address, chainId, nonce }).signature;
  return { address, chainId: `0x${chainId.toString(16)}`, nonce: `0x${nonce.toString(16)}`, r, s, yParity };
}

/** What accounts have on chain is read once for a block. */
function nextBlock(): void {
  const { head } = host.world;
  if (head !== undefined) host.world.head = { ...head, number: head.number + 1 };
}

const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The same signature with s in the upper half, which no chain takes over. */
function malleated() {
  const { s, yParity, ...rest } = authorized(owner, trusted);
  return { ...rest, s: `0x${(order - BigInt(s)).toString(16)}`, yParity: 1 - yParity };
}

describe('an EIP-7702 operation on EntryPoint 0.8', () => {
  test('with a trusted delegate is sponsored, and may pay in tokens', async () => {
    const operation = delegated(trusted);
    const data = await host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
    expect(verifySponsorship(operation, data.body.result, 'singleton-0.8').signer).toBe(signerAddress);
    const payment = await host.call('pm_sponsorUserOperation', [operation, tokenMode]);
    expect(verifyTokenPayment(operation, payment.body.result, 'singleton-0.8').signer).toBe(signerAddress);
  });

  test.each([['another delegate', delegated(addressOf(0xbad))]])(
    'with %s is refused in every form',
    async (_name, operation) => {
      const sponsorship = await host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
      expect(sponsorship.body.result).toMatchObject({
        paymasterAndData: '0x',
        reason: 'DELEGATE_NOT_ALLOWED',
      });
      const form = [operation, entryPoints['0.8'], '0x7a69'];
      const errors: readonly RpcAnswer[] = await Promise.all([
        host.call('pm_sponsorUserOperation', [operation, tokenMode]),
        host.call('pm_getFeeQuoteOrData', [operation, { mode: 'ERC20' }]),
        host.call('pm_getPaymasterStubData', [...form, null]),
        host.call('pm_getPaymasterData', [...form, null]),
        host.call('pm_getPaymasterStubData', [...form, { token: usdx.address }]),
        host.call('pm_getPaymasterData', [...form, { token: usdx.address }]),
      ]);
      for (const { body } of errors)
        expect(body.error).toMatchObject({ code: -32501, data: { reason: 'DELEGATE_NOT_ALLOWED' } });
    },
  );

  describe('without an authorization', () => {
    const forms = [
      { factory: '0x7702', factoryData: '0x' },
      { factory: '0x7702000000000000000000000000000000000000', factoryData: '0x' },
      { factory: '0x7702000000000000000000000000000000000000', factoryData: '0x1234' },
      { factory: undefined, factoryData: undefined, initCode: '0x7702' },
      { factory: undefined, factoryData: undefined, initCode: `0x7702${'00'.repeat(18)}` },
      { factory: undefined, factoryData: undefined, initCode: '0x7702000000' },
    ];
    const unshown = (form: object) => delegated(trusted, { eip7702Auth: undefined, ...form });
    const delegatedTo = (delegate: string) => () =>
      Promise.resolve(`0xef0100${delegate.slice(2).toLowerCase()}` as const);

    test.each(forms)('$factory $factoryData $initCode: the delegate on chain decides', async (form) => {
      const operation = unshown(form);
      const ask = () => host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
      const inTokens = () => host.call('pm_sponsorUserOperation', [operation, tokenMode]);
      nextBlock();
      host.world.code = delegatedTo(addressOf(0xbad));
      expect((await ask()).body.result?.['reason']).toBe('DELEGATE_NOT_ALLOWED');
      expect((await inTokens()).body.error?.data.reason).toBe('DELEGATE_NOT_ALLOWED');
      // Known for this block.
      host.world.code = delegatedTo(trusted);
      expect((await ask()).body.result?.['reason']).toBe('DELEGATE_NOT_ALLOWED');
      nextBlock();
      expect(verifySponsorship(operation, (await ask()).body.result, 'singleton-0.8').signer).toBe(
        signerAddress,
      );
      expect(verifyTokenPayment(operation, (await inTokens()).body.result, 'singleton-0.8').signer).toBe(
        signerAddress,
      );
    });

    test.each(['0x', '0x6001', '0xef0100', `0xef0100${'11'.repeat(21)}`] as const)(
      'an account with the code %s is refused',
      async (code) => {
        nextBlock();
        host.world.code = () => Promise.resolve(code);
        const { body } = await host.call('pm_sponsorUserOperation', [unshown({}), sponsoredMode]);
        expect(body.result?.['reason']).toBe('DELEGATE_NOT_ALLOWED');
      },
    );

    test('an operation that is refused anyway costs the chain nothing', async () => {
      nextBlock();
      host.world.code = () => Promise.reject(new Error('nobody may ask the chain'));
      const refused = { ...unshown({}), callData: execute(addressOf(0xdead)) };
      const { body } = await host.call('pm_sponsorUserOperation', [refused, sponsoredMode]);
      expect(body.result?.['reason']).toBe('CONTRACT_NOT_REGISTERED');
    });

    test('a chain that does not answer is an error that may be tried again', async () => {
      nextBlock();
      host.world.code = () => Promise.reject(new DomainError('UNAVAILABLE', 'no node answers'));
      const { body } = await host.call('pm_sponsorUserOperation', [unshown({}), sponsoredMode]);
      expect(body.error?.data).toMatchObject({ retryable: true });
    });
  });

  test.each([
    { name: 'r and s of 1', auth: { r: '0x1', s: '0x1' }, says: /signed by/ },
    { name: 'r of 0', auth: { r: '0x0' }, says: /r must be/ },
    { name: 'r of the order', auth: { r: `0x${order.toString(16)}` }, says: /r must be/ },
    { name: 's of 0', auth: { s: '0x0' }, says: /s must be/ },
    { name: 's in the upper half', auth: malleated(), says: /s must be/ },
    {
      name: 'the other parity',
      auth: { yParity: 1 - authorized(owner, trusted).yParity },
      says: /signed by|nobody/,
    },
    { name: 'the signature of another nonce', auth: { nonce: '0x1' }, says: /signed by/ },
    { name: 'the signature of another chain', auth: { chainId: '0x0' }, says: /signed by/ },
    {
      name: 'the signature of somebody else',
      auth: authorized(new Wallet(`0x${'78'.repeat(32)}`), trusted),
      says: /signed by/,
    },
  ])(
    'with an authorization that has $name is refused, and explain says what is wrong',
    async ({ auth, says }) => {
      const eip7702Auth = { ...authorized(owner, trusted), ...auth };
      const operation = delegated(trusted, { eip7702Auth });
      const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
      expect(body.result).toMatchObject({ paymasterAndData: '0x', reason: 'AUTHORIZATION_INVALID' });
      const inTokens = await host.call('pm_sponsorUserOperation', [operation, tokenMode]);
      expect(inTokens.body.error?.data.reason).toBe('AUTHORIZATION_INVALID');
      const headers = { authToken: 'acme-token-0123456789' };
      const explained = await host.call('pm_explainSponsorship', [operation, sponsoredMode], { headers });
      expect(explained.body.result?.['steps']).toContainEqual({
        step: 'authorization',
        verdict: 'refuse',
        reason: 'AUTHORIZATION_INVALID',
        detail: expect.stringMatching(says),
        remedy: expect.any(String),
      });
    },
  );

  test('with an authorization for every chain is sponsored', async () => {
    const operation = delegated(trusted, { eip7702Auth: authorized(owner, trusted, 0n) });
    const { body } = await host.call('pm_sponsorUserOperation', [operation, sponsoredMode]);
    expect(verifySponsorship(operation, body.result, 'singleton-0.8').signer).toBe(signerAddress);
  });

  test('may have a placeholder while a stub or a quote is asked for, as viem sends it', async () => {
    const placeholder = {
      r: '0xfffffffffffffffffffffffffffffff000000000000000000000000000000000',
      s: '0x7aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
      yParity: '0x1',
    };
    const eip7702Auth = { ...authorized(owner, trusted), ...placeholder };
    const form = [delegated(trusted, { eip7702Auth }), entryPoints['0.8'], '0x7a69'];
    const answers: readonly RpcAnswer[] = await Promise.all([
      host.call('pm_getPaymasterStubData', [...form, null]),
      host.call('pm_getPaymasterStubData', [...form, { token: usdx.address }]),
      host.call('pm_getFeeQuoteOrData', [form[0], { mode: 'ERC20' }]),
    ]);
    for (const { body } of answers) expect(body.error).toBeUndefined();
  });

  test('is not read on an earlier EntryPoint', async () => {
    await host.put({ version: 'singleton-0.7' });
    const { body } = await host.call('pm_sponsorUserOperation', [delegated(trusted), sponsoredMode]);
    expect(body.error?.code).toBe(-32602);
    expect(body.error?.message).toContain('params[0].factory');
    await host.put();
  });
});
