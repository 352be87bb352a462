import { describe, expect, test } from '@jest/globals';
import { Interface, TypedDataEncoder } from 'ethers';
import fc from 'fast-check';
import { hashTypedData } from 'viem';
import { eip7702Factory } from '../../../core/entry-point/eip-7702.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { SponsorshipTerms } from '../../../core/paymaster/layout.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import type { OpenZeppelinOptions } from '../../../core/paymaster/openzeppelin/options.js';
import { toAddressKey } from '../../../core/units/address.js';
import { bytesToHex, type Hex } from '../../../core/units/hex.js';
import { anExampleOperation, anyOperation, anyTerms, exampleTerms } from './operations.js';
import { request, requestTypes } from './open-zeppelin-request.js';

const { sponsorship } = layouts['openzeppelin-0.9'];
const delegate = toAddressKey('0x00000000000000000000000000000000000000dd');
const factoryData = 'aabbcc';

function signedBytes(op: FinalUserOperation, terms: SponsorshipTerms): Hex {
  return bytesToHex(sponsorship.toSign(sponsorship.hash(op, terms), op, terms).digest);
}

function settings(change: Partial<OpenZeppelinOptions>): SponsorshipTerms {
  const { options } = exampleTerms;
  return { ...exampleTerms, options: { ...options, openZeppelin: { ...options.openZeppelin!, ...change } } };
}

/** An operation of an EIP-7702 account. */
function delegated(initCode: Hex, address = delegate): FinalUserOperation {
  const word: Hex = `0x${'01'.repeat(32)}`;
  const eip7702Auth = { address, chainId: 0n, nonce: 0n, r: word, s: word, yParity: 0 } as const;
  return { ...anExampleOperation, initCode, eip7702Auth };
}

describe('what the key signs for an OpenZeppelin contract', () => {
  test('is the EIP-712 hash of ethers and viem, for any operation, window and domain', () => {
    fc.assert(
      fc.property(anyOperation, anyTerms, (op, terms) => {
        const { domainName: name, domainVersion: version } = terms.options.openZeppelin!;
        const { chainId, paymaster: verifyingContract } = terms;
        const domain = { name, version, chainId, verifyingContract };
        const message = request(op, terms, sponsorship.gas(terms.options));
        expect(signedBytes(op, terms)).toBe(TypedDataEncoder.hash(domain, requestTypes, message));
        expect(signedBytes(op, terms)).toBe(
          hashTypedData({
            domain,
            types: requestTypes,
            primaryType: 'UserOperationRequest',
            message: { ...message },
          }),
        );
      }),
      { numRuns: 60 },
    );
  });

  test('contains the delegate instead of the marker only where the contract hashes it so', () => {
    for (const initCode of ['0x7702', eip7702Factory, `${eip7702Factory}${factoryData}`] as const) {
      const data = initCode.length > 42 ? factoryData : '';
      const replacing: Hex = `0x${delegate.slice(2)}${data}`;
      const replaced = { ...anExampleOperation, initCode: replacing };
      const asGiven = settings({ initCodeHash: 'AsGiven' });
      const byDelegate = settings({ initCodeHash: 'Delegate' });
      expect(signedBytes(delegated(initCode), byDelegate)).toBe(signedBytes(replaced, asGiven));
      expect(signedBytes(delegated(initCode), asGiven)).toBe(
        signedBytes({ ...anExampleOperation, initCode }, asGiven),
      );
    }
    const plain = signedBytes(anExampleOperation, settings({ initCodeHash: 'AsGiven' }));
    expect(signedBytes(anExampleOperation, settings({ initCodeHash: 'Delegate' }))).toBe(plain);
  });

  test('is refused without the delegate that the contract will hash', () => {
    const op = { ...anExampleOperation, initCode: eip7702Factory };
    expect(() => signedBytes(op, settings({ initCodeHash: 'Delegate' }))).toThrow(RangeError);
  });

  test('changes with the domain and the delegate, which the promise need not know', () => {
    const byDelegate = settings({ initCodeHash: 'Delegate' });
    const op = delegated(eip7702Factory);
    const other = delegated(eip7702Factory, toAddressKey('0x00000000000000000000000000000000000000de'));
    const cases = [
      [op, byDelegate],
      [other, byDelegate],
      [op, settings({ initCodeHash: 'Delegate', domainName: 'Other' })],
      [op, settings({ initCodeHash: 'Delegate', domainVersion: '2' })],
    ] as const;
    expect(new Set(cases.map(([each, terms]) => signedBytes(each, terms))).size).toBe(cases.length);
    expect(new Set(cases.map(([each, terms]) => bytesToHex(sponsorship.hash(each, terms)))).size).toBe(1);
  });

  test('is never made without a domain', () => {
    const { openZeppelin: _openZeppelin, ...options } = exampleTerms.options;
    expect(() => signedBytes(anExampleOperation, { ...exampleTerms, options })).toThrow(RangeError);
  });
});

describe('the domain of a contract', () => {
  const view = new Interface([
    'function eip712Domain() view returns (bytes1, string, string, uint256, address, bytes32, uint256[])',
  ]);
  const { data, isSame } = sponsorship.domainCall!(exampleTerms);
  const own: readonly unknown[] = [
    '0x0f',
    'MyPaymasterECDSASigner',
    '1',
    exampleTerms.chainId,
    exampleTerms.paymaster,
  ];
  const answer = (values: readonly unknown[], salt = '00', extensions: readonly bigint[] = []): Hex =>
    view.encodeFunctionResult('eip712Domain', [...values, `0x${salt.repeat(32)}`, extensions]) as Hex;
  const changed = (index: number, value: unknown): Hex => answer(own.with(index, value));

  test('is asked by ERC-5267 and is the one of the profile', () => {
    expect(data).toBe(view.getFunction('eip712Domain')!.selector);
    expect(isSame(answer(own))).toBe(true);
  });

  test.each([
    { name: 'name', bytes: changed(1, 'mypaymasterecdsasigner') },
    { name: 'version', bytes: changed(2, '2') },
    { name: 'chain', bytes: changed(3, 1) },
    { name: 'contract', bytes: changed(4, `0x${'11'.repeat(20)}`) },
    { name: 'set of fields', bytes: changed(0, '0x1f') },
    { name: 'extension', bytes: answer(own, '00', [1n]) },
  ])('with another $name is another one', ({ bytes }) => {
    expect(isSame(bytes)).toBe(false);
  });

  test('of a contract without the view is another one', () => {
    expect(isSame('0x')).toBe(false);
    expect(isSame(`0x${'00'.repeat(32)}`)).toBe(false);
  });
});
