import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { deriveApiKey, hashCredential } from '../../../core/config/api-key.js';
import { deriveWebhookKey } from '../../../core/policy/webhook/signing-key.js';
import { derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';

const master = new Uint8Array(32).fill(7);
const owner = { namespace: 'acme', name: 'shop', keyGeneration: 1 };

describe('an apiKey', () => {
  test('has the shape of nine characters, a dot and a uuid', () => {
    expect(deriveApiKey(master, owner)).toMatch(
      /^[A-Za-z0-9_-]{9}\.[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
  });

  test('is the same whenever it is derived, so that it can be listed without being stored', () => {
    expect(deriveApiKey(Uint8Array.from(master), { ...owner })).toBe(deriveApiKey(master, owner));
  });

  test.each([
    { name: 'another namespace', other: { ...owner, namespace: 'acm' } },
    { name: 'the same text split elsewhere', other: { ...owner, namespace: 'acmes', name: 'hop' } },
    { name: 'another name', other: { ...owner, name: 'shop2' } },
    { name: 'a raised keyGeneration', other: { ...owner, keyGeneration: 2 } },
  ])('$name has another one', ({ other }) => {
    expect(deriveApiKey(master, other)).not.toBe(deriveApiKey(master, owner));
  });

  test('of another master key is another one', () => {
    expect(deriveApiKey(new Uint8Array(32).fill(8), owner)).not.toBe(deriveApiKey(master, owner));
  });

  test('is stored as SHA-256 in lowercase hex, as authTokens are', () => {
    const want = createHash('sha256').update('secret').digest('hex');
    expect(hashCredential('secret')).toBe(want);
    expect(hashCredential('secret')).toBe(want);
  });
});

test('a webhook key is 64 hex digits and differs by policy and master key', () => {
  const key = deriveWebhookKey(master, derivePolicyId('acme', 'hook'));
  expect(key).toMatch(/^[0-9a-f]{64}$/);
  expect(deriveWebhookKey(master, derivePolicyId('acme', 'hook2'))).not.toBe(key);
  expect(deriveWebhookKey(new Uint8Array(32), derivePolicyId('acme', 'hook'))).not.toBe(key);
});

test('ids are UUIDs of version 5 that never change and differ by kind', () => {
  // Pinned: a change of these would orphan every counter and every key that customers hold.
  expect(derivePaymasterId('acme', 'shop')).toBe('c955cc16-450a-5274-bd92-b5cd46fe4b8b');
  expect(derivePolicyId('acme', 'shop')).toBe('a432e3a0-8f7b-57cb-b72c-e70cdf7b1c5c');
});
