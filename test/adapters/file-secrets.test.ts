import { mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createFileConnectionSecrets } from '../../adapters/secrets/file-secrets.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'secrets-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const request = {
  namespace: 'acme',
  name: 'shop-connection',
  owner: { name: 'shop', uid: 'u1' },
  data: { apiKey: 'a.b', chainId: '31337' },
};

describe('a connection secret', () => {
  test('is written once, for its owner only to read, and leaves nothing else behind', async () => {
    const secrets = createFileConnectionSecrets({ directory });
    expect(await secrets.write(request)).toBe('written');
    const path = join(directory, 'acme', 'shop-connection.json');
    expect(JSON.parse(await readFile(path, 'utf8'))).toEqual({ owner: 'shop', data: request.data });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readdir(join(directory, 'acme'))).toEqual(['shop-connection.json']);
  });

  test('is left alone when it says the same already', async () => {
    const secrets = createFileConnectionSecrets({ directory });
    await secrets.write(request);
    const before = await stat(join(directory, 'acme', 'shop-connection.json'));
    expect(await secrets.write(request)).toBe('unchanged');
    const after = await stat(join(directory, 'acme', 'shop-connection.json'));
    expect(after.ino).toBe(before.ino);
  });

  test('follows a change of its data', async () => {
    const secrets = createFileConnectionSecrets({ directory });
    await secrets.write(request);
    expect(await secrets.write({ ...request, data: { apiKey: 'c.d' } })).toBe('written');
    const text = await readFile(join(directory, 'acme', 'shop-connection.json'), 'utf8');
    expect(JSON.parse(text)).toEqual({ owner: 'shop', data: { apiKey: 'c.d' } });
  });

  test('of another paymaster is never touched', async () => {
    const secrets = createFileConnectionSecrets({ directory });
    await secrets.write(request);
    expect(await secrets.write({ ...request, owner: { name: 'other', uid: 'u2' }, data: {} })).toBe(
      'not-ours',
    );
    const text = await readFile(join(directory, 'acme', 'shop-connection.json'), 'utf8');
    expect(JSON.parse(text)).toMatchObject({ owner: 'shop', data: request.data });
  });

  test.each(['precious', '{"data":{}}', '[]', 'null'])(
    'that somebody else wrote (%s) is never touched',
    async (text) => {
      await mkdir(join(directory, 'acme'));
      const path = join(directory, 'acme', 'shop-connection.json');
      await writeFile(path, text);
      expect(await createFileConnectionSecrets({ directory }).write(request)).toBe('not-ours');
      expect(await readFile(path, 'utf8')).toBe(text);
    },
  );

  test.each(['../evil', 'a/b', '..', '', 'UPPER'])('named %j is refused', async (name) => {
    const write = createFileConnectionSecrets({ directory }).write({ ...request, name });
    await expect(write).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('that cannot be written is an outage, to be tried again', async () => {
    await writeFile(join(directory, 'acme'), 'a file where the folder should be');
    const write = createFileConnectionSecrets({ directory }).write(request);
    await expect(write).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  });

  test('written by two at once belongs to exactly one', async () => {
    const write = (owner: string): Promise<string> =>
      createFileConnectionSecrets({ directory }).write({ ...request, owner: { name: owner, uid: owner } });
    expect((await Promise.all([write('a'), write('b')])).sort()).toEqual(['not-ours', 'written']);
  });
});
