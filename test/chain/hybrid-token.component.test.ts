import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { layouts } from '../../core/paymaster/layouts.js';
import { toAddressKey } from '../../core/units/address.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { balanceOf, sponsorBalance } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { aFickleWallet, unlimited } from './support/fickle-wallet.js';
import { handleOp, handleOps, refusalOf } from './support/handle-ops.js';
import {
  chargesIn,
  owedIn,
  signTokenPayment,
  tokenAbi,
  tokenPaymentsIn,
  type TokenTerms,
} from './support/hybrid.js';
import { deployToken, mint } from './support/tokens.js';
import { buildUserOp, signByAccount, sponsorUserOp, type SignedUserOp } from './support/user-op.js';

const counter = new Interface(['function increment()', 'function fail()']);
/** 3,000 tokens of 6 decimals per native coin. */
const rate = 3_000_000_000n;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(['1.1.0', '2.0.0', 'hybrid-0.9'] as const)('token mode of profile %s', (version) => {
  test.each([
    { name: 'an approval inside the operation pays after the call', approval: 'in-call' },
    { name: 'an approval from before pays in validation', approval: 'before' },
  ] as const)('$name: exact tokens to the token account, gas out of its deposit', async ({ approval }) => {
    const { profile, account } = await holder(version, 1_000_000_000n);
    if (approval === 'before') await approve(profile, account, 1_000_000_000n);
    const before = await books(profile, account);
    const calls =
      approval === 'before' ? [call('increment')] : [approveCall(profile, 1_000_000_000n), call('increment')];
    const signed = await payWithTokens(profile, account, await buildUserOp(account, calls), {
      markup: 1_100_000,
    });
    const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
    const after = await books(profile, account);

    expect(event.success).toBe(true);
    const [charged] = chargesIn(logs);
    const [paid] = tokenPaymentsIn(logs);
    const charge = charged?.charge ?? 0n;
    expect(charged?.payer).toBe(devChain.deployments.treasury);
    expect(charge).toBe(before.tokenAccount - after.tokenAccount);
    expect(charge).toBeGreaterThanOrEqual(event.actualGasCost);
    // Tokens are computed for what the payment may cost at most; the token account pays what it did cost.
    const gasCost = paid?.gasCost ?? 0n;
    expect(gasCost).toBeGreaterThanOrEqual(charge);
    expect(paid?.tokenCharge).toBe(ceilDivide(gasCost * rate * 1_100_000n, 10n ** 24n));
    expect(before.tokens - after.tokens).toBe(paid?.tokenCharge);
    expect(after.treasuryTokens - before.treasuryTokens).toBe(paid?.tokenCharge);
    expect(after.contractTokens).toBe(0n);
    expect(after.sponsor).toBe(before.sponsor);
  });

  test('a call that succeeds and pays nothing costs the token account its gas alone, and is undone on 0.6', async () => {
    const { profile, account } = await holder(version, 1_000_000_000n);
    const before = await books(profile, account);
    const signed = await payWithTokens(profile, account, await buildUserOp(account, [call('increment')]));
    const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
    const after = await books(profile, account);
    const isUndone = profile.entryPointVersion === '0.6';
    expect(event.success).toBe(!isUndone);
    expect(after).toMatchObject({ tokens: before.tokens, sponsor: before.sponsor });
    const [charged] = chargesIn(logs);
    expect(charged?.charge).toBe(before.tokenAccount - after.tokenAccount);
    // Far less than validation has taken, which is the gas of every limit at the highest price.
    expect(charged?.charge).toBeLessThan((event.actualGasCost * 3n) / 2n);
    expect(tokenPaymentsIn(logs)).toMatchObject([{ tokenCharge: 0n }]);
    const [owed] = owedIn(logs);
    expect(owed?.owed).toBe(owed?.due);
    expect(owed?.due).toBe(ceilDivide((tokenPaymentsIn(logs)[0]?.gasCost ?? 0n) * rate, 10n ** 18n));
    const counts = new Interface(['function counts(address account) view returns (uint256)']);
    const data = encodeWith(counts, 'counts', [account.address]);
    const address = devChain.deployments.sponsoredContract.address;
    expect(BigInt(await devChain.chain.call({ to: address, data }))).toBe(isUndone ? 1n : 2n);
  });

  test.each([
    { name: 'that allows less than is due', allowed: 1_000n, kept: unlimited },
    { name: 'that moves its tokens away but for a few', allowed: unlimited, kept: 1_000n },
  ])('a wallet $name pays what it has, and the rest is owed', async ({ allowed, kept }) => {
    const profile = devChain.profile(version);
    const { feeToken } = devChain.deployments;
    const salt = Number(allowed === unlimited) + 1;
    const wallet = await aFickleWallet(devChain, {
      version: profile.entryPointVersion,
      token: feeToken.address,
      paymaster: profile.sponsorship,
      salt,
    });
    await mintTokens(wallet, 1_000_000_000n);
    await wallet.intend({ allowed, kept });
    const before = await books(profile, wallet);
    const op = await buildUserOp(wallet, [], { callData: await wallet.encodeCalls([]) });
    const signed = await payWithTokens(profile, wallet, op);
    const { logs } = await handleOp(devChain, profile.entryPointVersion, signed);
    const after = await books(profile, wallet);
    const undone = profile.entryPointVersion === '0.6';
    const paid = undone ? 0n : 1_000n;
    expect(after.treasuryTokens - before.treasuryTokens).toBe(paid);
    expect(tokenPaymentsIn(logs)).toMatchObject([{ tokenCharge: paid }]);
    const [owed] = owedIn(logs);
    expect((owed?.due ?? 0n) - (owed?.owed ?? 0n)).toBe(paid);
    expect(chargesIn(logs)).toMatchObject([{ charge: before.tokenAccount - after.tokenAccount }]);
  });

  test.each(['hungry', 'exploding', 'refusing', 'frozen', 'idle'] as const)(
    'a token that is %s costs the token account at most the gas, and hurts no other operation of the bundle',
    async (behaviour) => {
      const profile = devChain.profile(version);
      const token = await deployToken(devChain, 6, behaviour);
      const wallet = await aFickleWallet(devChain, {
        version: profile.entryPointVersion,
        token,
        paymaster: profile.sponsorship,
        salt: 9,
      });
      await mint(devChain, token, wallet.address, 1_000_000_000n);
      await wallet.intend({});
      const other = await holder(version, 1_000_000_000n);
      await approve(profile, other.account, 1_000_000_000n);
      const before = await books(profile, other.account);
      const ops = [
        await payWithTokens(
          profile,
          wallet,
          await buildUserOp(wallet, [], { callData: await wallet.encodeCalls([]) }),
          { token },
        ),
        await payWithTokens(profile, other.account, await buildUserOp(other.account, [call('increment')])),
      ];
      const { events, logs } = await handleOps(devChain, profile.entryPointVersion, ops);
      const after = await books(profile, other.account);
      expect(events[1]).toMatchObject({ success: true });
      const charges = chargesIn(logs);
      expect(charges).toHaveLength(2);
      expect(charges[0]!.charge + charges[1]!.charge).toBe(before.tokenAccount - after.tokenAccount);
      // Below it, other sponsors would pay.
      expect(charges[0]!.charge).toBeGreaterThanOrEqual(events[0]!.actualGasCost);
      expect(charges[0]!.charge).toBeLessThan((events[0]!.actualGasCost * 3n) / 2n);
      expect(owedIn(logs)).toHaveLength(1);
    },
  );

  test('a call that fails is charged like a good one when the approval is from before', async () => {
    const { profile, account } = await holder(version, 1_000_000_000n);
    await approve(profile, account, 1_000_000_000n);
    const before = await books(profile, account);
    const signed = await payWithTokens(profile, account, await buildUserOp(account, [call('fail')]));
    const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
    expect(event.success).toBe(false);
    const after = await books(profile, account);
    expect(before.tokens - after.tokens).toBe(tokenPaymentsIn(logs)[0]?.tokenCharge);
    expect(before.tokens - after.tokens).toBeGreaterThan(0n);
  });

  test('a failing call without an approval is mined, reported as unpaid, and settled', async () => {
    const { profile, account } = await holder(version, 1_000_000_000n);
    const before = await books(profile, account);
    const signed = await payWithTokens(profile, account, await buildUserOp(account, [call('fail')]));
    const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
    const after = await books(profile, account);
    expect(event.success).toBe(false);
    expect(tokenPaymentsIn(logs).map(({ tokenCharge }) => tokenCharge)).toEqual([0n]);
    expect(chargesIn(logs)).toMatchObject([{ charge: before.tokenAccount - after.tokenAccount }]);
  });

  test('an account with too few tokens is refused in validation', async () => {
    const { profile, account } = await holder(version, 5n);
    const signed = await payWithTokens(profile, account, await buildUserOp(account, [call('increment')]));
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toMatch(/^AA33 reverted/);
  });

  test.each<{ name: string; terms: Partial<TokenTerms> }>([
    { name: 'a rate of 0', terms: { rate: 0n } },
    { name: 'a markup below 1,000,000', terms: { markup: 999_999 } },
    { name: 'a markup above 2,000,000', terms: { markup: 2_000_001 } },
  ])('$name is refused', async ({ terms }) => {
    const { profile, account } = await holder(version, 1_000_000_000n);
    const signed = await payWithTokens(
      profile,
      account,
      await buildUserOp(account, [call('increment')]),
      terms,
    );
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toMatch(/^AA33 reverted/);
  });

  test('changed token terms are AA34', async () => {
    const { profile, account } = await holder(version, 1_000_000_000n);
    const op = await buildUserOp(account, [call('increment')]);
    const { paymasterAndData } = await payWithTokens(profile, account, op);
    const cheaper = rate.toString(16).padStart(64, '0');
    expect(paymasterAndData).toContain(cheaper);
    const changed =
      `0x${paymasterAndData.slice(2).replace(cheaper, 1n.toString(16).padStart(64, '0'))}` as const;
    const signed = await signByAccount(account, op, changed);
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('AA34 signature error');
  });
});

