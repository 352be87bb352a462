import { expect, test } from '@jest/globals';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { CompiledChain } from '../../core/config/compile-chain.js';
import { unknownProfile, type UnsignedLevel } from '../../operator/facts/facts.js';
import { withSeen } from '../../operator/reconcilers/seen-on-chain.js';
import { addressOf, aChainConfig, aProfileConfig } from '../build/configs.js';

const profile = aProfileConfig('2.0.0', { layout: 'vendor-2.x', token: addressOf(0x70c) });

/** What the compiled profile says, after it said `before` for a contract. */
function seen(unsigned: UnsignedLevel, before?: Partial<ProfileConfig>): boolean | undefined {
  const config = aChainConfig({ profiles: [profile] });
  const facts = { profile: () => ({ ...unknownProfile, unsigned }), usability: () => undefined };
  const previous = before && aChainConfig({ profiles: [{ ...profile, ...before }] });
  const { config: compiled } = withSeen(facts, { config } as CompiledChain, previous);
  return compiled.profiles[0]?.acceptsUnsigned;
}

test('whether a token contract accepts unsigned data is written as it was seen', () => {
  expect([seen('Accepted'), seen('Refused'), seen('Unknown')]).toEqual([true, false, undefined]);
});

test.each([true, false])('%s stays while the same contract does not answer', (acceptsUnsigned) => {
  expect(seen('Unknown', { acceptsUnsigned })).toBe(acceptsUnsigned);
  expect(seen('Unknown', { acceptsUnsigned, token: addressOf(0x70d) })).toBeUndefined();
});
