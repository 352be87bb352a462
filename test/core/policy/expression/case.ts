import { Interface } from 'ethers';
import {
  compileExpression,
  type Expression,
  type Said,
} from '../../../../core/policy/expression/expression.js';
import { parseMethods } from '../../../../core/policy/methods/methods.js';
import { allSteps, maxSteps } from '../../../../core/policy/steps-left.js';
import type { ExpressionFacts } from '../../../../core/policy/expression/typed.js';
import { parseAbi } from '../../../../core/resources/abi.js';
import { parseAddressKey } from '../../../../core/units/address.js';
import { decodedHex, type Hex } from '../../../../core/units/hex.js';
import { decodeCalls } from '../../../build/decoded.js';

export const account = new Interface([
  'function execute(address,uint256,bytes)',
  'function executeBatch(address[],uint256[],bytes[])',
]);
export const token = new Interface([
  'function transfer(address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function mint(address to, uint256 id, bytes32 salt)',
  'function setDelta(int64 delta, bool on, uint8 level)',
  'function note(string text, bytes data)',
  'function pay(address[] to, uint256[2] amounts)',
  'function swap((address[] path, (uint256 least, bytes extra) limits) order, uint256 deadline)',
  'function unnamed(uint256, uint256)',
  'function twice(uint256 x, uint256 x)',
]);
export const methods = parseMethods(
  parseAbi(token.formatJson()).functions.map(({ declaration }) => declaration),
);

export const tokenAddress = '0x00000000000000000000000000000000000000aa';
export const alice = '0x00000000000000000000000000000000000000a1';
export const bob = '0x00000000000000000000000000000000000000b0';
export const senderOfTests = parseAddressKey('0x00000000000000000000000000000000000000cc');

export type TestCall = { readonly to?: string; readonly value?: bigint; readonly data: string };

export function callOf(method: string, ...args: readonly unknown[]): TestCall {
  return { data: token.encodeFunctionData(method, args) };
}

export function callDataOf(calls: readonly TestCall[]): Hex {
  const column = <T>(of: (call: TestCall) => T): readonly T[] => calls.map(of);
  return account.encodeFunctionData('executeBatch', [
    column(({ to = tokenAddress }) => to),
    column(({ value = 0n }) => value),
    column(({ data }) => data),
  ]) as Hex;
}

export function factsOf(callData: Hex, over: Partial<ExpressionFacts> = {}): ExpressionFacts {
  const decoded = decodeCalls(callData);
  return {
    sender: senderOfTests,
    chainId: 8453,
    nowSeconds: 1_800_000_000,
    calls: decoded.outcome === 'calls' ? decoded.calls : undefined,
    callData: decodedHex(callData),
    cost: { wei: 5_000_000_000_000_000n, usdPerNative: 2_000n * 10n ** 18n },
    ...over,
  };
}

/** What an expression says about an operation that makes these calls. */
export function say(text: string, calls: readonly TestCall[], over: Partial<ExpressionFacts> = {}): Said {
  return compileExpression(text, methods).evaluate(factsOf(callDataOf(calls), over), allSteps());
}

/** What an expression says when it is the only one of a request, and the steps that it took. */
export function evaluated(
  { evaluate }: Expression,
  facts: ExpressionFacts,
): Said & { readonly steps: number } {
  const left = allSteps();
  const said = evaluate(facts, left);
  return { ...said, steps: maxSteps - left.steps };
}
