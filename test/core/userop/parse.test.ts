import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { DomainError } from '../../../core/errors.js';
import { maxBytes } from '../../../core/userop/fields.js';
import { parseUserOperation } from '../../../core/userop/parse.js';
import { renderUserOperation } from '../../../core/userop/render.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';

const sender = '0x1234567890AbcdEF1234567890aBcdef12345678';
const factory = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';

const anOperation = (over: Readonly<Record<string, unknown>> = {}) => ({
  sender,
  nonce: '0x70000000000000005',
  initCode: '0x',
  callData: '0xB61D27F6',
  callGasLimit: '0x1e241',
  verificationGasLimit: '234567',
  preVerificationGas: 56789,
  maxFeePerGas: '0xb2d05e07',
  maxPriorityFeePerGas: '1000000003',
  signature: '0xffff',
  ...over,
});

/** Every problem's field and expectation, in order. */
function problemsOf(input: unknown, version: EntryPointVersion = '0.6'): readonly string[] {
  try {
    parseUserOperation(input, version);
    return [];
  } catch (error) {
    if (!(error instanceof DomainError) || error.code !== 'INVALID_INPUT') throw error;
    return (error.details.problems ?? []).map(({ field, expected }) => `${field} must be ${expected}`);
  }
}

describe('a user operation is parsed', () => {
  test('hex, decimal text and numbers mean the same; addresses and hex come out in lower case', () => {
    expect(parseUserOperation(anOperation(), '0.6')).toEqual({
      sender: sender.toLowerCase(),
      nonce: 0x70000000000000005n,
      initCode: '0x',
      callData: '0xb61d27f6',
      callDataBytes: { hex: '0xb61d27f6', bytes: Buffer.from('b61d27f6', 'hex') },
      callGasLimit: 123457n,
      verificationGasLimit: 234567n,
      preVerificationGas: 56789n,
      maxFeePerGas: 3_000_000_007n,
      maxPriorityFeePerGas: 1_000_000_003n,
      signature: '0xffff',
    });
  });

  test('callData is read exactly where it is 0x and pairs of hex digits', () => {
    const unit = fc.oneof(
      { weight: 20, arbitrary: fc.constantFrom(...Array.from('0123456789abcdefABCDEF')) },
      { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
      // Characters that end in the code of a digit, or have one in another case.
      { weight: 1, arbitrary: fc.constantFrom('\u0130', '\u0431', '\uff10', '\u212a', 'x', '\n') },
    );
    fc.assert(
      fc.property(fc.string({ unit, minLength: 1, maxLength: 12 }), (digits) => {
        const callData = `0x${digits}`;
        const isHex = /^(?:[0-9a-f]{2})+$/i.test(digits);
        expect(problemsOf(anOperation({ callData }))).toEqual(
          isHex ? [] : ['params[0].callData must be whole bytes as 0x hex'],
        );
      }),
      { numRuns: 1000 },
    );
  });

  test.each(['0x', '', null, undefined])('a limit that is %j is missing', (missing) => {
    const limits = { callGasLimit: missing, verificationGasLimit: missing, preVerificationGas: missing };
    expect(parseUserOperation(anOperation(limits), '0.6')).toMatchObject({
      callGasLimit: undefined,
      verificationGasLimit: undefined,
      preVerificationGas: undefined,
    });
  });

  test.each(['0x', '', null, undefined])('initCode and signature that are %j are empty', (missing) => {
    expect(parseUserOperation(anOperation({ initCode: missing, signature: missing }), '0.6')).toMatchObject({
      initCode: '0x',
      signature: '0x',
    });
  });

  test.each(['0.7', '0.8', '0.9'] as const)('factory and factoryData become initCode on %s', (version) => {
    const input = anOperation({ initCode: undefined, factory, factoryData: '0xABcd' });
    expect(parseUserOperation(input, version).initCode).toBe(`${factory.toLowerCase()}abcd`);
  });

  test.each([null, '0x', undefined, ''])('a factory that is %j is absent', (absent) => {
    const input = anOperation({ factory: absent, factoryData: absent });
    expect(parseUserOperation(input, '0.7').initCode).toBe('0x');
  });

  test.each([
    ['factory', factory],
    ['factoryData', '0x1234'],
    ['accountGasLimits', `0x${'00'.repeat(32)}`],
    ['gasFees', `0x${'00'.repeat(32)}`],
    ['paymaster', factory],
    ['paymasterData', '0x12'],
    ['paymasterVerificationGasLimit', '0x0'],
    ['paymasterPostOpGasLimit', 1],
  ])('for 0.6 an operation with %s of 0.7 is refused, and is told why', (field, value) => {
    expect(problemsOf(anOperation({ [field]: value }), '0.6')).toContain(
      `params[0].${field} must be left out: the operation is in the form of EntryPoint 0.7 or later, and this paymaster signs for 0.6 (initCode, paymasterAndData). Use a paymaster of a version on the EntryPoint of the account`,
    );
    expect(problemsOf(anOperation({ [field]: null }), '0.6')).toEqual([]);
  });

  test('packed gas fields are taken apart: the high half comes first in the name', () => {
    const { callGasLimit, verificationGasLimit, ...others } = anOperation();
    const { maxFeePerGas, maxPriorityFeePerGas, ...rest } = others;
    expect(BigInt(verificationGasLimit)).toBe(0x39447n);
    const packed = {
      ...rest,
      accountGasLimits: `0x${'39447'.padStart(32, '0')}${'1e241'.padStart(32, '0')}`,
      gasFees: `0x${'3b9aca03'.padStart(32, '0')}${'b2d05e07'.padStart(32, '0')}`,
    };
    expect(parseUserOperation(packed, '0.7')).toEqual(
      parseUserOperation(
        { ...rest, callGasLimit, verificationGasLimit, maxFeePerGas, maxPriorityFeePerGas },
        '0.7',
      ),
    );
  });

  test('unknown fields, paymasterAndData among them, are ignored', () => {
    const input = anOperation({ paymasterAndData: 7, paymasterSignature: {}, wallet: 'x' });
    expect(parseUserOperation(input, '0.6')).toEqual(parseUserOperation(anOperation(), '0.6'));
  });

  test.each(['0x7702', '0x7702000000000000000000000000000000000000'])(
    'factory %s is the EIP-7702 marker on 0.8',
    (marker) => {
      const eip7702Auth = {
        address: factory,
        chainId: '0x7a69',
        nonce: 5,
        r: '0x1',
        s: `0x${'ab'.repeat(32)}`,
        yParity: '0x1',
      };
      expect(
        parseUserOperation(
          anOperation({ initCode: undefined, factory: marker, factoryData: '0x0102', eip7702Auth }),
          '0.8',
        ),
      ).toMatchObject({
        initCode: `0x7702${'00'.repeat(18)}0102`,
        eip7702Auth: {
          address: factory.toLowerCase(),
          chainId: 31337n,
          nonce: 5n,
          r: `0x${'1'.padStart(64, '0')}`,
          s: `0x${'ab'.repeat(32)}`,
          yParity: 1,
        },
      });
    },
  );

  test.each(['0x7702', '0x7702000000000000000000000000000000000000'] as const)(
    'the marker %s without call data stays as the client writes it: its bundler packs it so, and contracts hash the bytes',
    (marker) => {
      const input = anOperation({ initCode: undefined, factory: marker, factoryData: '0x' });
      expect(parseUserOperation(input, '0.8').initCode).toBe(marker);
    },
  );

  test('an unpadded marker in initCode stays as the client will send it', () => {
    expect(parseUserOperation(anOperation({ initCode: '0x7702' }), '0.8').initCode).toBe('0x7702');
  });

  test('the widest values that an EntryPoint takes pass', () => {
    const gas = `0x${(2n ** 120n - 1n).toString(16)}`;
    const input = anOperation({
      nonce: `0x${'f'.repeat(64)}`,
      callGasLimit: gas,
      verificationGasLimit: gas,
      preVerificationGas: gas,
      maxFeePerGas: gas,
      maxPriorityFeePerGas: gas,
    });
    expect(parseUserOperation(input, '0.6').nonce).toBe(2n ** 256n - 1n);
  });
});

describe('what cannot be an operation is refused by name', () => {
  const given = 'a quantity as 0x hex, decimal text or a safe integer';

  test.each<{
    name: string;
    over: Readonly<Record<string, unknown>>;
    version?: EntryPointVersion;
    want: readonly string[];
  }>([
    { name: 'no sender', over: { sender: undefined }, want: ['sender must be given'] },
    {
      name: 'a short sender',
      over: { sender: '0x12' },
      want: ['sender must be an address of 0x and 40 hex digits'],
    },
    {
      name: 'a sender that is a number',
      over: { sender: 5 },
      want: ['sender must be an address of 0x and 40 hex digits'],
    },
    { name: 'no nonce', over: { nonce: '0x' }, want: ['nonce must be given'] },
    { name: 'no callData', over: { callData: undefined }, want: ['callData must be given'] },
    { name: 'odd hex', over: { callData: '0x123' }, want: ['callData must be whole bytes as 0x hex'] },
    { name: 'hex without 0x', over: { callData: '1234' }, want: ['callData must be whole bytes as 0x hex'] },
    {
      name: 'hex with a wrong digit',
      over: { callData: '0x12zz' },
      want: ['callData must be whole bytes as 0x hex'],
    },
    {
      name: 'hex with a line end',
      over: { callData: '0x1234\n\n' },
      want: ['callData must be whole bytes as 0x hex'],
    },
    {
      name: 'hex with a letter whose code ends in that of a digit',
      over: { callData: '0x12\u01300' },
      want: ['callData must be whole bytes as 0x hex'],
    },
    {
      name: 'callData as a number',
      over: { callData: 12 },
      want: ['callData must be whole bytes as 0x hex'],
    },
    {
      name: 'no fees',
      over: { maxFeePerGas: undefined, maxPriorityFeePerGas: '0x' },
      want: ['maxPriorityFeePerGas must be given', 'maxFeePerGas must be given'],
    },
    {
      name: 'a nonce of 257 bits',
      over: { nonce: `0x1${'0'.repeat(64)}` },
      want: ['nonce must be at most 256 bits wide'],
    },
    {
      name: 'a gas limit of 121 bits',
      over: { callGasLimit: (2n ** 120n).toString() },
      want: ['callGasLimit must be at most 120 bits wide'],
    },
    {
      name: 'a fee of 121 bits',
      over: { maxFeePerGas: `0x${(2n ** 120n).toString(16)}` },
      want: ['maxFeePerGas must be at most 120 bits wide'],
    },
    { name: 'a fraction', over: { callGasLimit: 1.5 }, want: [`callGasLimit must be ${given}`] },
    { name: 'a negative number', over: { callGasLimit: -1 }, want: [`callGasLimit must be ${given}`] },
    { name: 'an unsafe integer', over: { nonce: 2 ** 53 }, want: [`nonce must be ${given}`] },
    { name: 'exponent text', over: { callGasLimit: '1e5' }, want: [`callGasLimit must be ${given}`] },
    { name: 'negative text', over: { callGasLimit: '-5' }, want: [`callGasLimit must be ${given}`] },
    { name: 'text with blanks', over: { callGasLimit: ' 5' }, want: [`callGasLimit must be ${given}`] },
    {
      name: 'other prefixes',
      over: { callGasLimit: '0b11', preVerificationGas: '0o7' },
      want: [`callGasLimit must be ${given}`, `preVerificationGas must be ${given}`],
    },
    {
      name: 'a very long quantity',
      over: { nonce: `0x${'0'.repeat(1000)}1` },
      want: [`nonce must be ${given}`],
    },
    { name: 'true', over: { nonce: true }, want: [`nonce must be ${given}`] },
    { name: 'an object', over: { nonce: {} }, want: [`nonce must be ${given}`] },
    {
      name: 'initCode shorter than a factory',
      over: { initCode: '0x1234' },
      want: ['initCode must be 0x, or a factory address of 20 bytes and its call data'],
    },
    {
      name: 'initCode and factory',
      over: { initCode: `0x${'11'.repeat(20)}`, factory },
      version: '0.7',
      want: ['initCode must be left out when factory is given'],
    },
    {
      name: 'factoryData without factory',
      over: { factoryData: '0x12' },
      version: '0.7',
      want: ['factory must be given when factoryData is'],
    },
    {
      name: 'the EIP-7702 factory before 0.8',
      over: { factory: '0x7702' },
      version: '0.7',
      want: ['factory must be an address (0x7702 needs EntryPoint 0.8 or later)'],
    },
    {
      name: 'the EIP-7702 marker in initCode before 0.8',
      over: { initCode: '0x7702' },
      version: '0.7',
      want: ['initCode must be 0x, or a factory address of 20 bytes and its call data'],
    },
    {
      name: 'packed and unpacked limits',
      over: { accountGasLimits: `0x${'00'.repeat(32)}` },
      version: '0.7',
      want: [
        'verificationGasLimit must be left out when accountGasLimits is given',
        'callGasLimit must be left out when accountGasLimits is given',
      ],
    },
    {
      name: 'packed fees of the wrong size',
      over: { gasFees: '0x1234', maxFeePerGas: undefined, maxPriorityFeePerGas: undefined },
      version: '0.7',
      want: ['gasFees must be 32 bytes as 0x hex'],
    },
    {
      name: 'packed fees that are too wide',
      over: { gasFees: `0x${'ff'.repeat(32)}`, maxFeePerGas: undefined, maxPriorityFeePerGas: undefined },
      version: '0.7',
      want: ['gasFees must be two values of at most 120 bits'],
    },
    {
      name: 'an eip7702Auth that is text',
      over: { eip7702Auth: '0x' },
      version: '0.8',
      want: ['eip7702Auth must be an object'],
    },
    {
      name: 'an eip7702Auth without anything',
      over: { eip7702Auth: {} },
      version: '0.8',
      want: ['yParity', 'address', 'chainId', 'nonce', 'r', 's'].map(
        (field) => `eip7702Auth.${field} must be given`,
      ),
    },
    {
      name: 'callData beyond what can be mined',
      over: { callData: `0x${'00'.repeat(maxBytes + 1)}` },
      want: [`callData must be at most ${maxBytes} bytes long`],
    },
  ])('$name', ({ over, version, want }) => {
    expect(problemsOf(anOperation(over), version)).toEqual(want.map((problem) => `params[0].${problem}`));
  });

  test.each([undefined, null, 5, 'text', [], true])('%j is not an operation', (input) => {
    expect(problemsOf(input)).toEqual(['params[0] must be a user operation object']);
  });

  test('every problem is reported at once', () => {
    expect(
      problemsOf({ sender: 'x', nonce: -1, callData: '0x1', maxFeePerGas: {}, callGasLimit: 'many' }),
    ).toHaveLength(6);
  });

  test('a signature is never quoted, not even a malformed one', () => {
    const secret = '0xsecretsecretsecret';
    const auth = { address: factory, chainId: 1, nonce: 0, r: secret, s: secret, yParity: 0 };
    const parse = () => parseUserOperation(anOperation({ signature: secret, eip7702Auth: auth }), '0.8');
    expect(parse).toThrow(/signature must be/);
    expect(parse).toThrow(/^((?!secretsecret).)*$/);
  });

  test('anything at all is parsed or refused, never worse', () => {
    fc.assert(
      fc.property(
        fc.record(
          Object.fromEntries(
            [
              ...Object.keys(anOperation()),
              'factory',
              'factoryData',
              'accountGasLimits',
              'gasFees',
              'eip7702Auth',
            ].map((name) => [
              name,
              fc.oneof(
                fc.anything(),
                fc.constantFrom('0x', '0x1', '0x12', sender, 1, `0x${'00'.repeat(32)}`),
              ),
            ]),
          ),
          { requiredKeys: [] },
        ),
        fc.constantFrom<EntryPointVersion>('0.6', '0.7', '0.8', '0.9'),
        (input, version) => {
          expect(Array.isArray(problemsOf(input, version))).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('an operation is rendered', () => {
  const paymasterAndData =
    `0x${'aa'.repeat(20)}${'c350'.padStart(32, '0')}${'0'.padStart(32, '0')}1234` as const;

  test('for 0.6 with initCode and paymasterAndData', () => {
    const op = parseUserOperation(anOperation({ initCode: `${factory}abcd` }), '0.6');
    expect(renderUserOperation(op, '0.6', '0x1234')).toEqual({
      sender: sender.toLowerCase(),
      nonce: '0x70000000000000005',
      initCode: `${factory.toLowerCase()}abcd`,
      callData: '0xb61d27f6',
      callGasLimit: '0x1e241',
      verificationGasLimit: '0x39447',
      preVerificationGas: '0xddd5',
      maxFeePerGas: '0xb2d05e07',
      maxPriorityFeePerGas: '0x3b9aca03',
      paymasterAndData: '0x1234',
      signature: '0xffff',
    });
  });

  test('for 0.7 with factory and the paymaster’s four fields', () => {
    const op = parseUserOperation(anOperation({ initCode: `${factory}abcd` }), '0.7');
    const rendered = renderUserOperation(op, '0.7', paymasterAndData);
    expect(rendered).toMatchObject({
      factory: factory.toLowerCase(),
      factoryData: '0xabcd',
      paymaster: `0x${'aa'.repeat(20)}`,
      paymasterVerificationGasLimit: '0xc350',
      paymasterPostOpGasLimit: '0x0',
      paymasterData: '0x1234',
    });
    expect(rendered).not.toHaveProperty('initCode');
    expect(rendered).not.toHaveProperty('paymasterAndData');
  });

  test('without what is absent', () => {
    const op = parseUserOperation(anOperation({ callGasLimit: undefined }), '0.7');
    const rendered = renderUserOperation(op, '0.7');
    for (const name of ['factory', 'paymaster', 'callGasLimit', 'eip7702Auth'])
      expect(rendered).not.toHaveProperty(name);
  });

  test('so that parsing it again gives the same operation, EIP-7702 included', () => {
    const eip7702Auth = { address: factory, chainId: 1, nonce: 0, r: '0x12', s: '0x34', yParity: 0 };
    const op = parseUserOperation(
      anOperation({ initCode: undefined, factory: '0x7702', factoryData: '0x01', eip7702Auth }),
      '0.8',
    );
    const rendered = renderUserOperation(op, '0.8', paymasterAndData);
    expect(rendered).toMatchObject({ factory: '0x7702', factoryData: '0x01' });
    // The paymaster's limits come back as those that a client gives.
    expect(parseUserOperation(JSON.parse(JSON.stringify(rendered)), '0.8')).toEqual({
      ...op,
      paymasterGas: { paymasterVerificationGasLimit: 50_000n },
    });
  });

  test.each(['0x7702', '0x7702000000000000000000000000000000000000'])(
    'so that the EIP-7702 marker %s, whose bytes contracts hash, stays as the wallet wrote it',
    (marker) => {
      const op = parseUserOperation(anOperation({ initCode: undefined, factory: marker }), '0.9');
      const rendered = renderUserOperation(op, '0.9');
      expect(rendered).toMatchObject({ factory: marker, factoryData: '0x' });
      expect(parseUserOperation(rendered, '0.9').initCode).toBe(op.initCode);
    },
  );
});
