import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface, getBytes } from 'ethers';
import { createTokenPaymentChecker } from '../../adapters/estimator/token-payment.js';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { tokensFor } from '../../core/paymaster/token-price.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import type { TokenPaymentChecker } from '../../core/paymaster/token-payment-checker.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { DevProfile } from '../../standalone/dev-chain/paymaster-contracts.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from './support/account.js';
import { balanceOf } from './support/balances.js';
import { startDevChain, type DevChain } from './support/dev-chain.js';
import { handleOp, refusalOf } from './support/handle-ops.js';
import {
  approval,
  deployToken,
  mint,
  payInTokens,
  tokenCodecOf,
  tokenProfiles,
  tokenTerms,
  transfer,
  type Manners,
} from './support/tokens.js';
import { buildUserOp, signByAccount, sponsorUserOp } from './support/user-op.js';
import { newWallet } from '../support/new-wallet.js';

const counter = new Interface(['function increment()', 'function fail()']);
const plenty = 10n ** 12n;

let devChain: DevChain;
let checker: TokenPaymentChecker;
beforeAll(async () => {
  devChain = await startDevChain();
  checker = createTokenPaymentChecker({
    chains: devChain.chains,
    endpoint: (chainId) => (chainId === devChain.chainId ? { rpc: { urls: [devChain.url] } } : undefined),
    clock: systemClock,
  });
});
afterAll(() => devChain.stop());

type Case = {
  readonly name: string;
  /** Base units that the account holds. */
  readonly holds: bigint;
  readonly manners?: Manners;
  readonly isDeployed?: boolean;
  /** Approved in an operation before this one. */
  readonly approved?: bigint;
  readonly calls: (token: Address, profile: DevProfile) => readonly Call[];
  readonly terms?: Partial<TokenTerms>;
  /** Refused although contracts that take their tokens in validation would have been paid. */
  readonly isCautious?: boolean;
  readonly verdict: 'pass' | 'TOKEN_BALANCE' | 'TOKEN_ALLOWANCE' | 'TOKEN_PAYMENT_FAILS';
};

const cases: readonly Case[] = [
  {
    name: 'an approval inside the operation, by an account that it creates',
    holds: plenty,
    calls: (token, profile) => [approval(token, profile, plenty), counted('increment')],
    verdict: 'pass',
  },
  {
    name: 'an approval inside the operation, by an account that exists',
    holds: plenty,
    isDeployed: true,
    calls: (token, profile) => [approval(token, profile, plenty), counted('increment')],
    verdict: 'pass',
  },
  {
    name: 'an approval from before',
    holds: plenty,
    approved: plenty,
    calls: () => [counted('increment')],
    verdict: 'pass',
  },
  {
    name: 'a token whose functions return nothing',
    holds: plenty,
    manners: 'silent',
    calls: (token, profile) => [approval(token, profile, plenty)],
    verdict: 'pass',
  },
  {
    name: 'a call that fails, with an approval from before',
    holds: plenty,
    approved: plenty,
    calls: () => [counted('fail')],
    verdict: 'pass',
  },
  {
    name: 'a failing call that would have approved',
    holds: plenty,
    calls: (token, profile) => [approval(token, profile, plenty), counted('fail')],
    verdict: 'TOKEN_ALLOWANCE',
  },
  { name: 'no tokens', holds: 0n, calls: () => [counted('increment')], verdict: 'TOKEN_BALANCE' },
  {
    name: 'no approval',
    holds: plenty,
    isDeployed: true,
    calls: () => [counted('increment')],
    verdict: 'TOKEN_ALLOWANCE',
  },
  {
    name: 'an approval that the call takes back',
    holds: plenty,
    approved: plenty,
    calls: (token, profile) => [approval(token, profile, 0n)],
    isCautious: true,
    verdict: 'TOKEN_ALLOWANCE',
  },
  {
    name: 'tokens that the call sends away',
    holds: plenty,
    isDeployed: true,
    calls: (token, profile) => [
      approval(token, profile, plenty),
      transfer(token, devChain.deployments.defaultFunding, plenty),
    ],
    verdict: 'TOKEN_BALANCE',
  },
  {
    name: 'a token that refuses to move',
    holds: plenty,
    manners: 'frozen',
    calls: (token, profile) => [approval(token, profile, plenty)],
    verdict: 'TOKEN_PAYMENT_FAILS',
  },
  {
    name: 'a token that keeps half of each transfer',
    holds: plenty,
    manners: 'taxed',
    calls: (token, profile) => [approval(token, profile, plenty)],
    verdict: 'TOKEN_PAYMENT_FAILS',
  },
  {
    name: 'a token that says it moved and did not',
    holds: plenty,
    manners: 'idle',
    calls: (token, profile) => [approval(token, profile, plenty)],
    verdict: 'TOKEN_PAYMENT_FAILS',
  },
];