// EntryPoint 0.6 bounds account and paymaster, and then postOp, by verificationGasLimit, and holds it back three times.
test('on 0.6 an account must hold what all that may be used costs: exactly the most that is quoted', async () => {
  const { profile, account } = await holder('1.1.0', 0n);
  const op = await buildUserOp(account, [call('increment')]);
  const { token } = layouts[profile.layout];
  if (token === undefined) throw new Error('the layout has no token mode');
  const most = token.maxTokenCharge(op, {
    chainId: devChain.chainId,
    paymaster: profile.sponsorship,
    token: toAddressKey(devChain.deployments.feeToken.address),
    exchangeRate: rate,
    priceMarkup: 1_000_000,
    validUntil: 1,
    validAfter: 0,
    options: {},
  });
  const gas = op.callGasLimit + 3n * op.verificationGasLimit + op.preVerificationGas + 60_000n;
  expect(most).toBe(ceilDivide(gas * op.maxFeePerGas * rate, 10n ** 18n));
  const signed = await payWithTokens(profile, account, op);
  await mintTokens(account, most - 1n);
  expect(await refusalOf(devChain, '0.6', [signed])).toMatch(/^AA33 reverted/);
  await mintTokens(account, 1n);
  expect(await refusalOf(devChain, '0.6', [signed])).toBe('accepted');
});

