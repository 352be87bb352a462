import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createPlatformTokens, parseTokens } from '../../adapters/secrets/platform-tokens.js';
import { silentLogger } from '../../core/log.js';
import type { EpochMs } from '../../core/units/time.js';

const night = 'ab'.repeat(32);
const finance = 'cd'.repeat(32);
let directory: string;
let file: string;
let now: EpochMs;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'platform-tokens-'));
  file = join(directory, 'tokens');
  now = 1_700_000_000_000 as EpochMs;
});
afterEach(() => rmSync(directory, { recursive: true }));

const open = () => createPlatformTokens({ file, clock: { now: () => now }, log: silentLogger });
const later = (ms: number) => (now = (now + ms) as EpochMs);

test('a token is known by its hash, and no longer a second after its line is gone', async () => {
  writeFileSync(file, `# who is on call\n${night} night\n\n${finance}  finance # until May\n`);
  const tokens = open();
  expect(await tokens.nameOf(night)).toBe('night');
  expect(await tokens.nameOf(finance)).toBe('finance');
  expect(await tokens.nameOf('ef'.repeat(32))).toBeUndefined();
  // As a mounted Secret changes.
  writeFileSync(`${file}.new`, `${finance} finance\n`);
  renameSync(`${file}.new`, file);
  later(1_000);
  expect(await tokens.nameOf(night)).toBeUndefined();
});

test('a file that is not there, or has a wrong line, accepts nobody, and is read again', async () => {
  const tokens = open();
  await expect(tokens.nameOf(night)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  writeFileSync(file, `${night} night\nwrong\n`);
  later(1_000);
  await expect(tokens.nameOf(night)).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  writeFileSync(file, `${night} night\n`);
  later(1_000);
  expect(await tokens.nameOf(night)).toBe('night');
});

describe('a file is refused', () => {
  test.each([
    { name: 'a hash without a name', line: night },
    { name: 'a token instead of its hash', line: 'pmo_l0pT8bq2cJ5Q3v0u9xqz1N7Zr4mYkW2e night' },
    { name: 'a hash in capitals', line: `${night.toUpperCase()} night` },
    { name: 'a name of two words', line: `${night} at night` },
    { name: 'a hash twice', line: `${night} a\n${night} b` },
  ])('$name', ({ line }) => {
    expect(() => parseTokens(line)).toThrow(/^line \d must be/);
    expect(() => parseTokens(line)).not.toThrow(/pmo_|abab/);
  });

  test('more than 100', () => {
    const line = (_: unknown, at: number) => `${at.toString(16).padStart(64, '0')} t${at}`;
    expect(parseTokens(Array.from({ length: 100 }, line).join('\n')).size).toBe(100);
    expect(() => parseTokens(Array.from({ length: 101 }, line).join('\n'))).toThrow(/at most 100/);
  });
});
