import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { tokensFor } from '../../core/paymaster/token-price.js';
import { userOpHash } from '../../core/entry-point/user-op-hash.js';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import { bytesToHex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, handleOps, type Mined } from './support/handle-ops.js';
import {
  approval,
  mint,
  payInTokens,
  tokenCodecOf,
  tokenContract,
  tokenProfiles,
  tokenTerms,
} from './support/tokens.js';
import { buildUserOp, sponsorUserOp, type SignedUserOp } from './support/user-op.js';

const counter = new Interface(['function increment()']);
const plenty = 10n ** 12n;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(tokenProfiles)('profile %s', (version) => {
  test('an account is created, approves and pays in one operation, then pays from what it approved', async () => {
    const profile = devChain.profile(version);
    const token = devChain.deployments.feeToken.address;
    const account = await buildAccount(devChain, profile.entryPointVersion);
    await mint(devChain, token, account.address, plenty);
    for (const calls of [[approval(token, profile, plenty), increment()], [increment()]]) {
      const op = await buildUserOp(account, calls);
      const terms = await tokenTerms(devChain, profile, { priceMarkup: 1_100_000 });
      const paid = await pay(account, op, terms);
      expect(paid.event.success).toBe(true);
      expect(paid.treasuryGain).toBe(paid.accountLoss);
      expect(paid.charge).toEqual({ token: toAddressKey(token), amount: paid.accountLoss });
      const cost = tokensFor(paid.event.actualGasCost, terms.exchangeRate, terms.priceMarkup);
      expect(paid.accountLoss).toBeGreaterThanOrEqual(cost);
      expect(paid.accountLoss).toBeLessThanOrEqual(tokenCodecOf(profile).maxTokenCharge(op, terms));
    }

    async function pay(payer: TestAccount, op: FinalUserOperation, terms: TokenTerms) {
      const treasury = devChain.deployments.treasury;
      const balances = () =>
        Promise.all([balanceOf(devChain, token, payer.address), balanceOf(devChain, token, treasury)]);
      const before = await balances();
      const signed = await payInTokens(devChain, profile, payer, op, terms);
      const mined = await handleOp(devChain, profile.entryPointVersion, signed);
      const after = await balances();
      return {
        event: mined.event,
        accountLoss: before[0] - after[0],
        treasuryGain: after[1] - before[1],
        charge: chargeOf(mined, signed, terms.paymaster),
      };
    }

    function chargeOf({ logs }: Mined, { op, paymasterAndData }: SignedUserOp, paymaster: Address) {
      const entryPoint = profile.entryPoint;
      const target = { version: profile.entryPointVersion, entryPoint, chainId: devChain.chainId };
      const hash = userOpHash(op, paymasterAndData, target) ?? '0x';
      return tokenCodecOf(profile).chargeOf(logs, { paymaster: toAddressKey(paymaster), userOpHash: hash });
    }
  });

  test('of two payments in one bundle each is told from the other', async () => {
    const profile = devChain.profile(version);
    const token = devChain.deployments.feeToken.address;
    const paymaster = toAddressKey(tokenContract(profile));
    const payers = await Promise.all([1, 2].map(() => buildAccount(devChain, profile.entryPointVersion)));
    const signed: SignedUserOp[] = [];
    for (const [index, payer] of payers.entries()) {
      await mint(devChain, token, payer.address, plenty);
      const calls = [approval(token, profile, plenty), ...Array.from({ length: index }, increment)];
      const terms = await tokenTerms(devChain, profile);
      signed.push(await payInTokens(devChain, profile, payer, await buildUserOp(payer, calls), terms));
    }
    const { logs, events } = await handleOps(devChain, profile.entryPointVersion, signed);
    expect(events.map(({ success }) => success)).toEqual([true, true]);
    for (const [index, payer] of payers.entries()) {
      const userOpHash = events[index]?.userOpHash ?? '0x';
      const left = await balanceOf(devChain, token, payer.address);
      const charge = tokenCodecOf(profile).chargeOf(logs, { paymaster, userOpHash });
      expect(charge).toEqual({ token: toAddressKey(token), amount: plenty - left });
    }
  });

  test("our hash equals the contract's own getHash, with every option that the layout has", async () => {
    const profile = devChain.profile(version);
    const codec = tokenCodecOf(profile);
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const op = await buildUserOp(account, [increment()]);
    const terms = await tokenTerms(devChain, profile, { priceMarkup: 1_234_567 });
    const recipient = parseAddress(`0x${'71'.repeat(20)}`);
    const variants: readonly TokenTerms['options'][] = [
      terms.options,
      { ...terms.options, constantFee: 55n },
      { ...terms.options, preFund: 777n, recipient },
      { ...terms.options, preFund: 1n, constantFee: 2n, recipient },
    ];
    for (const options of variants)
      for (const each of [op, { ...op, initCode: '0x' as const, nonce: (7n << 64n) + 5n }]) {
        const data = codec.getHashCall(each, { ...terms, options });
        const answer = await devChain.chain.call({ to: terms.paymaster, data });
        expect(bytesToHex(codec.hash(each, { ...terms, options }))).toBe(answer);
      }
  });

  test('the contract knows our signer and nobody else', async () => {
    const profile = devChain.profile(version);
    const ask = async (signer: Address) => {
      const { data, isAuthorised } = tokenCodecOf(profile).signerCall(signer);
      return isAuthorised(await devChain.chain.call({ to: profile.token ?? '', data }));
    };
    expect(await ask(parseAddress(devChain.sponsorSigner.address))).toBe(true);
    expect(await ask(devChain.deployments.treasury)).toBe(false);
  });
});

