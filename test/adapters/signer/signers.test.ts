import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { globSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { SigningKey, computeAddress, concat, getBytes } from 'ethers';
import { loadSigners, variableName } from '../../../adapters/signer/signers.js';
import type { SignersOptions } from '../../../adapters/signer/signers.js';
import { createLocalSigner } from '../../../adapters/signer/file/local-signer.js';
import { loadCurve, loadNativeCurve, loadWasmCurve, recoverWith } from '../../../adapters/signer/curve.js';
import { silentLogger } from '../../../core/log.js';
import type { Logger } from '../../../core/log.js';
import { signerKinds } from '../../../adapters/signer/kinds.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { signerConformance } from '../../conformance/signer.js';

for (const load of [loadNativeCurve, loadWasmCurve])
  signerConformance(load.name, async (key) => ({
    signer: createLocalSigner(await load(), key, 'test key'),
    stop: async () => {},
  }));

describe.each([loadNativeCurve, loadWasmCurve])('recovering with $name', (load) => {
  const key = `0x${'5d'.repeat(32)}`;
  const digest = Buffer.alloc(32, 9);

  test('names who signed, and nobody where nobody can have', async () => {
    const recover = recoverWith(await load());
    const { r, s, yParity } = new SigningKey(key).sign(digest);
    const signature = Buffer.from(getBytes(concat([r, s])));
    expect(recover(digest, signature, yParity)).toBe(computeAddress(key));
    expect(recover(digest, signature, yParity === 0 ? 1 : 0)).not.toBe(computeAddress(key));
    // No point of the curve has 5 as its x.
    const nobody = Buffer.alloc(64);
    nobody[31] = 5;
    nobody[63] = 1;
    expect(recover(digest, nobody, 0)).toBeUndefined();
  });
});

test('a library that signs wrongly is found out before anything is signed', async () => {
  const native = await loadNativeCurve();
  const broken = {
    ...native,
    sign: (digest: Uint8Array, key: Uint8Array) => native.sign(digest.toReversed(), key),
  };
  expect(() => createLocalSigner(broken, Buffer.alloc(32, 1), 'dev')).toThrow(/wrong signatures/);
});

describe('the library that signs', () => {
  const noBinary = () => Promise.reject(new Error('No native build was found'));
  const listening = () => {
    const warnings: string[] = [];
    const log: Logger = { ...silentLogger, warn: (message) => void warnings.push(message) };
    return { warnings, log };
  };

  test('is native where there is a binary', async () => {
    const { warnings, log } = listening();
    expect((await loadCurve(log)).name).toBe('native');
    expect(warnings).toEqual([]);
  });

  test('is wasm where no native one is there, and the log says so', async () => {
    const { warnings, log } = listening();
    expect((await loadCurve(log, noBinary)).name).toBe('wasm');
    expect(warnings).toHaveLength(1);
  });
});

describe('loading keys', () => {
  const key = `0x${'5d'.repeat(32)}`;
  const other = `0x${'6e'.repeat(32)}`;
  let directory: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signers-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  const put = async (name: string, text: string, mode = 0o600) => {
    await writeFile(join(directory, name), text, { mode });
    await chmod(join(directory, name), mode);
  };
  const load = (options: Partial<SignersOptions> = {}) =>
    loadSigners({ directory, log: silentLogger, ...options });
  /** What is said about the only signer that there is, in a condition and in the log. */
  const failure = async (options: Partial<SignersOptions> = {}) => {
    const lines: unknown[] = [];
    const log: Logger = { ...silentLogger, error: (message, fields) => void lines.push(message, fields) };
    const signers = await load({ log, ...options });
    expect(signers.get('dev')).toBeUndefined();
    expect(lines).toHaveLength(2);
    return `${signers.problem?.('dev')} ${JSON.stringify(lines)}`;
  };

  test('a key file is found by its name, with or without 0x and a line end', async () => {
    await put('a', `${key}\n`);
    await put('b', other.slice(2), 0o400);
    const signers = await load();
    expect(signers.get('a')?.address).toBe(computeAddress(key));
    expect(signers.get('b')?.address).toBe(computeAddress(other));
    expect(signers.get('c')).toBeUndefined();
  });

  test.each([
    { mode: 0o640, text: '640' },
    { mode: 0o604, text: '604' },
    { mode: 0o644, text: '644' },
    { mode: 0o666, text: '666' },
    { mode: 0o620, text: '620' },
  ])('a file of mode $text is refused with the command that fixes it', async ({ mode }) => {
    await put('dev', key, mode);
    const message = await failure();
    expect(message).toContain(`chmod 600 ${join(directory, 'dev')}`);
    expect(message).not.toContain('5d5d');
  });

  test('a file that its group can read passes where that is said', async () => {
    await put('dev', key, 0o440);
    const signers = await load({ access: 'group' });
    expect(signers.get('dev')?.address).toBe(computeAddress(key));
  });

  test.each([
    { mode: 0o444, text: '444' },
    { mode: 0o660, text: '660' },
  ])('with group access mode $text is still refused', async ({ mode }) => {
    await put('dev', key, mode);
    expect(await failure({ access: 'group' })).toContain('chmod 640');
  });

  test.each([
    { name: 'too short', text: `0x${'5d'.repeat(31)}` },
    { name: 'not hex', text: `0x${'5d'.repeat(31)}5g` },
    { name: 'zero', text: `0x${'00'.repeat(32)}` },
    { name: 'the order itself', text: '0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141' },
    { name: 'a long text', text: `${'5d'.repeat(32)} `.repeat(100) },
    { name: 'empty', text: '' },
  ])('a file that is $name is an error that names it and quotes nothing', async ({ text }) => {
    await put('dev', text);
    const message = await failure();
    expect(message).toContain(join(directory, 'dev'));
    expect(message).toContain('private key');
    expect(message).not.toMatch(/5d5d|aedce6/);
  });

  test('a key of the environment stands for a file of its name', async () => {
    expect(variableName('dev-signer.key')).toBe('PAYMASTER_SIGNER_KEY_DEV_SIGNER_KEY');
    const signers = await load({ environment: { PAYMASTER_SIGNER_KEY_DEV_SIGNER_KEY: key, PATH: '/bin' } });
    expect(signers.get('dev-signer.key')?.address).toBe(computeAddress(key));
  });

  test('a file goes before a variable of the same name', async () => {
    await put('dev', other);
    const signers = await load({ environment: { PAYMASTER_SIGNER_KEY_DEV: key } });
    expect(signers.get('dev')?.address).toBe(computeAddress(other));
  });

  test('a bad variable is an error that names it and quotes nothing', async () => {
    const message = await failure({ environment: { PAYMASTER_SIGNER_KEY_DEV: key.slice(0, -2) } });
    expect(message).toContain('PAYMASTER_SIGNER_KEY_DEV');
    expect(message).not.toContain('5d5d');
  });

  test('a mounted Secret is read: links to files, with hidden directories beside them', async () => {
    await mkdir(join(directory, '..2026'));
    await put('..2026/dev', key);
    await symlink('..2026', join(directory, '..data'));
    await symlink('..data/dev', join(directory, 'dev'));
    const signers = await load();
    expect(signers.list().map(({ name }) => name)).toEqual(['dev']);
  });

  test('a bad file keeps no other from signing, and its own former signer stays until it is good again', async () => {
    await put('a', key);
    await put('c', 'no key');
    const signers = await load();
    expect(signers.get('a')?.address).toBe(computeAddress(key));
    await put('b', other);
    await put('a', 'no key either');
    await signers.reload();
    expect(signers.get('a')?.address).toBe(computeAddress(key));
    expect(signers.problem?.('a')).toContain('private key');
    expect(signers.get('b')?.address).toBe(computeAddress(other));
    await put('a', other);
    await put('c', key);
    await signers.reload();
    expect(['a', 'b', 'c'].map((name) => signers.get(name)?.address)).toEqual(
      [other, other, key].map((one) => computeAddress(one)),
    );
    expect(signers.problem?.('a')).toBeUndefined();
  });

  test('a file that is taken away signs no longer', async () => {
    await put('a', key);
    const signers = await load();
    await rm(join(directory, 'a'));
    await signers.reload();
    expect(signers.get('a')).toBeUndefined();
  });

  test('a directory that cannot be read leaves everything as it was', async () => {
    await put('a', key);
    const signers = await load();
    await rm(directory, { recursive: true });
    await expect(signers.reload()).rejects.toThrow(/ENOENT/);
    expect(signers.get('a')?.address).toBe(computeAddress(key));
    await mkdir(directory);
  });

  describe('a signer of another kind', () => {
    test.each([
      { name: 'an unknown kind', text: 'kind: hsm', want: ['kind must be one of file, ', 'got "hsm"'] },
      { name: 'a kind that is a key', text: `kind: ${key}`, want: ['kind must be one of file, '] },
      {
        name: 'fields that are missing',
        text: 'kind: web3signer\nurl: http://127.0.0.1',
        want: ['publicKey must be set', 'address must be set'],
      },
      {
        name: 'wrong fields',
        text: 'kind: web3signer\nurl: ftp://127.0.0.1\npublicKey: 0x04\naddress: 0x05\nadress: x',
        want: [
          'url must be an http',
          'got "ftp://127.0.0.1"',
          'publicKey must be a public key',
          'got "0x05"',
          'adress must be left out',
        ],
      },
      {
        name: 'a private key in the wrong field',
        text: `kind: web3signer\nurl: http://127.0.0.1\npublicKey: ${key}\naddress: ${key}`,
        want: ['publicKey must be a public key', 'address must be an address'],
      },
      { name: 'text that is almost YAML', text: `kind: file\n  ${key}: [`, want: ['private key'] },
    ])(
      'with $name is an error that names file, field and value, and quotes no key',
      async ({ text, want }) => {
        await put('dev', text);
        const message = await failure();
        expect(message).toContain(join(directory, 'dev'));
        for (const part of want) expect(message.replaceAll('\\"', '"')).toContain(part);
        expect(message).not.toContain('5d5d');
      },
    );
  });

  test('the library in use is reported, and no line holds a key', async () => {
    await put('dev', key);
    const lines: string[] = [];
    const write = (message: string, fields?: object) =>
      void lines.push(`${message} ${JSON.stringify(fields)}`);
    const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log };
    const signers = await load({ log });
    expect(signers.implementation).toBe('native');
    expect(signers.get('dev')?.implementation).toBe('native');
    expect(lines.join('\n')).toContain('"implementation":"native"');
    expect(lines.join('\n')).toContain(computeAddress(key));
    expect(lines.join('\n')).not.toContain('5d5d');
  });
});

