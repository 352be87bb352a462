import { describe, expect, test } from '@jest/globals';
import { compileExpression, problemOfExpression } from '../../../../core/policy/expression/expression.js';
import { parseMethods } from '../../../../core/policy/methods/methods.js';
import type { ExpressionFacts } from '../../../../core/policy/expression/typed.js';
import {
  alice,
  bob,
  callDataOf,
  callOf,
  factsOf,
  methods,
  say,
  tokenAddress,
  type TestCall,
} from './case.js';

const transfer = (to: string, amount: bigint): TestCall => callOf('transfer', to, amount);
const plain: TestCall = { data: '0x', value: 7n };
const salt = `0x${'ab'.repeat(32)}`;

describe('an expression holds or not', () => {
  type Case = {
    name: string;
    text: string;
    calls?: readonly TestCall[];
    over?: Partial<ExpressionFacts>;
    holds: boolean;
  };
  const transferBelow =
    'calls.all(c, c.method == "transfer(address,uint256)" && c.args.amount <= amount("1.5", 6))';
  const cases: readonly Case[] = [
    { name: 'an amount at its bound', text: transferBelow, calls: [transfer(bob, 1_500_000n)], holds: true },
    { name: 'an amount above it', text: transferBelow, calls: [transfer(bob, 1_500_001n)], holds: false },
    {
      name: 'one of two amounts above it',
      text: transferBelow,
      calls: [transfer(bob, 1n), transfer(bob, 1_500_001n)],
      holds: false,
    },
    { name: 'another method', text: transferBelow, calls: [callOf('approve', bob, 1n)], holds: false },
    {
      name: 'a recipient of a list, in another case',
      text: `calls.all(c, c.method == "transfer(address,uint256)" && c.args.to in [sender, "${bob.toUpperCase().replace('0X', '0x')}"])`,
      calls: [transfer(bob, 1n)],
      holds: true,
    },
    {
      name: 'a recipient that is not in the list',
      text: `calls.all(c, c.method == "transfer(address,uint256)" && c.args[0] in [sender, "${bob}"])`,
      calls: [transfer(alice, 1n)],
      holds: false,
    },
    {
      name: 'an amount above int64, exact',
      text: 'calls[0].method == "transfer(address,uint256)" && calls[0].args.amount == 9223372036854775808000000000000000000001',
      calls: [transfer(bob, 9223372036854775808000000000000000000001n)],
      holds: true,
    },
    {
      name: 'the same amount but for the last digit',
      text: 'calls[0].method == "transfer(address,uint256)" && calls[0].args.amount == 9223372036854775808000000000000000000002',
      calls: [transfer(bob, 9223372036854775808000000000000000000001n)],
      holds: false,
    },
    {
      name: 'a method that is ruled out first',
      text: 'calls.all(c, c.method != "approve(address,uint256)" || c.args.amount == 0)',
      calls: [transfer(bob, 9n), callOf('approve', bob, 0n)],
      holds: true,
    },
    {
      name: 'a method that is asked before "?"',
      text: 'calls.all(c, c.method == "approve(address,uint256)" ? c.args.amount < 5 : c.value == 0)',
      calls: [callOf('approve', bob, 5n)],
      holds: false,
    },
    {
      name: 'negative numbers, bools and small ones',
      text: 'calls.all(c, c.method == "setDelta(int64,bool,uint8)" && c.args.delta == -3 && !c.args.on && c.args.level == 200)',
      calls: [callOf('setDelta', -3n, false, 200)],
      holds: true,
    },
    {
      name: 'bytes32, in upper case',
      text: `calls.all(c, c.method == "mint(address,uint256,bytes32)" && c.args.salt == "0x${'AB'.repeat(32)}")`,
      calls: [callOf('mint', bob, 1n, salt)],
      holds: true,
    },
    {
      name: 'texts and bytes',
      text: 'calls.all(c, c.method == "note(string,bytes)" && c.args.text == "caf\u00e9 \\"x\\"" && c.args.data == "0x0102" && size(c.args.data) == 2)',
      calls: [callOf('note', 'caf\u00e9 "x"', '0x0102')],
      holds: true,
    },
    {
      name: 'arrays',
      text: `calls[0].method == "pay(address[],uint256[2])" && calls[0].args.to.all(r, r in ["${alice}", "${bob}"]) && calls[0].args.to.size() == 2 && calls[0].args.amounts[1] == 6 && calls[0].args.to[1] == "${bob}"`,
      calls: [callOf('pay', [alice, bob], [5n, 6n])],
      holds: true,
    },
    {
      name: 'an array with a stranger',
      text: `calls[0].method == "pay(address[],uint256[2])" && calls[0].args.to.all(r, r == "${alice}")`,
      calls: [callOf('pay', [alice, bob], [5n, 6n])],
      holds: false,
    },
    {
      name: 'tuples inside tuples',
      text: `calls[0].method == "swap((address[],(uint256,bytes)),uint256)" && calls[0].args.order.limits.least == 11 && calls[0].args.order.limits.extra == "0xff" && calls[0].args.order.path[1] == "${bob}" && calls[0].args.deadline > now`,
      calls: [
        callOf(
          'swap',
          [
            [alice, bob],
            [11n, '0xff'],
          ],
          1_800_000_001n,
        ),
      ],
      holds: true,
    },
    {
      name: 'exactly one of two',
      text: 'calls.exists_one(c, c.value == 7) && calls.exists(c, c.value == 0)',
      calls: [plain, transfer(bob, 1n)],
      holds: true,
    },
    {
      name: 'two of two are not exactly one',
      text: 'calls.exists_one(c, c.value == 7)',
      calls: [plain, plain],
      holds: false,
    },
    {
      name: 'the cost, the chain, the sender and the target',
      text: `cost.native <= amount("0.005", 18) && chain == 8453 && sender == "0x00000000000000000000000000000000000000cc" && calls[0].target == "${tokenAddress}"`,
      calls: [plain],
      holds: true,
    },
    {
      name: 'arithmetic with the usual precedence',
      text: '2 + 3 * 4 - 10 / 3 % 2 == 13 && -7 / 2 == -3 && (2 + 3) * 4 == 20 // rounds to zero',
      calls: [plain],
      holds: true,
    },
    {
      name: 'or, of which the right side holds',
      text: 'chain == 1 || chain == 8453',
      calls: [plain],
      holds: true,
    },
    { name: 'no calls', text: 'calls.all(c, false)', calls: [], holds: true },
  ];
  test.each(cases)('$name', ({ text, calls = [plain], over, holds }) => {
    expect(say(text, calls, over)).toMatchObject({ holds });
  });
});

