import { expect, test } from '@jest/globals';
import { decideDelegate } from '../../../core/policy/rules/delegate.js';
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
  readonly version?: EntryPointVersion;
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
    name: 'another delegate is refused on an EntryPoint that knows nothing of EIP-7702, too',
    op: { initCode: '0x', eip7702Auth: anAuthorization({ address: other }) },
    version: '0.6',
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
  {
    name: 'the marker without an authorization is refused',
    op: { initCode: eip7702Factory },
    detail: 'the factory is 0x7702 and eip7702Auth is missing',
  },
  {
    name: 'the short marker without an authorization is refused',
    op: { initCode: '0x7702' },
    detail: 'the factory is 0x7702 and eip7702Auth is missing',
  },
  {
    name: 'the marker without an authorization is refused on 0.9',
    op: { initCode: eip7702Factory },
    version: '0.9',
    detail: 'the factory is 0x7702 and eip7702Auth is missing',
  },
  {
    name: 'what is the marker on 0.8 is an ordinary factory before',
    op: { initCode: eip7702Factory },
    version: '0.7',
  },
])('$name', ({ op, version = '0.8', detail }) => {
  expect(decideDelegate(rules, op, version)).toEqual(
    detail === undefined ? { pass: true } : { pass: false, reason: 'DELEGATE_NOT_ALLOWED', detail },
  );
});

test('a chain that lists no delegates refuses every one', () => {
  const op = { initCode: eip7702Factory, eip7702Auth: anAuthorization() };
  expect(decideDelegate({ ...rules, delegates: new Set() }, op, '0.8')).toMatchObject({ pass: false });
});
