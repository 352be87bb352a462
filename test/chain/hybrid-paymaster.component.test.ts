import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { CallReverted } from '../../core/chain/chain.js';
import { userOperation06, userOperation06Values } from '../../core/entry-point/unpacked.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { parseAddress, toAddressKey, type Address } from '../../core/units/address.js';
import { parseEther } from '../../core/units/wei.js';
import type { Hex } from '../../core/units/hex.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { createTransactor, type Transactor } from '../../standalone/dev-chain/transactor.js';
import { buildAccount, encodeWith, type Call } from './support/account.js';
import { balanceOf, sponsorBalance } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, handleOps, refusalOf } from './support/handle-ops.js';
import { chargesIn, hybridAbi } from './support/hybrid.js';
import { buildTerms, buildUserOp, signByAccount, sponsorUserOp } from './support/user-op.js';
import { newWallet } from '../support/new-wallet.js';

const counter = new Interface(['function increment()', 'function fail()']);

/** The builds that name the markup in the data. */
const later = ['2.0.0', 'hybrid-0.9'] as const;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

describe.each(['1.1.0', '2.0.0', 'hybrid-0.9'] as const)('our contract as profile %s', (version) => {
  test('says what a service must check at activation', async () => {
    const { sponsorship, entryPoint, options } = devChain.profile(version);
    const ask = async (method: string) =>
      hybridAbi.decodeFunctionResult(
        method,
        await devChain.chain.call({ to: sponsorship, data: encodeWith(hybridAbi, method, []) }),
      )[0];
    expect(await ask('entryPoint')).toBe(entryPoint);
    expect(await ask('verifyingSigner')).toBe(devChain.sponsorSigner.address);
    expect(await ask('owner')).toBe(devAccounts.deployer.address);
    expect(await ask('tokenAccount')).toBe(devChain.deployments.treasury);
    expect(await ask('minDeposit')).toBe(0n);
    expect(await ask('unaccountedGas')).toBe(BigInt(options.unaccountedGas ?? 10_000));
  });

  test('the sponsor pays what the event says, at least what the EntryPoint took, and no other balance moves', async () => {
    const { profile, sponsor, terms } = await fundedSponsor(version, parseEther('1'));
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const balances = async () => ({
      sponsor: await sponsorBalance(devChain, profile.sponsorship, sponsor.address),
      neighbour: await sponsorBalance(devChain, profile.sponsorship, devChain.deployments.defaultFunding),
      treasury: await sponsorBalance(devChain, profile.sponsorship, devChain.deployments.treasury),
    });
    for (const calls of [[call('increment')], [call('increment')], [call('fail')]]) {
      const op = await buildUserOp(account, calls, { verificationGasLimit: 400_000n, callGasLimit: 70_000n });
      const before = await balances();
      const { event, logs } = await handleOp(
        devChain,
        profile.entryPointVersion,
        await sponsorUserOp(devChain, profile, account, op, terms),
      );
      const after = await balances();
      expect(event.success).toBe(calls[0]?.data !== call('fail').data);
      expect(chargesIn(logs)).toEqual([
        { payer: sponsor.address, charge: before.sponsor - after.sponsor, premium: 0n },
      ]);
      expect(before.sponsor - after.sponsor).toBeGreaterThanOrEqual(event.actualGasCost);
      expect(Number(before.sponsor - after.sponsor)).toBeLessThan(Number(event.actualGasCost) * 1.2);
      expect(after).toMatchObject({ neighbour: before.neighbour, treasury: before.treasury });
    }
  });

  test('a balance below the need by more than the rounding is refused, the need itself is enough', async () => {
    const profile = devChain.profile(version);
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const op = await buildUserOp(account, [call('increment')]);
    const { options } = await buildTerms(devChain, profile);
    const need = layouts[profile.layout].sponsorship.need(op, options).funding ?? 0n;
    expect(need).toBeGreaterThan(0n);

    const poor = await fundedSponsor(version, need - 3n);
    const refused = await sponsorUserOp(devChain, profile, account, op, poor.terms);
    expect(await refusalOf(devChain, profile.entryPointVersion, [refused])).toMatch(/^AA33 reverted/);

    const rich = await fundedSponsor(version, need);
    const accepted = await sponsorUserOp(devChain, profile, account, op, rich.terms);
    expect(await refusalOf(devChain, profile.entryPointVersion, [accepted])).toBe('accepted');
  });

  test('two operations of one bundle cannot spend the same ether', async () => {
    const profile = devChain.profile(version);
    const accounts = await Promise.all([1, 2].map(() => buildAccount(devChain, profile.entryPointVersion)));
    const { options } = await buildTerms(devChain, profile);
    const ops = await Promise.all(accounts.map((account) => buildUserOp(account, [call('increment')])));
    const need = layouts[profile.layout].sponsorship.need(ops[0] ?? never(), options).funding ?? 0n;
    const { terms } = await fundedSponsor(version, need + need / 2n);
    const signed = await Promise.all(
      ops.map((op, index) => sponsorUserOp(devChain, profile, accounts[index] ?? never(), op, terms)),
    );
    for (const alone of signed)
      expect(await refusalOf(devChain, profile.entryPointVersion, [alone])).toBe('accepted');
    expect(await refusalOf(devChain, profile.entryPointVersion, signed)).toMatch(/^AA33 reverted/);
  });

  test('two operations of one bundle are each charged to their own sponsor', async () => {
    const first = await fundedSponsor(version, parseEther('1'));
    const second = await fundedSponsor(version, parseEther('1'));
    const { profile } = first;
    const signed = await Promise.all(
      [first, second].map(async ({ terms }) => {
        const account = await buildAccount(devChain, profile.entryPointVersion);
        return sponsorUserOp(
          devChain,
          profile,
          account,
          await buildUserOp(account, [call('increment')]),
          terms,
        );
      }),
    );
    const { events, logs } = await handleOps(devChain, profile.entryPointVersion, signed);
    expect(events.map(({ success }) => success)).toEqual([true, true]);
    expect(chargesIn(logs).map(({ payer }) => payer)).toEqual([
      first.sponsor.address,
      second.sponsor.address,
    ]);
  });

  test('only the sponsor withdraws its deposit, and at most all of it', async () => {
    const { profile, sponsor, wallet } = await fundedSponsor(version, parseEther('2'));
    const receiver = parseAddress(newWallet().address);
    const take = (amount: bigint) => encodeWith(hybridAbi, 'withdrawTo', [receiver, amount]);
    const owner = devAccounts.deployer.address;
    expect(await revertOf(profile.sponsorship, owner, take(1n))).not.toBe('accepted');
    expect(await revertOf(profile.sponsorship, sponsor.address, take(parseEther('2') + 1n))).not.toBe(
      'accepted',
    );

    await devChain.setBalance(sponsor.address, parseEther('1'));
    await wallet.send('withdrawal', { to: profile.sponsorship, data: take(parseEther('0.5')) });
    expect(await devChain.chain.balance(receiver)).toBe(parseEther('0.5'));
    expect(await sponsorBalance(devChain, profile.sponsorship, sponsor.address)).toBe(parseEther('1.5'));
  });

  test('a deposit of nothing, or for nobody, is refused', async () => {
    const { sponsorship } = devChain.profile(version);
    const zero = `0x${'00'.repeat(20)}`;
    const { address } = devAccounts.funding;
    for (const [id, value] of [
      [address, 0n],
      [zero, 1n],
    ] as const)
      expect(await revertOf(sponsorship, address, encodeWith(hybridAbi, 'depositFor', [id]), value)).not.toBe(
        'accepted',
      );
  });

  test.each([
    { method: 'setSigner', values: [devAccounts.funding.address] },
    { method: 'addStake', values: [1] },
    { method: 'unlockStake', values: [] },
    { method: 'withdrawStake', values: [devAccounts.funding.address] },
  ])('$method is the owner’s alone', async ({ method, values }) => {
    const { sponsorship } = devChain.profile(version);
    const data = encodeWith(hybridAbi, method, values);
    expect(await revertOf(sponsorship, devAccounts.funding.address, data)).toMatch(/^0x[0-9a-f]{72}$/);
  });

  test('only the EntryPoint validates and settles', async () => {
    const { sponsorship, entryPointVersion } = devChain.profile(version);
    const postOp = new Interface([
      entryPointVersion === '0.6'
        ? 'function postOp(uint8 mode, bytes context, uint256 actualGasCost)'
        : 'function postOp(uint8 mode, bytes context, uint256 actualGasCost, uint256 feePerGas)',
    ]);
    const values = entryPointVersion === '0.6' ? [0, '0x', 0] : [0, '0x', 0, 0];
    const reverted = await revertOf(
      sponsorship,
      devAccounts.deployer.address,
      encodeWith(postOp, 'postOp', values),
    );
    expect(reverted).toMatch(/^0x[0-9a-f]{72}$/);
  });

  test('a new signer voids what the old one signed', async () => {
    const { profile, terms } = await fundedSponsor(version, parseEther('1'));
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const signed = await sponsorUserOp(devChain, profile, account, await buildUserOp(account, []), terms);
    const set = (signer: string) => ({
      to: profile.sponsorship,
      data: encodeWith(hybridAbi, 'setSigner', [signer]),
    });
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('accepted');
    await devChain.transactor.send('new signer', set(newWallet().address));
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('AA34 signature error');
    await devChain.transactor.send('old signer', set(devChain.sponsorSigner.address));
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toBe('accepted');
  });
});

