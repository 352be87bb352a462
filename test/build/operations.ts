import { AbiCoder, Interface } from 'ethers';
import { addressOf, mintSelector, someTarget } from './configs.js';

/** Operations as clients send them, encoded by ethers. */

const account = new Interface([
  'function execute(address target, uint256 value, bytes data)',
  'function executeBatch(address[] targets, uint256[] values, bytes[] datas)',
]);

/** `mint(to)`. */
export function mintCall(to: string = addressOf(0xb0b)): string {
  return mintSelector + AbiCoder.defaultAbiCoder().encode(['address'], [to]).slice(2);
}

export function execute(target: string = someTarget, data: string = mintCall(), value = 0n): string {
  return account.encodeFunctionData('execute', [target, value, data]);
}

export function executeBatch(calls: readonly { readonly target: string; readonly data: string }[]): string {
  return account.encodeFunctionData('executeBatch', [
    calls.map(({ target }) => target),
    calls.map(() => 0n),
    calls.map(({ data }) => data),
  ]);
}

export type WireOperation = Readonly<Record<string, unknown>>;

/** A v0.6 operation with all limits, as the vendor's client sends it: hex fees, decimal limits. */
export function anOperation(overrides: WireOperation = {}): WireOperation {
  return {
    sender: addressOf(0xa11ce),
    nonce: '0x0',
    initCode: '0x',
    callData: execute(),
    callGasLimit: '100000',
    verificationGasLimit: '200000',
    preVerificationGas: '60000',
    maxFeePerGas: '0x77359400',
    maxPriorityFeePerGas: '0x3b9aca00',
    paymasterAndData: '0x',
    signature: '0x',
    ...overrides,
  };
}

/** The same without gas limits, as the vendor's client sends it when it leaves them to the service. */
export function anOperationWithoutLimits(overrides: WireOperation = {}): WireOperation {
  const {
    callGasLimit: _call,
    verificationGasLimit: _verification,
    preVerificationGas: _pre,
    ...rest
  } = anOperation();
  return { ...rest, ...overrides };
}

export const sponsored = { mode: 'SPONSORED', calculateGasLimits: false } as const;
