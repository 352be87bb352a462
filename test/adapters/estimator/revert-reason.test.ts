import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, test } from '@jest/globals';
import { AbiCoder, ErrorFragment, Interface, id, type ParamType } from 'ethers';
import fc from 'fast-check';
import { knownErrors, wrappingErrors } from '../../../adapters/estimator/known-errors.js';
import { explainMessage, explainRevert, remedyOfReason } from '../../../adapters/estimator/revert-reason.js';
import type { Hex } from '../../../core/units/hex.js';

const require = createRequire(import.meta.url);
const account = `0x${'42'.repeat(20)}`;

/** Revert data of `error`, e.g. `Name(uint256)`. */
function dataOf(error: string, values: readonly unknown[] = []): Hex {
  return new Interface([`error ${error}`]).encodeErrorResult(
    error.slice(0, error.indexOf('(')),
    values,
  ) as Hex;
}

/** Without the names of values, some of which ethers does not accept. */
function fragmentOf(error: string): ErrorFragment {
  return ErrorFragment.from(`error ${error.replace(/ \w+(?=[,)])/g, '')}`);
}

describe('revert data', () => {
  test.each<{ name: string; data: Hex; text: string }>([
    { name: 'none', data: '0x', text: 'without a reason' },
    { name: 'fewer than four bytes', data: '0xabcd', text: 'with 0xabcd' },
    { name: 'a text', data: dataOf('Error(string)', ['not today']), text: 'not today' },
    {
      name: 'a panic',
      data: dataOf('Panic(uint256)', [17]),
      text: 'panic 17 (arithmetic overflow or underflow)',
    },
    {
      name: 'an unknown error',
      data: dataOf('Nobody(uint256)', [1]),
      text: `custom error ${id('Nobody(uint256)').slice(0, 10)}`,
    },
    { name: 'a known error', data: '0xf645eedf', text: 'ECDSAInvalidSignature()' },
    {
      name: 'a known error with values',
      data: dataOf('ERC20InsufficientBalance(address,uint256,uint256)', [account, 0, 5]),
      text: `ERC20InsufficientBalance(sender=${account}, balance=0, needed=5)`,
    },
    {
      name: 'an error that carries another one',
      data: dataOf('ExecuteError(uint256,bytes)', [1, dataOf('ECDSAInvalidSignatureLength(uint256)', [3])]),
      text: 'ExecuteError(index=1, error=ECDSAInvalidSignatureLength(length=3))',
    },
    {
      name: 'an error that carries a text',
      data: dataOf('ExecuteError(uint256,bytes)', [0, dataOf('Error(string)', ['not today'])]),
      text: 'ExecuteError(index=0, error=not today)',
    },
    {
      name: 'a known error whose values are cut off',
      data: dataOf('ERC20InsufficientBalance(address,uint256,uint256)', [account, 0, 5]).slice(0, 100) as Hex,
      text: 'custom error 0xe450d38c',
    },
  ])('of $name are shown as text', ({ data, text }) => {
    expect(explainRevert(data).text).toBe(text);
  });

  test('that nest errors without end are followed three times', () => {
    let data = dataOf('ECDSAInvalidSignature()');
    for (let i = 0; i < 20; i += 1) data = dataOf('ExecuteError(uint256,bytes)', [i, data]);
    expect(explainRevert(data).text).toBe(
      `ExecuteError(index=19, error=ExecuteError(index=18, error=ExecuteError(index=17, error=custom error ${data.slice(0, 10)})))`,
    );
  });

  test('of any kind are one line of at most 200 characters', () => {
    const errors = [...knownErrors.flatMap(({ errors: each }) => each), ...Object.keys(wrappingErrors)];
    const anyData = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      // Texts and byte strings of any content behind the selector of an error that is decoded.
      fc
        .tuple(
          fc.constantFrom(...errors),
          fc.string({ maxLength: 500, unit: 'binary' }),
          fc.bigInt(0n, 2n ** 256n - 1n),
        )
        .map(([error, text, number]) => {
          const { inputs, name } = fragmentOf(error);
          const values = inputs.map(({ type }) => valueOf(type, text, number));
          return Buffer.from(
            new Interface([fragmentOf(error)]).encodeErrorResult(name, values).slice(2),
            'hex',
          );
        }),
    );
    fc.assert(
      fc.property(anyData, (bytes) => {
        const text = explainRevert(`0x${Buffer.from(bytes).toString('hex')}`).text;
        expect(text.length).toBeLessThanOrEqual(200);
        expect(text).not.toMatch(/[\n\r\0]/);
      }),
    );
  });
});

function valueOf(type: string, text: string, number: bigint): unknown {
  const word = `0x${number.toString(16).padStart(64, '0')}`;
  if (type === 'string') return text;
  if (type === 'bytes') return Buffer.from(text);
  if (type === 'bool') return number > 5n;
  if (type === 'address') return `0x${word.slice(-40)}`;
  return type.startsWith('bytes') ? word.slice(0, 2 + 2 * Number(type.slice(5))) : number;
}