describe('an expression is refused when it is read, with the place', () => {
  type Case = { name: string; text: string; problem: string | RegExp };
  test.each<Case>([
    {
      name: 'a misspelt root',
      text: 'cals.size() == 1',
      problem: '1:1: "cals" is not known; known: calls, cost, sender, chain, now',
    },
    {
      name: 'a misspelt member',
      text: 'calls.all(c, c.vale == 0)',
      problem: '1:16: a call has no "vale", only target, value, method, args',
    },
    {
      name: 'a misspelt argument',
      text: 'calls[0].method == "transfer(address,uint256)" &&\n  calls[0].args.amout == 1',
      problem: '2:17: this has no "amout", only to, amount',
    },
    {
      name: 'an argument that the ABI does not name',
      text: 'calls[0].method == "unnamed(uint256,uint256)" && calls[0].args.a == 1',
      problem: /has no "a", only \[0\], \[1\]$/,
    },
    {
      name: 'an argument whose name stands twice',
      text: 'calls[0].method == "twice(uint256,uint256)" && calls[0].args.x == 1',
      problem: /has no "x", only x, x$/,
    },
    {
      name: 'a misspelt method',
      text: 'calls.all(c, c.method != "aprove(address,uint256)")',
      problem: /no registered contract has the method "aprove\(address,uint256\)"/,
    },
    {
      name: 'a method with other types',
      text: 'calls.all(c, c.method == "transfer(address,uint128)")',
      problem: /no registered contract has the method "transfer\(address,uint128\)"/,
    },
    {
      name: 'arguments of a method that was not asked',
      text: 'calls.all(c, c.args.amount == 1)',
      problem: /the method of c is not known here/,
    },
    {
      name: 'arguments where the method is another',
      text: 'calls.all(c, c.method == "transfer(address,uint256)" || c.args.amount == 1)',
      problem: /not known here/,
    },
    {
      name: 'arguments after the condition ended',
      text: 'calls.all(c, c.method == "transfer(address,uint256)") && calls.all(c, c.args.amount == 1)',
      problem: /not known here/,
    },
    {
      name: 'arguments of another call',
      text: 'calls[0].method == "transfer(address,uint256)" && calls[1].args.amount == 1',
      problem: /the method of calls\[1\] is not known here/,
    },
    {
      name: 'arguments of a call whose number is calculated',
      text: 'calls[0+0].method == "transfer(address,uint256)" && calls[0+0].args.amount == 1',
      problem: /the method of the call is not known here/,
    },
    {
      name: 'one of several methods',
      text: 'calls.all(c, c.method in ["transfer(address,uint256)", "approve(address,uint256)"] && c.args[1] == 1)',
      problem: /not known here/,
    },
    {
      name: 'a mistyped address',
      text: 'sender == "0x52908400098527886E0F7030069857D2E4169Ee7"',
      problem: /EIP-55/,
    },
    {
      name: 'half an address',
      text: 'sender == "0x5290"',
      problem: '1:11: an address is 0x and 40 hex digits',
    },
    {
      name: 'an address as a number',
      text: 'sender == 0x00000000000000000000000000000000000000cc',
      problem: '1:11: an address cannot be compared with a whole number',
    },
    {
      name: 'a number as a text',
      text: 'chain == "1"',
      problem: '1:10: a whole number cannot be compared with a text',
    },
    {
      name: 'a decimal number',
      text: 'cost.native < 1.5',
      problem: /whole number, got 1\.5; amounts are written as amount/,
    },
    { name: 'an exponent', text: 'cost.native < 1e18', problem: /whole number, got 1e18/ },
    { name: 'too many decimals', text: 'cost.native < amount("1.5", 0)', problem: /at most 0 decimals/ },
    {
      name: 'an amount that is calculated',
      text: 'cost.native < amount("1.5", chain)',
      problem: /expected a text and its decimals/,
    },
    {
      name: 'a number of more than 256 bits',
      text: `chain == 0x1${'0'.repeat(64)}`,
      problem: /at most 256 bits/,
    },
    {
      name: 'a function of CEL that is not taken',
      text: 'calls.all(c, c.method.matches("(a+)+$"))',
      problem: /"matches" cannot be called here/,
    },
    {
      name: 'a macro inside a macro',
      text: 'calls.all(c, calls.all(d, true))',
      problem: /"all" cannot stand inside another one/,
    },
    {
      name: 'a variable that hides a root',
      text: 'calls.all(now, now.value == 0)',
      problem: /"now" has a meaning already/,
    },
    {
      name: 'a macro without a variable',
      text: 'calls.all(true)',
      problem: /expected a name and a condition/,
    },
    { name: 'a number', text: 'size(calls)', problem: '1:1: expected a condition, got a whole number' },
    { name: 'no text', text: '  ', problem: '1:3: Unexpected token: EOF' },
    { name: 'something after the end', text: 'true true', problem: /^1:6: Unexpected character/ },
    { name: 'a bracket that is not closed', text: '(true', problem: '1:6: Expected RPAREN, got EOF' },
    {
      name: 'a text that is not closed',
      text: 'sender == "0x',
      problem: '1:11: Unterminated string',
    },
    { name: 'an unknown character', text: 'true @', problem: '1:6: Unexpected character: @' },
    { name: 'a text of 1001 characters', text: `true${' '.repeat(997)}`, problem: /at most 1000 characters/ },
    {
      name: '101 parts',
      text: `${'!'.repeat(31)}true${' && true'.repeat(35)}`,
      problem: /Exceeded maxAstNodes \(100\)/,
    },
    { name: 'too deep', text: `${'('.repeat(40)}true${')'.repeat(40)}`, problem: /Exceeded maxDepth \(32\)/ },
    {
      name: 'the length of a text, in which unit nobody says',
      text: 'calls[0].method == "note(string,bytes)" && size(calls[0].args.text) == 1',
      problem: /a text has no size/,
    },
    {
      name: 'bytes of another length',
      text: 'calls[0].method == "mint(address,uint256,bytes32)" && calls[0].args.salt == "0x00"',
      problem: /bytes32 have 64 hex digits/,
    },
    { name: 'a prototype', text: 'calls.constructor == 1', problem: /the calls has no members/ },
    {
      name: 'a member of every object',
      text: 'calls[0].method == "transfer(address,uint256)" && calls[0].args.__proto__ == 1',
      problem: /no "__proto__"/,
    },
    {
      name: 'another unit of the cost',
      text: 'cost.eur < 1',
      problem: '1:6: the cost has no "eur", only native, usd',
    },
    { name: 'a map', text: '{"a": 1}.size() == 1', problem: /maps and optional values are not known/ },
    { name: 'an unsigned literal', text: 'chain == 8453u', problem: /whole number, got 8453u/ },
    { name: 'bytes', text: 'b"abc" == b"abc"', problem: /whole number, got b"abc"/ },
    { name: 'null', text: 'sender == null', problem: /whole number, got null/ },
    {
      name: 'a filter',
      text: 'calls.filter(c, true).size() == 0',
      problem: /"filter" cannot be called here/,
    },
    { name: 'has', text: 'has(cost.usd)', problem: /"has" cannot be called here/ },
    { name: 'a binding', text: 'cel.bind(x, 1, x == 1)', problem: /"cel" is not known|cannot be called/ },
  ])('$name', ({ text, problem }) => {
    expect(problemOfExpression(text, methods)).toEqual(
      typeof problem === 'string' ? problem : expect.stringMatching(problem),
    );
  });

  test('arguments that two contracts name differently have no name, only a number', () => {
    const both = parseMethods([
      'f(address to,uint256 amount)',
      'f(address amount,uint256 to)',
      'g(uint256 x)',
    ]);
    expect(
      problemOfExpression('calls[0].method == "f(address,uint256)" && calls[0].args.to == sender', both),
    ).toMatch(/has no "to", only \[0\], \[1\]$/);
    expect(
      problemOfExpression('calls[0].method == "f(address,uint256)" && calls[0].args[0] == sender', both),
    ).toBeUndefined();
  });
});

