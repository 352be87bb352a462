import { describe, expect, test } from '@jest/globals';
import { FunctionFragment, ParamType } from 'ethers';
import fc from 'fast-check';
import { canonicalSignature } from '../../../core/resources/abi-signature.js';
import { parseAbi, listSelectors } from '../../../core/resources/abi.js';

describe('a signature', () => {
  test.each([
    { text: 'mint( address to, uint )', want: 'mint(address,uint256)' },
    {
      text: 'f(bytes calldata data, string memory s) external payable returns (int)',
      want: 'f(bytes,string)',
    },
    { text: 'f(tuple(uint a, (bool)[2] b)[] c)', want: 'f((uint256,(bool)[2])[])' },
    { text: 'f(uint8[03][])', want: 'f(uint8[3][])' },
    { text: ' $x_1 ( ) ', want: '$x_1()' },
  ])('$text is $want', ({ text, want }) => {
    expect(canonicalSignature(text)).toEqual({ signature: want });
  });

  test.each([
    'f',
    'f(',
    'f)',
    'f(uint',
    'f(uint,)',
    'f(,uint)',
    'f(uint))',
    'f((uint)',
    'f(uint x [])',
    'f(uint257)',
    'f(uint08)',
    'f(bytes33)',
    'f(bytes0)',
    'f(int12)',
    'f(tuple)',
    'f(uint[9999999999])',
    'f() nonsense',
    'f() returns',
    'f() returns (uint',
    'f(uint[ 3 ])',
    '(uint)',
    '1f()',
    'f(uint;)',
  ])('%s is refused', (text) => {
    expect(canonicalSignature(text)).toEqual({ fault: 'malformed' });
  });

  test('nests to 16 levels and no deeper', () => {
    const nested = (levels: number) => `f(${'('.repeat(levels)}uint8${')'.repeat(levels)})`;
    expect(canonicalSignature(nested(16))).toEqual({ signature: nested(16) });
    expect(canonicalSignature(nested(17))).toEqual({ fault: 'too-deep' });
    expect(canonicalSignature(`f(uint8${'[]'.repeat(17)})`)).toEqual({ fault: 'too-deep' });
    expect(canonicalSignature(`f(${'uint8,'.repeat(100)}uint8)`)).toEqual({ fault: 'too-deep' });
  });

  test('that is too deep or too long is reported by place, with what is read', () => {
    const abi = parseAbi('[{"type":"function","name":"f","inputs":[]}]');
    const deep = `f(${'('.repeat(17)}${')'.repeat(17)})`;
    expect(listSelectors(abi, ['f', deep]).problems).toEqual([
      {
        field: 'whitelistedMethods[1]',
        expected:
          'a signature of at most 512 characters with at most 16 levels of tuples and array dimensions',
        value: `"${deep}"`,
      },
    ]);
  });
});

describe('an ABI', () => {
  test('whose tuples nest deeper than 16 levels is reported by place', () => {
    const deep = (levels: number): object =>
      levels === 0 ? { type: 'uint8' } : { type: 'tuple', components: [deep(levels - 1)] };
    const abi = (levels: number) => JSON.stringify([{ name: 'f', inputs: [deep(levels)] }]);
    expect(parseAbi(abi(16)).functions[0]?.signature).toBe(`f(${'('.repeat(16)}uint8${')'.repeat(16)})`);
    expect(() => parseAbi(abi(17))).toThrow(
      'abi[0] must be a function whose inputs have at most 16 levels of tuples and array dimensions',
    );
  });

  test('gives the same signatures and selectors as the reference implementation', () => {
    const word = fc.constantFrom('address', 'bool', 'string', 'bytes', 'bytes32', 'uint', 'int8', 'uint256');
    const { type } = fc.letrec<{ type: object }>((tie) => ({
      type: fc.oneof(
        { maxDepth: 3 },
        fc.record({ type: fc.tuple(word, dimensions).map(([base, suffix]) => base + suffix) }),
        fc.record({
          type: dimensions.map((suffix) => `tuple${suffix}`),
          components: fc.array(tie('type'), { maxLength: 3 }),
        }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(type, { maxLength: 4 }), (inputs) => {
        const entry = { type: 'function', name: 'f', stateMutability: 'nonpayable', inputs, outputs: [] };
        const reference = FunctionFragment.from(entry);
        const [ours] = parseAbi(JSON.stringify([entry])).functions;
        expect(ours?.signature).toBe(reference.format('sighash'));
        expect(ours?.selector).toBe(reference.selector);
        const written = `f(${inputs.map((each) => ParamType.from(each).format('full')).join(', ')})`;
        if (written.length <= 512)
          expect(canonicalSignature(written)).toEqual({ signature: ours?.signature });
      }),
      { numRuns: 500 },
    );
  });
});

const dimensions = fc.constantFrom('', '', '[]', '[3]', '[2][]');