describe.each(['singleton-0.6', 'singleton-0.7', 'singleton-0.8'] as const)(
  'options of profile %s',
  (version) => {
    const recipient = parseAddress(`0x${'72'.repeat(20)}`);

    test.each<{ name: string; options: Omit<TokenTerms['options'], 'treasury'> }>([
      { name: 'a constant fee', options: { constantFee: 55_555n } },
      { name: 'a part taken in validation', options: { preFund: 100_000n } },
      { name: 'the rest of the worst case to somebody else', options: { recipient } },
      { name: 'all of them', options: { constantFee: 7n, preFund: 100_000n, recipient } },
    ])('$name: as signed, and within the bound', async ({ options }) => {
      const profile = devChain.profile(version);
      const token = devChain.deployments.feeToken.address;
      const { treasury } = devChain.deployments;
      const account = await buildAccount(devChain, profile.entryPointVersion);
      const first = await buildUserOp(account, [approval(token, profile, plenty)]);
      await handleOp(
        devChain,
        profile.entryPointVersion,
        await sponsorUserOp(devChain, profile, account, first),
      );
      await mint(devChain, token, account.address, plenty);
      const terms = await tokenTerms(devChain, profile);
      const all = { ...terms, options: { ...terms.options, ...options } };
      const op = await buildUserOp(account, [increment()]);
      const balances = () =>
        Promise.all([account.address, treasury, recipient].map((each) => balanceOf(devChain, token, each)));

      const [payer = 0n, platform = 0n, other = 0n] = await balances();
      const signed = await payInTokens(devChain, profile, account, op, all);
      const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
      const [payerAfter = 0n, platformAfter = 0n, otherAfter = 0n] = await balances();

      expect(event.success).toBe(true);
      const codec = tokenCodecOf(profile);
      const most = codec.maxTokenCharge(op, all);
      const earned = platformAfter - platform;
      const cost = tokensFor(event.actualGasCost, all.exchangeRate, all.priceMarkup);
      expect(earned).toBeGreaterThanOrEqual(cost + (options.constantFee ?? 0n));
      expect(payer - payerAfter).toBe(earned + otherAfter - other);
      expect(payer - payerAfter).toBeLessThanOrEqual(most);
      // With a recipient the account pays the worst case, whatever was used.
      const prefund = tokensFor(codec.need(op, all.options).entryPoint, all.exchangeRate, all.priceMarkup);
      if (options.recipient !== undefined) expect(payer - payerAfter).toBe(prefund);
      const paymaster = toAddressKey(all.paymaster);
      const charge = codec.chargeOf(logs, { paymaster, userOpHash: event.userOpHash });
      expect(charge?.amount).toBe(earned);
    });
  },
);

function increment(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}
