import { mkdtempSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
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
