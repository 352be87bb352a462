import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Interface } from 'ethers';
import { toAddressKey } from '../../core/units/address.js';
import { parseEther } from '../../core/units/wei.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { buildAccount, encodeWith, type TestAccount } from './support/account.js';
import { balanceOf, sponsorBalance } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOps, refusalOf } from './support/handle-ops.js';
import { chargesIn, hybridAbi, signTokenPayment, tokenAbi } from './support/hybrid.js';
import { buildUserOp, signByAccount, sponsorUserOp, type SignedUserOp } from './support/user-op.js';

const counter = new Interface(['function increment()', 'function burn(uint256 rounds)', 'function fail()']);
const sponsors = [devAccounts.funding.address, devAccounts.deployer.address] as const;

let devChain: DevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());

/** What a caller may choose; every combination must leave the other sponsors' deposits whole. */
const operation = fc.record({
  sponsor: fc.integer({ min: 0, max: 1 }),
  method: fc.constantFrom('increment', 'burn', 'fail', 'nothing'),
  rounds: fc.integer({ min: 0, max: 12 }),
  callGasLimit: fc.bigInt({ min: 0n, max: 400_000n }),
  spareVerification: fc.bigInt({ min: 0n, max: 3_000_000n }),
  preVerificationGas: fc.bigInt({ min: 0n, max: 300_000n }),
  maxFeeGwei: fc.bigInt({ min: 2n, max: 500n }),
  tipGwei: fc.bigInt({ min: 0n, max: 2n }),
  markup: fc.constantFrom(1_000_000, 1_000_001, 1_050_000, 2_000_000),
  mode: fc.constantFrom('sponsored', 'sponsored', 'sponsored', 'token'),
});
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

describe.each(['1.1.0', '2.0.0', 'hybrid-0.9'] as const)('profile %s', (version) => {
  test('whatever limits, fees, markups and failing calls: no operation costs the contract more than its payer paid', async () => {
    const profile = devChain.profile(version);
    await devChain.transactor.send('deposit', {
      to: profile.sponsorship,
      data: encodeWith(hybridAbi, 'depositFor', [sponsors[1]]),
      value: parseEther('1000'),
    });
    const accounts = await Promise.all([1, 2].map(() => tokenHolder(profile)));
    let mined = 0;

    await fc.assert(
      fc.asyncProperty(operation, operation, async (first, second) => {
        const signed = await Promise.all([
          prepare(profile, accounts[0] ?? never(), first),
          prepare(profile, accounts[1] ?? never(), second),
        ]);
        const before = await solvency(profile);
        if ((await refusalOf(devChain, profile.entryPointVersion, signed)) !== 'accepted') return;
        const { events, logs } = await handleOps(devChain, profile.entryPointVersion, signed);
        const after = await solvency(profile);
        mined += events.length;

        const cost = events.reduce((sum, event) => sum + event.actualGasCost, 0n);
        expect(before.deposit - after.deposit).toBe(cost);
        // The sponsors together never pay less than the EntryPoint took: no sponsor's deposit pays for another sponsor.
        expect(before.balances - after.balances).toBeGreaterThanOrEqual(cost);
        expect(after.balances).toBeLessThanOrEqual(after.deposit);
        const charges = chargesIn(logs);
        if (charges.length !== events.length) return; // A postOp that reverted keeps the whole pre-charge.
        for (const [index, event] of events.entries())
          expect((charges[index]?.charge ?? 0n) - (charges[index]?.premium ?? 0n)).toBeGreaterThanOrEqual(
            event.actualGasCost,
          );
      }),
      { numRuns: 60, seed: 20_261_121 },
    );
    expect(mined).toBeGreaterThan(40);
  });
});

async function prepare(profile: DevProfile, account: TestAccount, chosen: Operation): Promise<SignedUserOp> {
  const target = devChain.deployments.sponsoredContract.address;
  const calls =
    chosen.method === 'nothing'
      ? []
      : [
          {
            to: target,
            data: encodeWith(counter, chosen.method, chosen.method === 'burn' ? [chosen.rounds] : []),
          },
        ];
  const op = await buildUserOp(account, calls, {
    callGasLimit: chosen.callGasLimit,
    verificationGasLimit: 150_000n + chosen.spareVerification,
    preVerificationGas: chosen.preVerificationGas,
    maxFeePerGas: chosen.maxFeeGwei * 1_000_000_000n,
    maxPriorityFeePerGas: chosen.tipGwei * 1_000_000_000n,
  });
  if (chosen.mode === 'token') {
    const terms = {
      validUntil: 0,
      validAfter: 0,
      token: devChain.deployments.feeToken.address,
      rate: 3_000_000_000n,
      markup: chosen.markup,
    };
    return signByAccount(account, op, await signTokenPayment(devChain, profile, op, terms));
  }
  return sponsorUserOp(devChain, profile, account, op, {
    fundingAddress: toAddressKey(sponsors[chosen.sponsor] ?? sponsors[0]),
    options: { priceMarkup: chosen.markup, unaccountedGas: 10_000 },
  });
}

/** An account that exists, holds tokens and has approved the contract, so that token operations are mined as well. */
async function tokenHolder(profile: DevProfile): Promise<TestAccount> {
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const { address } = devChain.deployments.feeToken;
  await devChain.transactor.send('mint', {
    to: address,
    data: encodeWith(tokenAbi, 'mint', [account.address, 10n ** 15n]),
  });
  const approval = { to: address, data: encodeWith(tokenAbi, 'approve', [profile.sponsorship, 10n ** 15n]) };
  const signed = await sponsorUserOp(devChain, profile, account, await buildUserOp(account, [approval]));
  await handleOps(devChain, profile.entryPointVersion, [signed]);
  return account;
}

async function solvency({ entryPoint, sponsorship }: DevProfile) {
  const accounts = [...sponsors, devChain.deployments.treasury];
  const balances = await Promise.all(
    accounts.map((account) => sponsorBalance(devChain, sponsorship, account)),
  );
  return {
    deposit: await balanceOf(devChain, entryPoint, sponsorship),
    balances: balances.reduce((sum, balance) => sum + balance, 0n),
  };
}

function never(): never {
  throw new Error('missing test value');
}