describe('what to do', () => {
  test.each<{ name: string; data: Hex; remedy: RegExp }>([
    { name: 'an unreadable signature', data: '0xf645eedf', remedy: /dummy signature/ },
    {
      name: 'a call of a batch that lacks tokens',
      data: dataOf('ExecuteError(uint256,bytes)', [
        1,
        dataOf('ERC20InsufficientAllowance(address,uint256,uint256)', [account, 0, 5]),
      ]),
      remedy: /Approve the spender/,
    },
    {
      name: 'an account of another EntryPoint',
      data: dataOf('UnsupportedEntryPoint()'),
      remedy: /EntryPoint that the account was made for/,
    },
    {
      name: 'a text of an account',
      data: dataOf('Error(string)', ['account: not from EntryPoint']),
      remedy: /another EntryPoint/,
    },
  ])('about $name is told', ({ data, remedy }) => {
    expect(explainRevert(data).remedy).toMatch(remedy);
  });

  test.each([
    { reason: 'AA10 sender already constructed', remedy: /leave out/ },
    { reason: 'AA20 account not deployed', remedy: /deploy it first/ },
    { reason: 'AA33 reverted', remedy: /does not hold enough of it, or has not allowed the paymaster/ },
    { reason: 'AA25 invalid account nonce', remedy: /getNonce/ },
    { reason: 'AA27 outside valid block range', remedy: /another window/ },
    { reason: 'AA37 paymaster inval block range', remedy: /ask for the paymaster data again/ },
    { reason: 'AA23 reverted: ECDSA: invalid signature length', remedy: /dummy signature/ },
  ])('about $reason is told', ({ reason, remedy }) => {
    expect(remedyOfReason(reason)).toMatch(remedy);
  });

  test('is not told where nothing is known', () => {
    expect(explainRevert(dataOf('Nobody(uint256)', [1])).remedy).toBeUndefined();
    expect(remedyOfReason('AA23 reverted: no')).toBeUndefined();
  });
});

describe('a bundler’s message', () => {
  test.each<{ name: string; message: string; text: string; remedy: RegExp | undefined }>([
    {
      name: 'names the error whose data it holds',
      message: 'UserOperation reverted during simulation with reason: AA23 reverted 0xf645eedf',
      text: 'UserOperation reverted during simulation with reason: AA23 reverted ECDSAInvalidSignature()',
      remedy: /dummy signature/,
    },
    {
      name: 'names an error with values',
      message: `execution reverted: ${dataOf('OwnableUnauthorizedAccount(address)', [account])}`,
      text: `execution reverted: OwnableUnauthorizedAccount(account=${account})`,
      remedy: /may not call this method/,
    },
    {
      name: 'keeps addresses, hashes and unknown errors',
      message: `${account} 0x${'f645eedf'.repeat(8)} 0x12345678`,
      text: `${account} 0x${'f645eedf'.repeat(8)} 0x12345678`,
      remedy: undefined,
    },
    {
      name: 'has a remedy by the reason of the EntryPoint',
      message: 'failed: AA25 invalid account nonce',
      text: 'failed: AA25 invalid account nonce',
      remedy: /getNonce/,
    },
  ])('$name', ({ message, text, remedy }) => {
    const found = explainMessage(message);
    expect(found.text).toBe(text);
    if (remedy === undefined) expect(found.remedy).toBeUndefined();
    else expect(found.remedy).toMatch(remedy);
  });
});

describe('the table of errors', () => {
  const all = [...knownErrors.flatMap(({ errors }) => errors), ...Object.keys(wrappingErrors)];

  test('has each error once, and nothing that is not an error', () => {
    const selectors = all.map((error) => fragmentOf(error).selector);
    expect(new Set(selectors).size).toBe(all.length);
  });

  // Answers of simulations and of getSenderAddress, which nobody has to explain, and faults of a constructor.
  const answers =
    /^(ExecutionResult|ValidationResult|ValidationResultWithAggregation|SenderAddressResult|DelegateAndRevert|NotImplemented|StringTooLong|InvalidShortString)$/;

  test.each(
    ['aa06', 'aa07', 'aa08', 'aa09'].flatMap((name) =>
      [
        'EntryPoint',
        'EntryPointSimulations',
        'SimpleAccount',
        'SimpleAccountFactory',
        'Simple7702Account',
        'SenderCreator',
      ]
        .map((contract) => ({ contract: `${name}/artifacts/${contract}.json` }))
        .filter(({ contract }) => isInstalled(contract)),
    ),
  )('names every error of $contract', ({ contract }) => {
    const { abi } = JSON.parse(readFileSync(require.resolve(contract), 'utf8')) as { readonly abi: never };
    const errors: ErrorFragment[] = [];
    new Interface(abi).forEachError((error) => errors.push(error));
    for (const error of errors.filter(({ name }) => !answers.test(name))) {
      const values = error.inputs.map(emptyValue);
      const data =
        `${error.selector}${AbiCoder.defaultAbiCoder().encode(error.inputs, values).slice(2)}` as Hex;
      expect(explainRevert(data).text).toMatch(new RegExp(`^${error.name}\\(`));
    }
  });
});

function emptyValue({ type }: ParamType): unknown {
  return valueOf(type, '', 0n);
}

function isInstalled(path: string): boolean {
  try {
    require.resolve(path);
    return true;
  } catch {
    return false;
  }
}