test.each(later)(
  'a premium is credited to the token account and paid by the sponsor, profile %s',
  async (version) => {
    const { profile, sponsor, terms } = await fundedSponsor(version, parseEther('1'));
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const treasury = () => sponsorBalance(devChain, profile.sponsorship, devChain.deployments.treasury);
    const before = await treasury();
    const op = await buildUserOp(account, [call('increment')]);
    const signed = await sponsorUserOp(devChain, profile, account, op, {
      ...terms,
      options: { priceMarkup: 1_500_000, unaccountedGas: 10_000 },
    });
    const { event, logs } = await handleOp(devChain, profile.entryPointVersion, signed);
    const [charged] = chargesIn(logs);
    const premium = (await treasury()) - before;
    expect(charged).toMatchObject({ payer: sponsor.address, premium });
    expect(premium).toBeGreaterThan(event.actualGasCost / 4n);
    expect((charged?.charge ?? 0n) - premium).toBeGreaterThanOrEqual(event.actualGasCost);
    expect(await balanceOf(devChain, profile.entryPoint, profile.sponsorship)).toBeGreaterThan(0n);
  },
);

test.each(later)('a markup outside 1,000,000 to 2,000,000 is refused, profile %s', async (version) => {
  const { profile, terms } = await fundedSponsor(version, parseEther('1'));
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const op = await buildUserOp(account, []);
  for (const [priceMarkup, want] of [
    [999_999, /^AA33 reverted/],
    [1_000_000, /^accepted$/],
    [2_000_000, /^accepted$/],
    [2_000_001, /^AA33 reverted/],
  ] as const) {
    const options = { priceMarkup, unaccountedGas: 10_000 };
    const signed = await sponsorUserOp(devChain, profile, account, op, { ...terms, options });
    expect(await refusalOf(devChain, profile.entryPointVersion, [signed])).toMatch(want);
  }
});

