import { AbiCoder, Interface, getBytes, type Wallet } from 'ethers';
import type { TokenCodec, TokenTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { toAddressKey, type Address } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { readOwnArtifact } from '../../../standalone/dev-chain/artifacts.js';
import type { DevProfile } from '../../../standalone/dev-chain/paymaster-contracts.js';
import { create2Address, deployOnce } from '../../../standalone/dev-chain/transactor.js';
import { asHex, encodeWith, type Call, type TestAccount } from './account.js';
import type { DevChain } from './dev-chain.js';
import { signByAccount, type SignedUserOp } from './user-op.js';

/** Every profile whose layout has a token mode. */
export const tokenProfiles = [
  '1.1.0',
  '2.0.0',
  'singleton-0.6',
  'singleton-0.7',
  'singleton-0.8',
  'hybrid-0.9',
] as const;

/** 3,000 tokens of 6 decimals per native coin. */
const devRate = 3_000_000_000n;

const abi = new Interface([
  'function mint(address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function transfer(address to, uint256 amount)',
]);
const manners = [
  'plain',
  'silent',
  'taxed',
  'idle',
  'frozen',
  'refusing',
  'hungry',
  'bombing',
  'exploding',
  'denying',
] as const;
export type Manners = (typeof manners)[number];

/** A token with these decimals and manners; the same one when it is there already. */
export async function deployToken(
  { chain, transactor }: DevChain,
  decimals: number,
  behaviour: Manners = 'plain',
): Promise<Address> {
  const symbol = `T${decimals}`;
  const values = [symbol, decimals, manners.indexOf(behaviour)];
  const tail = AbiCoder.defaultAbiCoder().encode(['string', 'uint8', 'uint8'], values);
  const initCode = asHex(`${readOwnArtifact('AnyToken').bytecode}${tail.slice(2)}`);
  const address = create2Address(initCode);
  await deployOnce(chain, transactor, { name: symbol, address, initCode });
  return address;
}

export async function mint(
  { transactor }: DevChain,
  token: Address,
  account: Address | Hex,
  amount: bigint,
): Promise<void> {
  await transactor.send('mint', { to: token, data: encodeWith(abi, 'mint', [account, amount]) });
}

/** The account allows the profile's token paymaster to take this many tokens. */
export function approval(token: Address, profile: DevProfile, amount: bigint): Call {
  return { to: token, data: encodeWith(abi, 'approve', [tokenContract(profile), amount]) };
}

export function transfer(token: Address, to: Address | Hex, amount: bigint): Call {
  return { to: token, data: encodeWith(abi, 'transfer', [to, amount]) };
}

export function tokenContract(profile: DevProfile): Address {
  if (profile.token === undefined) throw new Error(`profile ${profile.version} has no token contract`);
  return profile.token;
}

export function tokenCodecOf(profile: DevProfile): TokenCodec {
  const codec = layouts[profile.layout].token;
  if (codec === undefined) throw new Error(`layout ${profile.layout} has no token mode`);
  return codec;
}

/** Terms in the dev chain's fee token without premium, valid for an hour around the newest block. */
export async function tokenTerms(
  devChain: DevChain,
  profile: DevProfile,
  overrides: Partial<TokenTerms> = {},
): Promise<TokenTerms> {
  const { treasury } = profile.options;
  return {
    chainId: devChain.chainId,
    paymaster: tokenContract(profile),
    token: toAddressKey(devChain.deployments.feeToken.address),
    exchangeRate: devRate,
    priceMarkup: 1_000_000,
    validUntil: (await devChain.time()) + 3_600,
    validAfter: 0,
    options: treasury === undefined ? {} : { treasury },
    ...overrides,
  };
}

/** Our codec's data, signed (EIP-191) with ethers by `signer`, as the service would answer them. */
export function signPayment(
  devChain: DevChain,
  profile: DevProfile,
  op: FinalUserOperation,
  terms: TokenTerms,
  signer: Wallet = devChain.sponsorSigner,
): Hex {
  const codec = tokenCodecOf(profile);
  return codec.encode(op, terms, getBytes(signer.signMessageSync(codec.hash(op, terms))));
}

/** Signs the payment and lets the account sign the operation: ready for `handleOps`. */
export async function payInTokens(
  devChain: DevChain,
  profile: DevProfile,
  account: TestAccount,
  op: FinalUserOperation,
  terms: TokenTerms,
): Promise<SignedUserOp> {
  return signByAccount(account, op, signPayment(devChain, profile, op, terms));
}
