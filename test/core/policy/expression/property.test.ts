import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { ExpressionError } from '../../../../core/policy/expression/expression-error.js';
import { compileExpression } from '../../../../core/policy/expression/expression.js';
import type { ExpressionFacts } from '../../../../core/policy/expression/typed.js';
import { allSteps, maxSteps } from '../../../../core/policy/steps-left.js';
import type { Call } from '../../../../core/userop/call.js';
import { alice, bob, callDataOf, callOf, evaluated, factsOf, methods, token, type TestCall } from './case.js';

const words = [
  'calls',
  'cost',
  'native',
  'sender',
  'chain',
  'now',
  'c',
  'all',
  'exists',
  'exists_one',
  'size',
  'amount',
  'target',
  'value',
  'method',
  'args',
  'to',
  'order',
  'limits',
  'least',
  'in',
  'true',
  'false',
  '__proto__',
  '(',
  ')',
  '[',
  ']',
  '.',
  ',',
  '?',
  ':',
  '!',
  '-',
  '+',
  '*',
  '/',
  '%',
  '&&',
  '||',
  '==',
  '!=',
  '<',
  '>=',
  '0',
  '1',
  '0xff',
  '1.5',
  '"1.5"',
  '""',
  `"${bob}"`,
  '"transfer(address,uint256)"',
  "'",
  '\\',
  '//',
  '\n',
  ' ',
];
const text = fc.array(fc.constantFrom(...words), { maxLength: 60 }).map((parts) => parts.join(' '));

/** Conditions of random form that have a type, about a call `c` that transfers. */
const number: fc.Arbitrary<string> = fc.letrec<{ number: string }>((tie) => ({
  number: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      'c.value',
      'c.args.amount',
      'now',
      'chain',
      'cost.native',
      'size(calls)',
      '3',
      'calls[1].value',
    ),
    fc
      .tuple(tie('number'), fc.constantFrom('+', '-', '*', '/', '%'), tie('number'))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
  ),
})).number;
const condition: fc.Arbitrary<string> = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      `c.args.to == "${bob}"`,
      'c.target == c.args.to',
      `sender in ["${alice}", c.args.to]`,
      'c.method == ""',
    ),
    fc.tuple(number, fc.constantFrom('<', '==', '>=', '!='), number).map((parts) => parts.join(' ')),
    fc
      .tuple(tie('condition'), fc.constantFrom('&&', '||'), tie('condition'))
      .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    tie('condition').map((inner) => `!(${inner})`),
  ),
})).condition;
const amount = fc.bigInt({ min: 0n, max: (1n << 256n) - 1n });
const calls = fc.array(
  fc.tuple(amount, fc.constantFrom(alice, bob)).map(([value, to]) => callOf('transfer', to, value)),
  { minLength: 1, maxLength: 64 },
);

