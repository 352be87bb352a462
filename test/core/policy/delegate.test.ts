import { describe, expect, test } from '@jest/globals';
import {
  decideDelegate,
  decideDelegateOnChain,
  isDelegateUnshown,
} from '../../../core/policy/rules/delegate.js';
import { toAddressKey, zeroAddress } from '../../../core/units/address.js';
import { eip7702Factory } from '../../../core/entry-point/eip-7702.js';
import type { Eip7702Auth, UserOperation } from '../../../core/entry-point/user-operation.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';

const trusted = toAddressKey('0xe6Cae83BdE06E4c305530e199D7217f42808555B');
const other = toAddressKey(`0x${'71'.repeat(20)}`);
const rules = { chainId: 31_337, delegates: new Set([trusted]) };

function anAuthorization(overrides: Partial<Eip7702Auth> = {}): Eip7702Auth {
  return { address: trusted, chainId: 31_337n, nonce: 0n, r: '0x01', s: '0x02', yParity: 0, ...overrides };
}

type Case = {
  readonly name: string;
  readonly op: Pick<UserOperation, 'eip7702Auth' | 'initCode'>;
  readonly detail?: string;
};

test.each<Case>([
  { name: 'an operation that is no EIP-7702 operation passes', op: { initCode: '0x' } },
  { name: 'one that creates its account passes', op: { initCode: `0x${'91'.repeat(20)}5fbfb9cf` } },
  {
    name: 'a trusted delegate passes',
    op: { initCode: eip7702Factory, eip7702Auth: anAuthorization() },
  },
  {
    name: 'a trusted delegate passes without the marker, when the account delegates anew',
    op: { initCode: '0x', eip7702Auth: anAuthorization() },
  },
  {
    name: 'an authorization for every chain passes',
    op: { initCode: eip7702Factory, eip7702Auth: anAuthorization({ chainId: 0n }) },
  },
  {
    name: 'another delegate is refused',
    op: { initCode: eip7702Factory, eip7702Auth: anAuthorization({ address: other }) },
    detail: `delegate ${other}`,
  },
  {
    name: 'another delegate is refused without the marker, too',
    op: { initCode: '0x', eip7702Auth: anAuthorization({ address: other }) },
    detail: `delegate ${other}`,
  },
  {
    name: 'taking the delegation back is refused: no account would be left',
    op: { initCode: '0x', eip7702Auth: anAuthorization({ address: toAddressKey(zeroAddress) }) },
    detail: `delegate ${zeroAddress}`,
  },
  {
    name: 'an authorization for another chain is refused',
    op: { initCode: eip7702Factory, eip7702Auth: anAuthorization({ chainId: 1n }) },
    detail: 'the authorization is for chain 1, the operation for chain 31337',
  },
])('$name', ({ op, detail }) => {
  expect(decideDelegate(rules, op)).toEqual(
    detail === undefined ? { pass: true } : { pass: false, reason: 'DELEGATE_NOT_ALLOWED', detail },
  );
});

test('a chain that lists no delegates refuses every one', () => {
  const op = { initCode: eip7702Factory, eip7702Auth: anAuthorization() };
  expect(decideDelegate({ ...rules, delegates: new Set() }, op)).toMatchObject({ pass: false });
});

describe('an operation that claims a delegate and shows no authorization', () => {
  test.each<{ initCode: UserOperation['initCode']; version: EntryPointVersion; claims: boolean }>([
    { initCode: eip7702Factory, version: '0.8', claims: true },
    { initCode: `${eip7702Factory}1234`, version: '0.8', claims: true },
    { initCode: '0x7702', version: '0.8', claims: true },
    { initCode: '0x7702', version: '0.9', claims: true },
    { initCode: eip7702Factory, version: '0.7', claims: false },
    { initCode: '0x', version: '0.8', claims: false },
    { initCode: `0x7702${'11'.repeat(18)}`, version: '0.8', claims: false },
  ])('$initCode on $version: $claims', ({ initCode, version, claims }) => {
    expect(isDelegateUnshown({ initCode }, version)).toBe(claims);
    expect(isDelegateUnshown({ initCode, eip7702Auth: anAuthorization() }, version)).toBe(false);
  });

  const plain = { options: {} };
  test.each([
    { name: 'a trusted one passes', profile: plain, delegate: trusted, detail: undefined },
    {
      name: 'another one is refused',
      profile: plain,
      delegate: other,
      detail: `delegate ${other}, which the account has on chain`,
    },
    {
      name: 'none is refused',
      profile: plain,
      delegate: undefined,
      detail: 'the factory is 0x7702, eip7702Auth is missing, and the account has no delegate on chain',
    },
    {
      name: 'a trusted one is refused where the contract hashes what the operation shows',
      profile: { options: { openZeppelin: { initCodeHash: 'Delegate' } } } as const,
      delegate: trusted,
      detail: 'this contract hashes the delegate: eip7702Auth must be given',
    },
  ])('on chain, $name', ({ profile, delegate, detail }) => {
    expect(decideDelegateOnChain(rules, profile, delegate)).toEqual(
      detail === undefined ? { pass: true } : { pass: false, reason: 'DELEGATE_NOT_ALLOWED', detail },
    );
  });
});
