import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { tokensFor } from '../../core/paymaster/token-price.js';
import { userOpHash } from '../../core/paymaster/user-op-hash.js';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import { bytesToHex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, type Mined } from './support/handle-ops.js';
import { approval, mint, payInTokens, tokenCodecOf, tokenProfiles, tokenTerms } from './support/tokens.js';
import { buildUserOp, type SignedUserOp } from './support/user-op.js';

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

function increment(): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
}
