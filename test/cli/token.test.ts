import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { parseTokens } from '../../adapters/secrets/platform-tokens.js';
import { hashCredential } from '../../core/config/api-key.js';
import { validateResource } from '../../core/resources/validate.js';
import { anOrganisation } from '../build/resources.js';
import { paymaster } from '../support/paymaster.js';

test('the command prints a token, and an entry with which an Organisation accepts it', async () => {
  const { status, out } = await paymaster(['token', 'ci', '--expires-at', '2027-01-31T00:00:00Z']);
  expect(status).toBe(0);
  const token = /^ {2}(pmo_\S+)$/m.exec(out)?.[1] ?? '';
  const tokens = parse(out.slice(out.indexOf('  - ')));
  expect(tokens).toEqual([{ name: 'ci', sha256: hashCredential(token), expiresAt: '2027-01-31T00:00:00Z' }]);
  const organisation = anOrganisation();
  expect(
    validateResource('Organisation', { ...organisation, spec: { ...organisation.spec, tokens } }),
  ).toEqual([]);
});

test('and the line with which the platform accepts it, where that can be said', async () => {
  const { out } = await paymaster(['token', 'night']);
  const token = /^ {2}(pmo_\S+)$/m.exec(out)?.[1] ?? '';
  const line = out.trimEnd().split('\n').at(-1) ?? '';
  expect([...parseTokens(line)]).toEqual([[hashCredential(token), 'night']]);
  for (const args of [['on call'], ['a#b'], ['ci', '--expires-at', '2027-01-31T00:00:00Z']])
    expect((await paymaster(['token', ...args])).out).not.toContain('PLATFORM');
});

test.each([
  { format: 'json', read: (text: string) => JSON.parse(text) },
  { format: 'yaml', read: (text: string) => parse(text) },
])('programs get the same as $format', async ({ format, read }) => {
  const { authToken, entry } = read((await paymaster(['token', '-o', format])).out);
  expect(entry).toEqual({ name: 'dashboard', sha256: hashCredential(authToken) });
});

test('no two tokens are the same', async () => {
  expect((await paymaster(['token'])).out).not.toBe((await paymaster(['token'])).out);
});

test.each([
  { args: ['ci', '--expires-at', 'tomorrow'], says: 'expiresAt must be a time such as' },
  { args: [' '], says: 'name must be a name of 1 to 128 characters' },
])('wrong arguments $args are refused, and no token is shown', async ({ args, says }) => {
  const { status, out, error } = await paymaster(['token', ...args]);
  expect(status).toBe(2);
  expect(error).toContain(says);
  expect(out).toBe('');
});
