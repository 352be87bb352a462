import type { RenderedFields } from '../entry-point/rules.js';
import { entryPointRules } from '../entry-point/table.js';
import type { UserOperation } from '../entry-point/user-operation.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import { hexQuantity, type Hex } from '../units/hex.js';

/**
 * Renders an operation for webhooks and explanations, in the form of the EntryPoint's version: `initCode` and
 * `paymasterAndData` on 0.6; `factory`, `factoryData` and the paymaster's four fields on 0.7+, left out when empty.
 * Missing limits are left out.
 */
export function renderUserOperation(
  op: UserOperation,
  version: EntryPointVersion,
  paymasterAndData: Hex = '0x',
): RenderedFields {
  const { form } = entryPointRules[version];
  return {
    sender: op.sender,
    nonce: hexQuantity(op.nonce),
    ...form.renderInitCode(op.initCode),
    callData: op.callData,
    ...optional('callGasLimit', op.callGasLimit),
    ...optional('verificationGasLimit', op.verificationGasLimit),
    ...optional('preVerificationGas', op.preVerificationGas),
    maxFeePerGas: hexQuantity(op.maxFeePerGas),
    maxPriorityFeePerGas: hexQuantity(op.maxPriorityFeePerGas),
    ...form.renderPaymaster(paymasterAndData),
    signature: op.signature,
    ...(op.eip7702Auth === undefined ? {} : { eip7702Auth: renderAuthorization(op.eip7702Auth) }),
  };
}

function renderAuthorization(auth: NonNullable<UserOperation['eip7702Auth']>): RenderedFields {
  return {
    ...auth,
    chainId: hexQuantity(auth.chainId),
    nonce: hexQuantity(auth.nonce),
    yParity: hexQuantity(BigInt(auth.yParity)),
  };
}

function optional(name: string, value: bigint | undefined): RenderedFields {
  return value === undefined ? {} : { [name]: hexQuantity(value) };
}
