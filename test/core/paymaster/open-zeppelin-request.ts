import { solidityPacked } from 'ethers';
import type { SponsorshipTerms } from '../../../core/paymaster/layout.js';
import type { FinalUserOperation, PaymasterGas } from '../../../core/entry-point/user-operation.js';

/** The EIP-712 types of OpenZeppelin's PaymasterSigner. */
export const requestTypes = {
  UserOperationRequest: [
    { name: 'sender', type: 'address' },
    { name: 'nonce', type: 'uint256' },
    { name: 'initCode', type: 'bytes' },
    { name: 'callData', type: 'bytes' },
    { name: 'accountGasLimits', type: 'bytes32' },
    { name: 'preVerificationGas', type: 'uint256' },
    { name: 'gasFees', type: 'bytes32' },
    { name: 'paymasterVerificationGasLimit', type: 'uint256' },
    { name: 'paymasterPostOpGasLimit', type: 'uint256' },
    { name: 'validAfter', type: 'uint48' },
    { name: 'validUntil', type: 'uint48' },
  ],
};

/** The values of these types, with `initCode` as it is given. */
export function request(op: FinalUserOperation, terms: SponsorshipTerms, gas: PaymasterGas) {
  return {
    sender: op.sender,
    nonce: op.nonce,
    initCode: op.initCode,
    callData: op.callData,
    accountGasLimits: pair(op.verificationGasLimit, op.callGasLimit),
    preVerificationGas: op.preVerificationGas,
    gasFees: pair(op.maxPriorityFeePerGas, op.maxFeePerGas),
    ...gas,
    validAfter: terms.validAfter,
    validUntil: terms.validUntil,
  };
}

function pair(high: bigint, low: bigint): string {
  return solidityPacked(['uint128', 'uint128'], [high, low]);
}
