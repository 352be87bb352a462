import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { parseAllDocuments } from 'yaml';
import { compileExpression } from '../../../../core/policy/expression/expression.js';
import { parseMethods } from '../../../../core/policy/methods/methods.js';
import { allSteps } from '../../../../core/policy/steps-left.js';
import { parseAbi } from '../../../../core/resources/abi.js';
import { isObject } from '../../../../core/schema/json-value.js';
import { repositoryRoot } from '../../../support/repository-root.js';
import { alice, bob, callDataOf, factsOf, senderOfTests, type TestCall } from './case.js';

const abi = new Interface([
  'function transfer(address to, uint256 amount)',
  'function approve(address spender, uint256 amount)',
  'function mint(address to, uint256 count)',
]);
const call = (method: string, ...args: readonly unknown[]): TestCall => ({
  data: abi.encodeFunctionData(method, args),
});
const till = `0x${'22'.repeat(20)}`;
const unit = 10n ** 18n;

/** What each example is for, and what it is there to stop. */
const examples: Readonly<
  Record<string, { passes: readonly TestCall[]; stops: readonly (readonly TestCall[])[] }>
> = {
  'transfer-below': {
    passes: [call('transfer', bob, 100_000_000n)],
    stops: [
      [call('transfer', bob, 100_000_001n)],
      [call('transfer', bob, 1n), call('approve', bob, 1n)],
      [{ data: '0xdeadbeef' }],
    ],
  },
  recipient: {
    passes: [call('transfer', till, 5n)],
    stops: [[call('transfer', bob, 5n)], [call('transfer', till, 5n), call('transfer', alice, 5n)]],
  },
  'mint-one': {
    passes: [call('mint', senderOfTests, 1n)],
    stops: [
      [call('mint', senderOfTests, 2n)],
      [call('mint', bob, 1n)],
      [call('mint', senderOfTests, 1n), call('mint', senderOfTests, 1n)],
    ],
  },
  'no-approve': {
    passes: [call('approve', bob, 50n * unit), call('transfer', bob, 500n * unit)],
    stops: [[call('transfer', bob, 1n), call('approve', bob, 50n * unit + 1n)]],
  },
  'no-coins': {
    passes: [call('mint', bob, 1n)],
    stops: [[{ ...call('mint', bob, 1n), value: 1n }]],
  },
};

test.each(Object.entries(examples))(
  'the example %s lets pass what it is for, and stops the rest',
  (name, { passes, stops }) => {
    const says = compiled(name);
    expect(says(passes)).toMatchObject({ holds: true });
    for (const calls of stops) expect(says(calls)).toMatchObject({ holds: false });
  },
);

function compiled(name: string) {
  const file = join(repositoryRoot, 'examples/policies', `expression-${name}.yaml`);
  const specs = parseAllDocuments(readFileSync(file, 'utf8')).map((each): unknown => {
    const manifest: unknown = each.toJS();
    return isObject(manifest) ? manifest['spec'] : undefined;
  });
  const member = (key: string) => specs.filter(isObject).find((spec) => key in spec)?.[key];
  const abiText = member('abi');
  const declared = parseAbi(typeof abiText === 'string' ? abiText : '[]').functions.map(
    ({ declaration }) => declaration,
  );
  const expression = member('expression');
  if (!isObject(expression)) throw new Error(`${file} has no expression`);
  const { evaluate } = compileExpression(String(expression['text']), parseMethods(declared));
  return (calls: readonly TestCall[]) =>
    evaluate(
      factsOf(callDataOf(calls), { cost: { wei: unit / 1_000n, usdPerNative: undefined } }),
      allSteps(),
    );
}
