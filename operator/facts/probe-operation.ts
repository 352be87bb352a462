import { CallReverted, type CallRequest, type Chain } from '../../core/chain/chain.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { encodeCall } from '../../core/paymaster/abi.js';
import type { Layout, SponsorshipTerms, TokenTerms } from '../../core/paymaster/layout.js';
import type { Signer } from '../../core/paymaster/signer.js';
import { toAddressKey, type Address } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';

/** Where a contract is asked to validate, and what is signed for it. */
export type ContractProbe = {
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
const signatureOf = (answer: Hex): bigint | undefined =>
  answer.length >= 2 + 128 ? BigInt(`0x${answer.slice(66 + 24, 130)}`) : undefined;

export const saysAccepted = (answer: Hex): boolean => signatureOf(answer) === 0n;
export const saysWrongSignature = (answer: Hex): boolean => signatureOf(answer) === 1n;

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