describe.each(tokenProfiles)('profile %s', (version) => {
  test.each(cases)('$name: $verdict', async (row) => {
    const { profile, token, account, op, terms } = await prepared(version, row);
    const treasury = devChain.deployments.treasury;
    const verdict = await check(profile, op, terms);
    expect(verdict).toMatchObject(
      row.verdict === 'pass' ? { pass: true } : { pass: false, reason: row.verdict },
    );
    // What passes pays for itself when it is mined. What does not would have been refused there, or paid too little.
    const before = await balanceOf(devChain, token, treasury);
    const signed = await payInTokens(devChain, profile, account, op, terms);
    const onChain = await refusalOf(devChain, profile.entryPointVersion, [signed]);
    if (onChain !== 'accepted') {
      expect(row.verdict).not.toBe('pass');
      return;
    }
    const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
    const received = (await balanceOf(devChain, token, treasury)) - before;
    const cost = tokensFor(event.actualGasCost, terms.exchangeRate, terms.priceMarkup);
    const isPaid = received >= cost;
    expect({ isPaid }).toEqual({ isPaid: row.verdict === 'pass' || (row.isCautious === true && isPaid) });
  });

  test('the edge: what the contract may take passes, one base unit less of balance or allowance is refused', async () => {
    for (const short of ['balance', 'allowance', 'neither'] as const) {
      const profile = devChain.profile(version);
      const token = devChain.deployments.feeToken.address;
      const account = await buildAccount(devChain, profile.entryPointVersion);
      const terms = await tokenTerms(devChain, profile);
      const sized = await buildUserOp(account, [approval(token, profile, plenty)]);
      const most = tokenCodecOf(profile).maxTokenCharge(sized, terms);
      const op = await buildUserOp(account, [
        approval(token, profile, short === 'allowance' ? most - 1n : most),
      ]);
      await mint(devChain, token, account.address, short === 'balance' ? most - 1n : most);
      expect(await check(profile, op, terms)).toMatchObject(
        short === 'neither' ? { pass: true } : { reason: `TOKEN_${short.toUpperCase()}` },
      );
    }
  });

  test('what was signed for the simulation is worthless on chain', async () => {
    const { profile, account, op, terms } = await prepared(version, cases[0]);
    const signatures: string[] = [];
    const codec = tokenCodecOf(profile);
    await checker.check({
      ...target(profile),
      op,
      terms,
      sign: async ({ digest }) => {
        const signature = devChain.sponsorSigner.signingKey.sign(digest).serialized;
        signatures.push(signature);
        return getBytes(signature);
      },
    });
    expect(signatures).toHaveLength(1);
    for (const signature of signatures) {
      const trialOp = { ...op, maxPriorityFeePerGas: op.maxFeePerGas };
      const trial = codec.encode(trialOp, { ...terms, validUntil: 1 }, getBytes(signature));
      expect(
        await refusalOf(devChain, profile.entryPointVersion, [await signByAccount(account, trialOp, trial)]),
      ).toBe('AA32 paymaster expired or not due');
      const live = codec.encode(op, terms, getBytes(signature));
      expect(
        await refusalOf(devChain, profile.entryPointVersion, [await signByAccount(account, op, live)]),
      ).toBe('AA34 signature error');
    }
  });
});

test('an operation whose account refuses it says why', async () => {
  const { profile, op, terms } = await prepared('singleton-0.7', cases[0]);
  const elsewhere = { ...op, nonce: op.nonce + 1n };
  await expect(check(profile, elsewhere, terms)).rejects.toThrow('AA25 invalid account nonce');
});

function target(profile: DevProfile) {
  return {
    paymasterId: 'pm-1',
    chainId: devChain.chainId,
    entryPoint: profile.entryPoint,
    entryPointVersion: profile.entryPointVersion,
    codec: tokenCodecOf(profile),
  };
}

function check(profile: DevProfile, op: FinalUserOperation, terms: TokenTerms) {
  return checker.check({
    ...target(profile),
    op,
    terms,
    sign: async ({ digest }) => getBytes(devChain.sponsorSigner.signingKey.sign(digest).serialized),
  });
}

async function prepared(version: string, row: Case | undefined) {
  if (row === undefined) throw new Error('the table lacks the case');
  const profile = devChain.profile(version);
  const token = await deployToken(devChain, 6, row.manners);
  const account: TestAccount = await buildAccount(devChain, profile.entryPointVersion, newWallet());
  const { approved } = row;
  if (row.isDeployed === true || approved !== undefined) {
    const calls = approved === undefined ? [] : [approval(token, profile, approved)];
    const deployment = await buildUserOp(account, calls);
    await handleOp(
      devChain,
      profile.entryPointVersion,
      await sponsorUserOp(devChain, profile, account, deployment),
    );
  }
  if (row.holds > 0n) await mint(devChain, token, account.address, row.holds);
  const op = await buildUserOp(account, row.calls(token, profile));
  const terms = await tokenTerms(devChain, profile, { token: toAddressKey(token), ...row.terms });
  return { profile, token, account, op, terms };
}

function counted(method: 'increment' | 'fail'): Call {
  return { to: devChain.deployments.sponsoredContract.address, data: encodeWith(counter, method, []) };
}