test('every file of examples/signers is one, and there is one of each kind that has fields', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'signers-'));
  const files = globSync('*.yaml', { cwd: join(repositoryRoot, 'examples/signers') });
  for (const name of files) {
    await cp(join(repositoryRoot, 'examples/signers', name), join(directory, name));
    await chmod(join(directory, name), 0o600);
  }
  const limits = { deadlineMs: 50, calls: 100 };
  const environment = { AWS_SHARED_CREDENTIALS_FILE: '/none', GCE_METADATA_HOST: '127.0.0.1:9' };
  const signers = await loadSigners({ directory, environment, limits, log: silentLogger });
  expect(files.map((name) => signers.problem?.(name))).toEqual(files.map(() => undefined));
  expect(signers.list().every(({ signer }) => signer.trouble?.() !== undefined)).toBe(true);
  const kinds = files.map((name) => name.replace(/(-.*)?\.yaml$/, ''));
  expect(new Set(['file', ...kinds])).toEqual(new Set(Object.keys(signerKinds)));
  signers.stop();
  await rm(directory, { recursive: true });
});

test('docs/keys.md names every kind of signers', () => {
  const page = readFileSync(join(repositoryRoot, 'docs/keys.md'), 'utf8');
  for (const [name, { title }] of Object.entries(signerKinds))
    expect(page).toContain(`| \`${name}\` | ${title} |`);
});