test('a verificationGasLimit that leaves nothing for postOp is refused in validation, on 0.6', async () => {
  const { profile, terms } = await fundedSponsor('1.1.0', parseEther('1'));
  const account = await buildAccount(devChain, '0.6');
  const validate = new Interface([
    `function validatePaymasterUserOp(${userOperation06} op, bytes32 userOpHash, uint256 maxCost)`,
  ]);
  const refusal = async (verificationGasLimit: bigint) => {
    const op = await buildUserOp(account, [], { verificationGasLimit });
    const { paymasterAndData } = await sponsorUserOp(devChain, profile, account, op, terms);
    const values = [userOperation06Values(op, paymasterAndData), `0x${'00'.repeat(32)}`, 1];
    const data = encodeWith(validate, 'validatePaymasterUserOp', values);
    return revertOf(profile.sponsorship, profile.entryPoint, data);
  };
  const tooLow = new Interface(['error VerificationGasLimitTooLow(uint256 required)']);
  expect(await refusal(10_000n)).toBe(tooLow.encodeErrorResult('VerificationGasLimitTooLow', [10_001]));
  expect(await refusal(10_001n)).toBe('accepted');
});

test.each(later)(
  'a postOp limit below what postOp is charged for is refused in validation, profile %s',
  async (version) => {
    const { profile, terms } = await fundedSponsor(version, parseEther('1'));
    const account = await buildAccount(devChain, profile.entryPointVersion);
    const op = await buildUserOp(account, []);
    const { paymasterAndData } = await sponsorUserOp(devChain, profile, account, op, terms);
    const tooLow = new Interface(['error PostOpGasLimitTooLow(uint256 required)']);
    const selector = tooLow.getError('PostOpGasLimitTooLow')?.selector;
    const limited = (limit: bigint): Hex =>
      `0x${paymasterAndData.slice(2, 74)}${limit.toString(16).padStart(32, '0')}${paymasterAndData.slice(106)}`;
    const refusal = async (limit: bigint) =>
      refusalOf(devChain, profile.entryPointVersion, [await signByAccount(account, op, limited(limit))]);
    expect(await refusal(9_999n)).toBe(`AA33 reverted ${selector}`);
    // Past that check: now only the signature, which covers the limit, is wrong.
    expect(await refusal(10_000n)).toBe('AA34 signature error');
  },
);

type FundedSponsor = {
  readonly profile: ReturnType<DevChain['profile']>;
  readonly sponsor: { readonly address: Address };
  readonly wallet: Transactor;
  readonly terms: { readonly fundingAddress: ReturnType<typeof toAddressKey> };
};

/** A new sponsor with this deposit. */
async function fundedSponsor(version: string, deposit: bigint): Promise<FundedSponsor> {
  const profile = devChain.profile(version);
  const wallet = createTransactor(devChain.chain, newWallet().privateKey);
  await devChain.transactor.send('deposit', {
    to: profile.sponsorship,
    data: encodeWith(hybridAbi, 'depositFor', [wallet.address]),
    value: deposit,
  });
  expect(await sponsorBalance(devChain, profile.sponsorship, wallet.address)).toBe(deposit);
  return { profile, sponsor: wallet, wallet, terms: { fundingAddress: toAddressKey(wallet.address) } };
}

function call(method: 'increment' | 'fail'): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, method, []) };
}

/** Revert data of a call from `from`, or `accepted`. */
async function revertOf(to: Address, from: Address, data: Hex, value = 0n): Promise<string> {
  try {
    await devChain.chain.call({ to, from, data, value });
    return 'accepted';
  } catch (error) {
    if (error instanceof CallReverted) return error.data;
    throw error;
  }
}

function never(): never {
  throw new Error('missing test value');
}