/** An account that exists and holds this many token base units. */
async function holder(
  version: string,
  tokens: bigint,
): Promise<{ profile: DevProfile; account: TestAccount }> {
  const profile = devChain.profile(version);
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const op = await buildUserOp(account, [call('increment')]);
  await handleOp(devChain, profile.entryPointVersion, await sponsorUserOp(devChain, profile, account, op));
  await mintTokens(account, tokens);
  return { profile, account };
}

async function mintTokens(account: TestAccount, tokens: bigint): Promise<void> {
  const data = encodeWith(tokenAbi, 'mint', [account.address, tokens]);
  await devChain.transactor.send('mint', { to: devChain.deployments.feeToken.address, data });
}

async function approve(profile: DevProfile, account: TestAccount, amount: bigint): Promise<void> {
  const op = await buildUserOp(account, [approveCall(profile, amount)]);
  const signed = await sponsorUserOp(devChain, profile, account, op);
  const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
  expect(event.success).toBe(true);
}

async function payWithTokens(
  profile: DevProfile,
  account: TestAccount,
  op: FinalUserOperation,
  overrides: Partial<TokenTerms> = {},
): Promise<SignedUserOp> {
  const terms = {
    validUntil: (await devChain.time()) + 3_600,
    validAfter: 0,
    token: devChain.deployments.feeToken.address,
    rate,
    markup: 1_000_000,
    ...overrides,
  };
  return signByAccount(account, op, await signTokenPayment(devChain, profile, op, terms));
}

async function books({ sponsorship }: DevProfile, account: TestAccount) {
  const { treasury, defaultFunding, feeToken } = devChain.deployments;
  return {
    tokens: await balanceOf(devChain, feeToken.address, account.address),
    treasuryTokens: await balanceOf(devChain, feeToken.address, treasury),
    contractTokens: await balanceOf(devChain, feeToken.address, sponsorship),
    tokenAccount: await sponsorBalance(devChain, sponsorship, treasury),
    sponsor: await sponsorBalance(devChain, sponsorship, defaultFunding),
  };
}

function call(method: 'increment' | 'fail'): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, method, []) };
}

function approveCall({ sponsorship }: DevProfile, amount: bigint): Call {
  const data = encodeWith(tokenAbi, 'approve', [sponsorship, amount]);
  return { to: devChain.deployments.feeToken.address, data };
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
