import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { hashCredential } from '../../core/config/api-key.js';
import { validateResource } from '../../core/resources/validate.js';
import { anOrganisation } from '../build/resources.js';

const command = fileURLToPath(new URL('../../server/new-auth-token.js', import.meta.url));

function run(...args: readonly string[]): { readonly status: number | null; readonly out: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--no-warnings', command, ...args], {
    encoding: 'utf8',
  });
  return { status, out: `${stdout}${stderr}` };
}

test('the command prints a token, and an entry with which an Organisation accepts it', () => {
  const { status, out } = run('ci', '2027-01-31T00:00:00Z');
  expect(status).toBe(0);
  const token = /^ {2}(pmo_\S+)$/m.exec(out)?.[1] ?? '';
  const tokens = parse(out.slice(out.indexOf('  - ')));
  expect(tokens).toEqual([{ name: 'ci', sha256: hashCredential(token), expiresAt: '2027-01-31T00:00:00Z' }]);
  const organisation = anOrganisation();
  expect(
    validateResource('Organisation', { ...organisation, spec: { ...organisation.spec, tokens } }),
  ).toEqual([]);
});

test('no two tokens are the same', () => {
  expect(run().out).not.toBe(run().out);
});

test.each([
  { args: ['ci', 'tomorrow'], says: 'expiresAt must be a time such as' },
  { args: [' '], says: 'name must be a name of 1 to 128 characters' },
])('wrong arguments $args are refused with the correct usage, and no token is shown', ({ args, says }) => {
  const { status, out } = run(...args);
  expect(status).toBe(1);
  expect(out).toContain(says);
  expect(out).toContain('usage: ');
  expect(out).not.toContain('pmo_');
});
