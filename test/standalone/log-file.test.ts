import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { createLogger } from '../../adapters/log/pino-logger.js';
import { openLogFile } from '../../standalone/log-file.js';

const directory = mkdtempSync(join(tmpdir(), 'log-file-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test('lines are appended, and only the owner may read them', () => {
  const path = join(directory, 'appended.jsonl');
  for (const msg of ['one', 'two']) {
    const file = openLogFile(path);
    createLogger({ destination: file }).info(msg);
    file.close();
    file.close();
  }
  expect(messages(path)).toEqual(['one', 'two']);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test('a full disk loses lines and nothing else, and how many is said when there is space again', () => {
  const path = join(directory, 'full.jsonl');
  let isFull = false;
  const file = openLogFile(path, (descriptor, text) => {
    // The system writes the part that still fits before it refuses the rest.
    if (isFull) writeSync(descriptor, text.slice(0, 7));
    if (isFull) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    writeSync(descriptor, text);
  });
  const log = createLogger({ destination: file });
  log.info('before');
  isFull = true;
  log.info('lost');
  log.info('lost too');
  isFull = false;
  log.info('after');
  file.close();
  expect(messages(path)).toEqual(['before', 'torn', 'torn', 'log lines lost', 'after']);
  expect(readFileSync(path, 'utf8')).toContain('"lines":2');
});

test('a file that has reached its size is renamed, and only a few old ones are kept', () => {
  const path = join(directory, 'rotated.jsonl');
  const limits = { maxBytes: 400, oldFiles: 2 };
  for (const first of [0, 10]) {
    // The size of a file that was there before counts too.
    const file = openLogFile(path, writeSync, limits);
    const log = createLogger({ destination: file });
    for (let line = first; line < first + 10; line++) log.info(`${line} ${'x'.repeat(60)}`);
    file.close();
  }
  const files = readdirSync(directory).filter((name) => name.startsWith('rotated.jsonl'));
  expect(files.sort((a, b) => (a < b ? -1 : 1))).toEqual([
    'rotated.jsonl',
    'rotated.jsonl.1',
    'rotated.jsonl.2',
  ]);
  for (const name of files) {
    expect(statSync(join(directory, name)).size).toBeLessThanOrEqual(limits.maxBytes);
    expect(statSync(join(directory, name)).mode & 0o777).toBe(0o600);
  }
  const kept = [...files].reverse().flatMap((name) => messages(join(directory, name)));
  const numbers = kept.map((text) => Number.parseInt(String(text), 10));
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => 20 - numbers.length + i));
});

test('a file that cannot be renamed goes on, and nothing is lost', () => {
  const path = join(directory, 'stuck.jsonl');
  mkdirSync(join(directory, 'stuck.jsonl.1', 'in the way'), { recursive: true });
  const file = openLogFile(path, writeSync, { maxBytes: 200, oldFiles: 1 });
  const log = createLogger({ destination: file });
  for (let line = 0; line < 10; line++) log.info(String(line));
  file.close();
  expect(messages(path)).toEqual(['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']);
});

function messages(path: string): readonly unknown[] {
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map(messageOf);
}

function messageOf(line: string): unknown {
  try {
    const { msg }: { readonly msg?: unknown } = JSON.parse(line);
    return msg;
  } catch {
    return 'torn';
  }
}