describe('an expression of any text', () => {
  test('is compiled, or refused with its place', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.string({ maxLength: 1_100, unit: 'binary' })), (any) => {
        try {
          compileExpression(any, methods);
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
          expect(error.at).toBeLessThanOrEqual(any.length);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('with a character that is changed, never answers about data that it cannot read', () => {
    const whole = `calls.all(c, c.method == "transfer(address,uint256)" && c.args.to in [sender, "${bob}"])`;
    fc.assert(
      fc.property(fc.nat(whole.length), fc.string({ maxLength: 2 }), (at, put) => {
        const changed = whole.slice(0, at) + put + whole.slice(at + 1);
        try {
          const { evaluate } = compileExpression(changed, methods);
          // Without a call that decodes nothing holds, unless the calls are not asked about.
          const said = evaluate(factsOf('0x', { calls: undefined }), allSteps());
          expect(said.holds).toBe(false);
        } catch (error) {
          if (!(error instanceof ExpressionError)) throw error;
        }
      }),
      { numRuns: 1_000 },
    );
  });
});

/** The same facts, counting how often something of the calls is read. */
function watched(facts: ExpressionFacts): { readonly facts: ExpressionFacts; readonly reads: () => number } {
  let reads = 0;
  const seen = facts.calls?.map((call): Call => ({
    get target() {
      reads += 1;
      return call.target;
    },
    get value() {
      reads += 1;
      return call.value;
    },
    get selector() {
      reads += 1;
      return call.selector;
    },
    get data() {
      reads += 1;
      return call.data;
    },
  }));
  return { facts: { ...facts, calls: seen }, reads: () => reads };
}

describe('the work of an expression', () => {
  test('is counted, and bounded, for every operation', () => {
    fc.assert(
      fc.property(condition, calls, (inner, made) => {
        const whole = `calls.all(c, c.method == "transfer(address,uint256)" && ${inner})`;
        const compiled = compiledOrNot(whole);
        fc.pre(compiled !== undefined);
        const { facts, reads } = watched(factsOf(callDataOf(made)));
        const said = evaluated(compiled!, facts);
        expect(said.steps).toBeLessThanOrEqual(maxSteps);
        expect(reads()).toBeLessThanOrEqual(said.steps + made.length);
      }),
      { numRuns: 1_000 },
    );
  });

  test('of the widest expression stays within the bound, and refuses what would take more', () => {
    const term = 'c.args[1] % (c.args[1] + 1)';
    const whole = `calls.all(c, c.method == "transfer(address,uint256)" && ${Array.from({ length: 7 }, () => term).join(' + ')} >= 0)`;
    const compiled = compileExpression(whole, methods);
    const made = (count: number) =>
      factsOf(callDataOf(Array.from({ length: count }, () => callOf('transfer', bob, (1n << 256n) - 1n))));
    expect(evaluated(compiled, made(10))).toMatchObject({ holds: true });
    expect(evaluated(compiled, made(64))).toEqual({
      holds: false,
      steps: expect.any(Number),
      why: 'error: the expressions of the paymaster are too much work for this operation: together they may take 4096 steps',
    });
  });

  test('does not grow with what a call carries and the expression does not ask for', () => {
    const compiled = compileExpression(
      'calls.all(c, c.method == "note(string,bytes)" && size(c.args.data) >= 0)',
      methods,
    );
    const stepsOf = (bytes: number) =>
      evaluated(compiled, factsOf(callDataOf([callOf('note', 'x', `0x${'ab'.repeat(bytes)}`)]))).steps;
    expect(stepsOf(100_000)).toBe(stepsOf(1));
  });

  test('grows with the bytes that are compared, up to the bound', () => {
    const compiled = compileExpression(
      'calls[0].method == "note(string,bytes)" && calls[0].args.data == "0x01"',
      methods,
    );
    const sayOf = (bytes: number) =>
      evaluated(compiled, factsOf(callDataOf([callOf('note', 'x', `0x${'ab'.repeat(bytes)}`)])));
    expect(sayOf(16_000).steps).toBeGreaterThan(sayOf(16).steps + 900);
    expect(sayOf(100_000)).toMatchObject({
      why: expect.stringMatching(/^error: the expressions of the paymaster are too much work/),
    });
  });
});

function compiledOrNot(text: string): ReturnType<typeof compileExpression> | undefined {
  try {
    return compileExpression(text, methods);
  } catch (error) {
    // Random conditions may be too long.
    if (error instanceof ExpressionError) return undefined;
    throw error;
  }
}

describe('arguments are what a contract decodes', () => {
  const read = (name: string, value: string) =>
    compileExpression(
      `calls[0].method == "setDelta(int64,bool,uint8)" && calls[0].args.${name} == ${value}`,
      methods,
    );

  test('any encoded values', () => {
    const swap = fc.tuple(
      fc.array(fc.constantFrom(alice, bob), { minLength: 1, maxLength: 5 }),
      amount,
      fc.uint8Array({ maxLength: 80 }),
    );
    fc.assert(
      fc.property(swap, ([path, least, extra]) => {
        const hex = `0x${Buffer.from(extra).toString('hex')}`;
        const { evaluate } = compileExpression(
          `calls[0].method == "swap((address[],(uint256,bytes)),uint256)" && calls[0].args.order.path[${path.length - 1}] == "${path.at(-1)}" && calls[0].args.order.limits.least == ${least} && calls[0].args.order.limits.extra == "${hex}" && size(calls[0].args.order.path) == ${path.length}`,
          methods,
        );
        expect(
          evaluate(factsOf(callDataOf([callOf('swap', [path, [least, hex]], 1n)])), allSteps()),
        ).toMatchObject({
          holds: true,
        });
      }),
    );
  });

  test('with bytes that are changed, they are the values that ethers reads, or an error', () => {
    const changes = fc.array(fc.tuple(fc.nat(95), fc.constantFrom(0, 1, 2, 127, 128, 255)), { maxLength: 3 });
    fc.assert(
      fc.property(fc.bigInt({ min: -(1n << 63n), max: (1n << 63n) - 1n }), changes, (delta, changed) => {
        const bytes = Buffer.from(callOf('setDelta', delta, true, 7).data.slice(2), 'hex');
        for (const [at, value] of changed) bytes[4 + at] = value;
        const call: TestCall = { data: `0x${bytes.toString('hex')}` };
        const facts = factsOf(callDataOf([call]));
        const [readDelta, readOn, readLevel] = token.decodeFunctionData('setDelta', call.data);
        for (const { evaluate } of [
          read('delta', String(readDelta)),
          read('on', String(readOn)),
          read('level', String(readLevel)),
        ]) {
          const said = evaluate(facts, allSteps());
          if (!said.holds) expect(said.why).toMatch(/^error: the argument is not/);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('with an offset or a length of any value, no expression throws', () => {
    const { evaluate } = compileExpression(
      'calls[0].method == "swap((address[],(uint256,bytes)),uint256)" && calls[0].args.order.path.exists(p, p == sender) && calls[0].args.order.limits.extra == "0xff"',
      methods,
    );
    const whole = callOf(
      'swap',
      [
        [alice, bob],
        [1n, '0xff'],
      ],
      1n,
    ).data;
    fc.assert(
      fc.property(
        fc.nat((whole.length - 10) / 64 - 1),
        fc.oneof(amount, fc.bigInt({ min: 0n, max: 1_000n })),
        fc.nat(whole.length),
        (word, value, kept) => {
          const at = 10 + 64 * word;
          const data = (
            whole.slice(0, at) +
            value.toString(16).padStart(64, '0') +
            whole.slice(at + 64)
          ).slice(0, Math.max(10, kept - (kept % 2)));
          expect(evaluate(factsOf(callDataOf([{ data }])), allSteps()).holds).toBe(false);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});