describe('an error refuses', () => {
  type Case = {
    name: string;
    text: string;
    calls?: readonly TestCall[];
    over?: Partial<ExpressionFacts>;
    why: RegExp;
  };
  const transferred = 'calls[0].method == "transfer(address,uint256)" && ';
  const big = (1n << 256n) - 1n;
  test.each<Case>([
    {
      name: 'a call that is not there',
      text: 'calls[1].value == 0 || true',
      why: /error: no call has the index 1/,
    },
    {
      name: 'a negative number of a call',
      text: 'calls[-1].value == 0',
      why: /error: no call has the index -1/,
    },
    {
      name: 'division by zero, although the other side holds',
      text: '1 / (chain - 8453) == 1 || true',
      why: /divided by zero/,
    },
    { name: 'remainder of zero', text: 'chain % 0 == 0', why: /divided by zero/ },
    {
      name: 'numbers beyond 512 bits',
      text: `${transferred}calls[0].args.amount * calls[0].args.amount * calls[0].args.amount > 0`,
      calls: [transfer(bob, big)],
      why: /more than 512 bits/,
    },
    {
      name: 'call data that do not decode',
      text: 'calls.size() == 0',
      over: { calls: undefined },
      why: /callData does not decode/,
    },
    {
      name: 'a cost that is not known',
      text: 'cost.native >= 0',
      over: { cost: undefined },
      why: /cost is not known/,
    },
    {
      name: '65 calls',
      text: 'true',
      calls: Array.from({ length: 65 }, () => plain),
      why: /more than 64 calls/,
    },
    {
      name: 'an array of 65 elements',
      text: 'calls[0].method == "pay(address[],uint256[2])" && calls[0].args.to.all(r, true)',
      calls: [
        callOf(
          'pay',
          Array.from({ length: 65 }, () => bob),
          [0n, 0n],
        ),
      ],
      why: /at most 64 elements, not 65/,
    },
    {
      name: 'an element that is not there',
      text: 'calls[0].method == "pay(address[],uint256[2])" && calls[0].args.to[1] == sender',
      calls: [callOf('pay', [bob], [0n, 0n])],
      why: /no element has the index 1/,
    },
    {
      name: 'arguments that are cut off',
      text: `${transferred}calls[0].args.amount <= 5`,
      calls: [{ data: transfer(bob, 1n).data.slice(0, -2) }],
      why: /cut off/,
    },
    {
      name: 'arguments that go on in the next call',
      text: `${transferred}calls[0].args.amount <= 5`,
      calls: [{ data: transfer(bob, 1n).data.slice(0, 74) }, plain],
      why: /cut off/,
    },
    {
      name: 'an address with dirty padding',
      text: `${transferred}calls[0].args.to == sender`,
      calls: [{ data: transfer(bob, 1n).data.replace('000000', '000100') }],
      why: /padding is not zero/,
    },
    {
      name: 'a uint8 that is larger',
      text: 'calls[0].method == "setDelta(int64,bool,uint8)" && calls[0].args.level == 0',
      calls: [{ data: `${callOf('setDelta', 0n, false, 0).data.slice(0, -4)}0100` }],
      why: /not a uint8/,
    },
    {
      name: 'a bool that is 2',
      text: 'calls[0].method == "setDelta(int64,bool,uint8)" && !calls[0].args.on',
      calls: [{ data: `${callOf('setDelta', 0n, false, 0).data.slice(0, 137)}2${'0'.repeat(64)}` }],
      why: /not a bool/,
    },
    {
      name: 'an array whose length is a lie',
      text: 'calls[0].method == "pay(address[],uint256[2])" && calls[0].args.to.size() > 3',
      calls: [
        {
          data: `${callOf('pay', [bob], [0n, 0n]).data.slice(0, -128)}${'f'.padStart(64, '0')}${bob.slice(2).padStart(64, '0')}`,
        },
      ],
      why: /cut off/,
    },
    {
      name: 'an offset beyond any data',
      text: 'calls[0].method == "note(string,bytes)" && calls[0].args.data == "0x"',
      calls: [
        {
          data: callOf('note', '', '0x').data.replace(
            '0000000000000000000000000000000000000000000000000000000000000060',
            'f'.repeat(64),
          ),
        },
      ],
      why: /larger than any data/,
    },
  ])('$name', ({ text, calls = [plain], over, why }) => {
    const said = say(text, calls, over);
    expect(said).toEqual({ holds: false, why: expect.stringMatching(why) });
  });
});

