import { getBytes } from 'ethers';
import type { OpenZeppelinOptions } from '../../../core/paymaster/openzeppelin/options.js';
import type { SponsorshipTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { toAddressKey } from '../../../core/units/address.js';
import { bytesToHex, type Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { DevProfile } from '../../../standalone/dev-chain/paymaster-contracts.js';
import type { Call, TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';

/** A profile of the dev chain, or of a contract that only a test deploys. */
export type TestProfile = Omit<DevProfile, 'options'> & {
  readonly options: DevProfile['options'] & { readonly openZeppelin?: OpenZeppelinOptions };
};

/** An operation with everything that goes to `handleOps`. */
export type SignedUserOp = { readonly op: FinalUserOperation; readonly paymasterAndData: Hex };

/** Limits that are enough for SimpleAccount and a small batch, account creation included. */
const generousLimits = {
  callGasLimit: 200_000n,
  verificationGasLimit: 500_000n,
  preVerificationGas: 60_000n,
};

/** The account's next operation, unsigned, with generous limits and fees of 3 gwei unless overridden. */
export async function buildUserOp(
  account: TestAccount,
  calls: readonly Call[],
  overrides: Partial<FinalUserOperation> = {},
): Promise<FinalUserOperation> {
  const [nonce, initCode, callData] = await Promise.all([
    account.nonce(),
    account.initCode(),
    calls.length === 0 ? ('0x' as const) : account.encodeCalls(calls),
  ]);
  return {
    sender: account.address,
    nonce,
    initCode,
    callData,
    ...generousLimits,
    maxFeePerGas: 3_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
    signature: '0x',
    ...overrides,
  };
}

/** Terms of a sponsorship by the dev chain's default funding wallet, valid for an hour around the newest block. */
export async function buildTerms(
  devChain: DevChain,
  profile: TestProfile,
  overrides: Partial<SponsorshipTerms> = {},
): Promise<SponsorshipTerms> {
  const { unaccountedGas = 50_000, openZeppelin } = profile.options;
  return {
    chainId: devChain.chainId,
    paymaster: profile.sponsorship,
    fundingAddress: toAddressKey(devChain.deployments.defaultFunding),
    validUntil: (await devChain.time()) + 3_600,
    validAfter: 0,
    options: {
      priceMarkup: 1_000_000,
      unaccountedGas,
      ...(openZeppelin === undefined ? {} : { openZeppelin }),
    },
    ...overrides,
  };
}

/** Our codec's data, signed with ethers by `signer`, as the service would answer them. */
export function signSponsorship(
  devChain: DevChain,
  profile: TestProfile,
  op: FinalUserOperation,
  terms: SponsorshipTerms,
  signer = devChain.sponsorSigner,
): Hex {
  const { sponsorship } = layouts[profile.layout];
  const { digest } = sponsorship.toSign(sponsorship.hash(op, terms), op, terms);
  const signature = signer.signingKey.sign(digest).serialized;
  return bytesToHex(getBytes(sponsorship.encode(op, terms, getBytes(signature))));
}

/** Sponsors the operation and lets the account sign it: ready for `handleOps`. */
export async function sponsorUserOp(
  devChain: DevChain,
  profile: TestProfile,
  account: TestAccount,
  op: FinalUserOperation,
  termOverrides: Partial<SponsorshipTerms> = {},
): Promise<SignedUserOp> {
  const terms = await buildTerms(devChain, profile, termOverrides);
  return signByAccount(account, op, signSponsorship(devChain, profile, op, terms));
}

export async function signByAccount(
  account: TestAccount,
  op: FinalUserOperation,
  paymasterAndData: Hex,
): Promise<SignedUserOp> {
  return { op: { ...op, signature: await account.sign(op, paymasterAndData) }, paymasterAndData };
}
