import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { computeAddress } from 'ethers';
import { loadSigners } from '../../adapters/signer/signers.js';
import { silentLogger } from '../../core/log.js';
import { paymaster } from '../support/paymaster.js';

const key = `0x${'5d'.repeat(32)}`;
let directory: string;
const write = (name: string, text: string): string => {
  const path = join(directory, name);
  writeFileSync(path, text);
  chmodSync(path, 0o600);
  return path;
};

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signer-wrap-'));
});
afterAll(() => rmSync(directory, { recursive: true }));

test('wrap prints a file that signs, for a new key and for one that is there, and shows neither', async () => {
  const wrapping = write('wrapping.key', 'ab'.repeat(32));
  const from = write('signer.key', key);
  const wrap = ['signer', 'wrap', '--provider', 'file', '--key', wrapping];
  const made = await paymaster(wrap);
  const wrapped = await paymaster([...wrap, '--from', from]);
  expect([made.status, wrapped.status]).toEqual([0, 0]);
  expect(wrapped.out).not.toContain('5d5d');
  const environment = { PAYMASTER_SIGNER_KEY_MADE: made.out, PAYMASTER_SIGNER_KEY_WRAPPED: wrapped.out };
  const signers = await loadSigners({ environment, log: silentLogger });
  for (const name of ['made', 'wrapped']) expect(signers.get(name)?.trouble?.()).toBeUndefined();
  expect(signers.get('wrapped')?.address).toBe(computeAddress(key));
  expect(signers.get('made')?.address).not.toBe(computeAddress(key));
});

test.each([
  {
    name: 'a key of another provider',
    args: ['--provider', 'aws', '--key', '/wrapping.key'],
    status: 2,
    want: 'the ARN of a KMS key',
  },
  {
    name: 'a provider that wraps nothing',
    args: ['--provider', 'azure', '--key', 'x'],
    status: 2,
    want: 'aws, gcp, file',
  },
  {
    name: 'a wrapping key that is not there',
    args: ['--provider', 'file', '--key', '/nowhere.key'],
    status: 1,
    want: '/nowhere.key cannot be read',
  },
])('wrap with $name ends with $status and says why', async ({ args, status, want }) => {
  const ended = await paymaster(['signer', 'wrap', ...args]);
  expect(ended.status).toBe(status);
  expect(ended.error).toContain(want);
  expect(ended.out).toBe('');
});