describe('it says why', () => {
  test.each([
    {
      text: 'chain == 8453 && calls.all(c, c.method == "transfer(address,uint256)" && c.args.amount < 5)',
      why: 'call 1: c.args.amount < 5 is false: 9 and 5',
    },
    {
      text: `calls.all(c, c.method != "transfer(address,uint256)" || c.args.to == "${alice}")`,
      why: `call 0: c.method != "transfer(address,uint256)" is false: it is 0xa9059cbb; c.args.to == "${alice}" is false: it is ${bob}`,
    },
    { text: 'calls.exists(c, c.value > 0)', why: 'calls.exists(c, c.value > 0) is false' },
  ])('$why', ({ text, why }) => {
    expect(say(text, [transfer(bob, 4n), transfer(bob, 9n)])).toMatchObject({ holds: false, why });
  });
});

test('it says whether it needs the cost', () => {
  const usesCost = (text: string) => compileExpression(text, methods).usesCost;
  expect(usesCost('calls.all(c, c.value == 0 || cost.native < 5)')).toBe(true);
  expect(usesCost('calls.all(c, c.method == "note(string,bytes)" && c.args.text == "cost")')).toBe(false);
});

test('it reads the arguments of its call, behind whatever the calls before it carry', () => {
  const said = say('calls[1].method == "transfer(address,uint256)" && calls[1].args.amount == 2', [
    { data: `0x${'ff'.repeat(1_000)}` },
    transfer(bob, 2n),
  ]);
  expect(said).toMatchObject({ holds: true });
  expect(factsOf(callDataOf([plain])).calls).toHaveLength(1);
});
