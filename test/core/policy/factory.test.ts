import { describe, expect, test } from '@jest/globals';
import { decideFactory, type FactoryList } from '../../../core/policy/rules/factory.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import { eip7702Factory } from '../../../core/entry-point/eip-7702.js';
import type { EntryPointVersion } from '../../../core/entry-point/version.js';

const known = toAddressKey(`0x${'fa'.repeat(20)}`);
const other = toAddressKey(`0x${'0b'.repeat(20)}`);
const list = (...factories: readonly (typeof known)[]): FactoryList => new Set(factories);

const creating = (factory: string, data = '01'): Hex => `0x${factory.slice(2)}${data}`;

type Case = {
  readonly name: string;
  readonly chain?: FactoryList;
  readonly paymaster?: FactoryList;
  readonly initCode: Hex;
  readonly version?: EntryPointVersion;
  /** Whose list refuses. */
  readonly refusedBy?: 'Chain' | 'Paymaster';
};

describe('the factory of an initCode', () => {
  test.each<Case>([
    { name: 'may be any where nobody lists some', initCode: creating(other) },
    { name: 'may be a listed one', chain: list(known), paymaster: list(known), initCode: creating(known) },
    { name: 'may be a listed one without call data', chain: list(known), initCode: creating(known, '') },
    { name: 'needs no list where the account exists', chain: list(), paymaster: list(), initCode: '0x' },
    {
      name: 'must be on the list of the chain',
      chain: list(known),
      initCode: creating(other),
      refusedBy: 'Chain',
    },
    {
      name: 'must be on the list of the paymaster',
      paymaster: list(known),
      initCode: creating(other),
      refusedBy: 'Paymaster',
    },
    {
      name: 'must be on both lists: a paymaster cannot add one',
      chain: list(known),
      paymaster: list(known, other),
      initCode: creating(other),
      refusedBy: 'Chain',
    },
    {
      name: 'must be on both lists: a paymaster can take one away',
      chain: list(known, other),
      paymaster: list(known),
      initCode: creating(other),
      refusedBy: 'Paymaster',
    },
    { name: 'is refused by an empty list', chain: list(), initCode: creating(known), refusedBy: 'Chain' },
    {
      name: 'is not meant by the marker of EIP-7702',
      chain: list(),
      initCode: eip7702Factory,
      version: '0.8',
    },
    { name: 'is not meant by the short marker', chain: list(), initCode: '0x7702', version: '0.8' },
    { name: 'is not meant by the marker on 0.9', chain: list(), initCode: eip7702Factory, version: '0.9' },
    {
      name: 'is meant by the same bytes on an EntryPoint without EIP-7702',
      chain: list(),
      initCode: eip7702Factory,
      version: '0.7',
      refusedBy: 'Chain',
    },
    {
      name: 'is meant where an address only begins like the marker',
      chain: list(),
      initCode: `0x7702${'0'.repeat(35)}1`,
      version: '0.8',
      refusedBy: 'Chain',
    },
  ])('$name', ({ chain, paymaster, initCode, version = '0.7', refusedBy }) => {
    const verdict = decideFactory({ chain, paymaster }, { initCode }, version);
    if (refusedBy === undefined) expect(verdict).toEqual({ pass: true });
    else
      expect(verdict).toEqual({
        pass: false,
        reason: 'FACTORY_NOT_ALLOWED',
        detail: `factory ${initCode.slice(0, 42)} is not in accountFactories of the ${refusedBy}`,
      });
  });
});
