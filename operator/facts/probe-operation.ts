import { CallReverted, type CallRequest, type Chain, type BlockTag } from '../../core/chain/chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { eip7702Factory } from '../../core/entry-point/eip-7702.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { isDomainError } from '../../core/errors.js';
import { encodeCall } from '../../core/paymaster/abi.js';
import type { Layout, SponsorshipTerms, TokenTerms } from '../../core/paymaster/layout.js';
import { signOne, type Signer } from '../../core/paymaster/signer.js';
import { signatureToTail } from '../../core/paymaster/tail.js';
import { toAddressKey, parseAddressKey, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { ProfileFacts } from './facts.js';

/** Where a contract is asked to validate, and what is signed for it. */
type ContractProbe = {
  readonly chain: Pick<Chain, 'call'>;
  readonly chainId: number;
  readonly profile: ProfileConfig;
  readonly layout: Layout;
  readonly signer: Signer;
};

/**
 * The operation whose hash is compared with the contract's own. Every field has a different value, so that a swapped or
 * missing field gives another hash.
 */
export const probeOperation: FinalUserOperation = {
  sender: toAddressKey('0x1111111111111111111111111111111111111111'),
  nonce: (0x2222n << 64n) | 3n,
  initCode: '0x4444444444444444444444444444444444444444deadbeef',
  callData: '0x5555555566',
  callGasLimit: 70_001n,
  verificationGasLimit: 80_002n,
  preVerificationGas: 90_003n,
  maxFeePerGas: 10_000_000_004n,
  maxPriorityFeePerGas: 1_000_000_005n,
  signature: '0x',
};

export function probeTerms(
  chainId: number,
  profile: Pick<ProfileConfig, 'sponsorship' | 'options'>,
): SponsorshipTerms {
  return {
    chainId,
    paymaster: profile.sponsorship,
    fundingAddress: toAddressKey('0x6666666666666666666666666666666666666666'),
    validUntil: 0x7777_7777,
    validAfter: 0x1234_5678,
    options: profile.options,
  };
}

export function probeTokenTerms(chainId: number, profile: ProfileConfig, paymaster: Address): TokenTerms {
  const { treasury } = profile.options;
  return {
    chainId,
    paymaster,
    token: toAddressKey('0x8888888888888888888888888888888888888888'),
    exchangeRate: 3_000_000_006n,
    priceMarkup: 1_100_007,
    validUntil: 0x7777_7777,
    validAfter: 0x1234_5678,
    options: treasury === undefined ? {} : { treasury },
  };
}

/** The call by which the EntryPoint would ask the contract to validate an operation that costs `maxCost` at most. */
export function validationCall(
  { entryPointVersion }: Pick<Layout, 'entryPointVersion'>,
  op: FinalUserOperation,
  paymasterAndData: Hex,
  maxCost: bigint,
): Hex {
  const { abiType, abiValues } = entryPointRules[entryPointVersion].form;
  return encodeCall(`function validatePaymasterUserOp(${abiType} op, bytes32 userOpHash, uint256 maxCost)`, [
    abiValues(op, paymasterAndData),
    `0x${'ab'.repeat(32)}`,
    maxCost,
  ]);
}

/** The answer is `(bytes context, uint256 validationData)`; the low 20 bytes of the second word name who has to agree. */
const readAuthorizer = (answer: Hex): bigint | undefined =>
  answer.length >= 2 + 128 ? BigInt(`0x${answer.slice(66 + 24, 130)}`) : undefined;

export const saysAccepted = (answer: Hex): boolean => readAuthorizer(answer) === 0n;
export const saysWrongSignature = (answer: Hex): boolean => readAuthorizer(answer) === 1n;

/** Many times the gas of a validation, and little for a node; without it a node gives all that it allows. */
const validationGas = 2_000_000n;

/** What the call answers, with enough gas for a validation; undefined when it reverts. Throws UNAVAILABLE. */
export function callValidation(
  chain: Pick<Chain, 'call'>,
  request: Omit<CallRequest, 'gas'>,
): Promise<Hex | undefined> {
  return chain.call({ ...request, gas: validationGas }).catch((error: unknown) => {
    if (error instanceof CallReverted) return undefined;
    throw error;
  });
}

type SignatureProbe = ContractProbe & { readonly block: BlockTag };

/**
 * Whether the contract accepts what we sign, for a contract that shows no hash of an operation: its validation is
 * called in the EntryPoint's name, for an ordinary operation, for one of an EIP-7702 account, and with the signature in
 * the tail if the profile says that the contract reads it there. `signer` must be authorised on the contract.
 *
 * The contract answers a wrong signature with a value. A revert says nothing: a contract may have other rules for
 * accounts and calls, which the probe's operation need not fulfil.
 */
export async function probeSignatures(probe: SignatureProbe): Promise<ProfileFacts['hash']> {
  const { layout, profile } = probe;
  try {
    const [ordinary, delegated, inTail] = await Promise.all([
      isRefused(probe, probeOperation),
      isRefused(probe, delegatedOperation),
      layout.readsTail(profile.options) ? isRefused(probe, probeOperation, signatureToTail) : false,
    ]);
    if (ordinary) return 'OtherHash';
    if (delegated) return 'OtherInitCodeHash';
    return inTail ? 'TailNotRead' : 'HashMatches';
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return 'Unknown';
    throw error;
  }
}

const delegate = parseAddressKey('0x9999999999999999999999999999999999999999');

/** The factory's data are in the hash of either kind. */
const delegatedOperation: FinalUserOperation = {
  ...probeOperation,
  initCode: `${eip7702Factory}deadbeef`,
  eip7702Auth: { address: delegate, chainId: 0n, nonce: 0n, r: '0x01', s: '0x01', yParity: 0 },
};

/** Whether the contract's validation says that the signature of this operation is wrong. Throws UNAVAILABLE. */
async function isRefused(
  { chain, chainId, profile, layout, signer, block }: SignatureProbe,
  op: FinalUserOperation,
  toForm: (paymasterAndData: Hex) => Hex = (data) => data,
): Promise<boolean> {
  const { sponsorship } = layout;
  // The window is over, so that nobody can use the signature. The contract leaves the window to the EntryPoint.
  const terms = { ...probeTerms(chainId, profile), validUntil: 1, validAfter: 0 };
  const signature = await signOne(signer, sponsorship.toSign(sponsorship.hash(op, terms), op, terms));
  const data = toForm(sponsorship.encode(op, terms, signature));
  // Only a contract that hashes the delegate looks at the account's code.
  const readsDelegate =
    op.eip7702Auth !== undefined && profile.options.openZeppelin?.initCodeHash === 'Delegate';
  const code = `0xef0100${delegate.slice(2)}` as const;
  const answer = await callValidation(chain, {
    from: profile.entryPoint,
    to: profile.sponsorship,
    data: validationCall(layout, op, data, 1n),
    block,
    ...(readsDelegate ? { overrides: { [op.sender]: { code } } } : {}),
  });
  return answer !== undefined && saysWrongSignature(answer);
}

/** Whether a contract takes tokens in validation when its data demand it; `Unknown` when the chain does not answer. */
type TokenSecurity = 'Secured' | 'AfterCall' | 'Unknown';

type TokenProbe = ContractProbe & { readonly contract: Address };

/**
 * Simulates three payments by calling the contract's validation in the EntryPoint's name. For the call only, other code
 * replaces the token's. Validation must pass with a token whose transfers succeed only for at least the highest amount
 * that the EntryPoint can charge. It must fail with a token that refuses the transfer, and with one without an
 * allowance. Otherwise an account that moves its tokens away after the signature would be sponsored.
 *
 * The time window of the signed data is over: the contract leaves its check to the EntryPoint, which is not part of the
 * call.
 */
export async function probeTokenPayment(probe: TokenProbe): Promise<TokenSecurity> {
  try {
    const { codec, op, terms } = createTrial(probe);
    const least = (codec.need(op, terms.options).entryPoint * terms.exchangeRate) / weiPerCoin;
    const validate = await prepareValidation(probe, codec, op, terms);
    const [willing, refusing, notAllowed] = await Promise.all([
      validate(tokenCode({ allowance: plenty, least })),
      validate(tokenCode({ allowance: plenty, least: plenty })),
      validate(tokenCode({ allowance: 0n, least: plenty })),
    ]);
    return willing && !refusing && !notAllowed ? 'Secured' : 'AfterCall';
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return 'Unknown';
    throw error;
  }
}

const weiPerCoin = 10n ** 18n;
/** More than any operation costs, and small enough for the calculations of contracts. */
const plenty = (1n << 128n) - 1n;

/** Cheap enough for any deposit, with a rate at which it costs many base units. */
function createTrial({ chainId, profile, contract, layout }: TokenProbe) {
  const codec = layout.token;
  if (codec === undefined) throw new RangeError(`layout ${layout.id} has no token mode`);
  const op: FinalUserOperation = {
    ...probeOperation,
    verificationGasLimit: 200_000n,
    maxFeePerGas: 1_000n,
    maxPriorityFeePerGas: 1_000n,
  };
  const terms: TokenTerms = {
    ...probeTokenTerms(chainId, profile, contract),
    exchangeRate: 10n ** 21n,
    priceMarkup: 1_000_000,
    validUntil: 1,
    validAfter: 0,
    inAdvance: true,
  };
  return { codec, op, terms };
}

/**
 * Returns whether the contract's validation passes with the given token code. Throws UNAVAILABLE, also without a signature.
 */
async function prepareValidation(
  { chain, profile, contract, layout, signer }: TokenProbe,
  codec: NonNullable<Layout['token']>,
  op: FinalUserOperation,
  terms: TokenTerms,
): Promise<(token: Hex) => Promise<boolean>> {
  const signature = await signOne(signer, codec.toSign(codec.hash(op, terms), op, terms));
  const maxCost = codec.need(op, terms.options).entryPoint;
  const data = validationCall(layout, op, codec.encode(op, terms, signature), maxCost);
  return async (code) => {
    const overrides = { [toAddressKey(terms.token)]: { code } };
    const answer = await callValidation(chain, { from: profile.entryPoint, to: contract, data, overrides });
    return answer !== undefined;
  };
}

/**
 * Runtime code of a token: `transferFrom` returns true for `least` base units or more and reverts below, `allowance`
 * returns the given value, and any other call returns plenty.
 */
function tokenCode({ allowance, least }: { readonly allowance: bigint; readonly least: bigint }): Hex {
  const word = (value: bigint): string => `6f${value.toString(16).padStart(32, '0')}`;
  const answer = (value: bigint): string => `${word(value)}60005260206000f3`;
  const head = '60003560e01c';
  const dispatch = (selector: string, target: number): string =>
    `8063${selector}1461${target.toString(16).padStart(4, '0')}57`;
  const otherwise = answer(plenty);
  const allowanceAt = (head.length + 2 * dispatch('00000000', 0).length + otherwise.length) / 2;
  const ofAllowance = `5b${answer(allowance)}`;
  const transferAt = allowanceAt + ofAllowance.length / 2;
  // amount >= least: LT pushes 1 when the amount, the third argument, is less.
  const compare = `5b${word(least)}60443510`;
  const passed = answer(1n);
  const refuseAt = transferAt + (compare.length + 'xxxxxxxx'.length + passed.length) / 2;
  const jump = `61${refuseAt.toString(16).padStart(4, '0')}57`;
  const refuse = '5b60006000fd';
  const code = [
    head,
    dispatch('dd62ed3e', allowanceAt),
    dispatch('23b872dd', transferAt),
    otherwise,
    ofAllowance,
    compare,
    jump,
    passed,
    refuse,
  ];
  return `0x${code.join('')}`;
}
