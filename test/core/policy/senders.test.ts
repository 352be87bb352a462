import { describe, expect, test } from '@jest/globals';
import { compileChain } from '../../../core/config/compile-chain.js';
import { compilePaymaster } from '../../../core/config/compile.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { decisionsIn } from '../../../core/policy/derived.js';
import type { PolicyFacts } from '../../../core/policy/kind.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { validateResource } from '../../../core/resources/validate.js';
import { toAddressKey } from '../../../core/units/address.js';
import { addressOf } from '../../build/configs.js';
import { aChain, aPolicy } from '../../build/resources.js';
import { ratioOf } from '../../support/work.js';
import { someSources } from '../../build/sources.js';

const many = (count: number, from = 0): readonly string[] =>
  Array.from({ length: count }, (_, n) => addressOf(1 + from + n).toLowerCase());
const aList = (name: string, addresses: readonly string[], action: 'Allow' | 'Deny' = 'Deny') =>
  aPolicy({
    meta: { name, creationTimestamp: `2026-01-0${name.length}T00:00:00.000Z` },
    name,
    policyType: 'SENDERS',
    senders: { action, addresses },
  });
/** One letter in the wrong case. */
const mistyped = addressOf(0xabcdef).replace(/[a-f]/i, (letter) =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
);
const compile = (policies: readonly ReturnType<typeof aList>[], previous?: PaymasterConfig) =>
  compilePaymaster(someSources({ policies, previous }));

describe('a SENDERS policy', () => {
  test('with many wrong checksums names the first: the others would take as long again', () => {
    const addresses = [...many(1_000), ...Array.from({ length: 4_000 }, () => mistyped)];
    const { metadata, spec } = aList('a', addresses);
    const problems = validateResource('PaymasterPolicy', { metadata, spec });
    expect(problems).toEqual([expect.objectContaining({ field: 'spec.senders.addresses[1000]' })]);
    expect(problems[0]?.expected).toMatch(/EIP-55 checksum/);
  });

  test('is compiled to the hash of its list, which does not depend on order, spelling or repetition', () => {
    const [one, two] = [addressOf(0xabcdef), addressOf(2)];
    const first = compile([aList('a', [one, two])]);
    const second = compile([aList('a', [two.toLowerCase(), one.toLowerCase(), one])]);
    expect(second.config).toEqual(first.config);
    expect(first.lists).toEqual([
      { hash: first.config.senders?.[0]?.list, addresses: [two, one].map(toAddressKey) },
    ]);
    expect(JSON.stringify(first.config)).not.toContain(one.slice(2).toLowerCase());
  });

  test('with a mistyped address is not accepted, and refuses everybody until it is corrected', () => {
    const { config, policies } = compile([aList('a', [addressOf(1), mistyped])]);
    expect(policies[0]?.accepted).toMatchObject({
      reason: 'Invalid',
      message: expect.stringContaining('[1]'),
    });
    expect(config).toMatchObject({ invalidPolicies: ['a'] });
    expect(config.senders).toBeUndefined();
  });

  test('has at most 5,000 addresses', () => {
    const problems = (count: number) => validateResource('PaymasterPolicy', aList('a', many(count))).length;
    expect([0, 5_000, 5_001].map(problems)).toEqual([0, 0, 1]);
  });

  test('that does not fit into the 10,000 of its paymaster keeps what was served for it, and opens nothing', () => {
    const [a, b] = [aList('a', many(5_000)), aList('bb', many(5_000, 5_000))];
    const full = compile([a, b]);
    expect(full.policies.map(({ accepted }) => accepted.reason)).toEqual(['Accepted', 'Accepted']);
    const more = compile([a, b, aList('ccc', many(1, 20_000))], full.config);
    expect(more.policies.map(({ accepted }) => accepted.reason)).toEqual(['Accepted', 'Accepted', 'TooMany']);
    expect(more.config).toMatchObject({ invalidPolicies: ['ccc'], senders: full.config.senders });

    const small = compile([a, aList('bb', many(4_000, 5_000)), aList('ccc', many(1_000, 20_000))]);
    const grown = compile(
      [a, aList('bb', many(5_000, 5_000)), aList('ccc', many(1_000, 20_000))],
      small.config,
    );
    expect(grown.config).toMatchObject({
      invalidPolicies: [],
      senders: [{ name: 'a' }, { name: 'bb', count: 5_000 }, { name: 'ccc', count: 1_000 }],
    });
  });

  test('of 5,000 accounts costs a request as little as one of ten', () => {
    const decision = decisionsIn('SPONSORED').find(({ step }) => step === 'senders');
    const decide = (count: number) => {
      const { config, lists } = compile([aList('a', many(count))]);
      const known = new Map(lists.map(({ hash, addresses }) => [hash, new Set(addresses)]));
      const facts = {
        mode: 'SPONSORED',
        op: { sender: toAddressKey(addressOf(9_999)) },
        listOf: (hash: string) => known.get(hash),
      } as unknown as PolicyFacts;
      return () => {
        for (let n = 0; n < 100; n += 1)
          if (decision?.decide(config as never, facts).pass !== true) throw new Error('refused');
      };
    };
    expect(ratioOf(decide(5_000), decide(10), 3)).toBeLessThan(3);
  });
});

describe('deniedSenders of a Chain', () => {
  const compileWith = (deniedSenders: readonly string[]) =>
    compileChain({ chain: aChain({ deniedSenders }), feeTokens: [], layouts, previous: undefined });

  test('is compiled to the hash of its list', () => {
    const { config, lists, accepted } = compileWith(many(3));
    expect(accepted.status).toBe('True');
    expect(lists).toEqual([{ hash: config.deniedSenders, addresses: many(3) }]);
    expect(JSON.stringify(config)).not.toContain(many(3)[2]);
  });

  test('reports a mistyped address, and denies it all the same', () => {
    const { lists, accepted } = compileWith([mistyped]);
    expect(accepted).toMatchObject({
      reason: 'BadChecksum',
      message: expect.stringContaining('deniedSenders[0]'),
    });
    expect(lists[0]?.addresses).toEqual([mistyped.toLowerCase()]);
  });

  test('has at most 5,000 addresses', () => {
    const problems = (count: number) =>
      validateResource('Chain', aChain({ deniedSenders: many(count) })).length;
    expect([5_000, 5_001].map(problems)).toEqual([0, 1]);
  });
});
