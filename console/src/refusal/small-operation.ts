import type { TracedDecision } from '../records.js';

/** Enough for a small call; change them for a larger one. */
export const gas = {
  callGasLimit: '100000',
  verificationGasLimit: '150000',
  preVerificationGas: '60000',
  maxFeePerGas: '0x77359400',
  maxPriorityFeePerGas: '0x3b9aca00',
};

/** As SimpleAccount makes its calls. */
export const accountFunctions = [
  'function execute(address dest, uint256 value, bytes func)',
  'function executeBatch(address[] dest, bytes[] func)',
];

/** Calls of the same methods by the same account. Of a decision nobody keeps arguments and gas. */
export async function smallOperation({ sender, nonce, calls }: TracedDecision): Promise<object> {
  const { Interface } = await import('ethers/abi');
  const account = new Interface(accountFunctions);
  const [one, ...others] = calls;
  const callData =
    one !== undefined && others.length === 0
      ? account.encodeFunctionData('execute', [one.target, 0, one.selector])
      : account.encodeFunctionData('executeBatch', [
          calls.map(({ target }) => target),
          calls.map(({ selector }) => selector),
        ]);
  return { sender, nonce, initCode: '0x', callData, ...gas };
}
