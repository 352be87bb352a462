import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { openDataDirectory, UnusableFile, type DataDirectory } from '../../standalone/data-directory.js';
import { loadMasterKeys, loadSessionKey } from '../../standalone/master-keys.js';

const [k1, w1] = ['11', '22'].map((byte) => byte.repeat(32)) as [string, string];

let directory: DataDirectory;
afterEach(() => rmSync(directory.path, { recursive: true, force: true }));

function open(): void {
  directory = openDataDirectory(mkdtempSync(join(tmpdir(), 'master-keys-')));
}

const file = (name: string): string => join(directory.path, name);
const read = (name: string): string => readFileSync(file(name), 'utf8').trim();
const put = (name: string, text: string): void => writeFileSync(file(name), `${text}\n`);
const hex = (key: Uint8Array | undefined): string | undefined => key && Buffer.from(key).toString('hex');

/** The keys as hex. */
function load() {
  const { current, previous, webhook, webhookPrevious } = loadMasterKeys(directory);
  return [current, previous, webhook, webhookPrevious].map(hex);
}

/** Names and contents of all files. */
function onDisk(): readonly (readonly [string, string])[] {
  return readdirSync(directory.path)
    .filter((name) => statSync(file(name)).isFile())
    .map((name) => [name, read(name)]);
}

describe('the master keys of an instance', () => {
  test('are made at the first start, differ, stay, and nobody else may read them', () => {
    open();
    const first = load();
    expect(first).toEqual([read('master.key'), undefined, read('webhook-master.key'), undefined]);
    expect(read('master.key')).not.toBe(read('webhook-master.key'));
    expect(load()).toEqual(first);
    for (const name of ['master.key', 'webhook-master.key', 'keys-in-force.json'])
      expect(statSync(file(name)).mode & 0o777).toBe(0o600);
    expect(read('keys-in-force.json')).not.toContain(first[0]);
  });

  test('are not what seals sessions of the console: that key is made apart, and again when it is missing', () => {
    open();
    load();
    const made = hex(loadSessionKey(directory));
    expect(made).toBe(read('session.key'));
    expect([read('master.key'), read('webhook-master.key')]).not.toContain(made);
    expect(statSync(file('session.key')).mode & 0o777).toBe(0o600);
    expect(hex(loadSessionKey(directory))).toBe(made);
    rmSync(file('session.key'));
    expect(hex(loadSessionKey(directory))).not.toBe(made);
  });

  test('of a release that kept no record are taken as they are', () => {
    open();
    put('master.key', k1);
    put('webhook-master.key', w1);
    expect(load()).toEqual([k1, undefined, w1, undefined]);
    expect(existsSync(directory.keysInForceFile)).toBe(true);
  });

  test('are exchanged in two starts: with the former ones beside them, then without', () => {
    open();
    const [k0, , w0] = load();
    put('master.key', k1);
    put('master-previous.key', k0!);
    put('webhook-master.key', w1);
    put('webhook-master-previous.key', w0!);
    expect(load()).toEqual([k1, k0, w1, w0]);
    for (const name of ['master-previous.key', 'webhook-master-previous.key']) rmSync(file(name));
    expect(load()).toEqual([k1, undefined, w1, undefined]);
    expect(load()).toEqual([k1, undefined, w1, undefined]);
  });

  test.each<{ name: string; change: (k0: string, w0: string) => void; message: RegExp }>([
    {
      name: 'another apiKey key',
      change: () => put('master.key', k1),
      message:
        /does not hold the master keys of the last start: add the former key as master-previous\.key to/,
    },
    {
      name: 'two other keys, one with the former beside it',
      change: (k0) => {
        put('master.key', k1);
        put('master-previous.key', k0);
        put('webhook-master.key', w1);
      },
      message: /add the former key as webhook-master-previous\.key to accept both, or put it back/,
    },
    {
      name: 'two other keys',
      change: () => {
        put('master.key', k1);
        put('webhook-master.key', w1);
      },
      message: /as master-previous\.key and webhook-master-previous\.key to .*delete .*keys-in-force\.json$/,
    },
    {
      name: 'a file that is missing',
      change: () => rmSync(file('webhook-master.key')),
      message: /webhook-master\.key is missing: restore it; to end .* delete .*keys-in-force\.json$/,
    },
    {
      name: 'a new key of the wrong form',
      change: (k0) => {
        put('master-previous.key', k0);
        put('master.key', 'secret');
      },
      message: /[/]master\.key must hold 64 hex digits; restore it$/,
    },
    {
      name: 'a record that is torn',
      change: () => put('keys-in-force.json', '{"apiKeys":["0123456789abcdef"'),
      message: /keys-in-force\.json must hold the fingerprints of the master keys; delete it/,
    },
  ])('are refused as a whole, and nothing is written: $name', ({ change, message }) => {
    open();
    const [k0, , w0] = load();
    change(k0!, w0!);
    const before = onDisk();
    expect(load).toThrow(UnusableFile);
    expect(load).toThrow(message);
    expect(onDisk()).toEqual(before);
  });

  test('end when the record of them is deleted', () => {
    open();
    load();
    put('master.key', k1);
    rmSync(directory.keysInForceFile);
    expect(load()[0]).toBe(k1);
  });
});
