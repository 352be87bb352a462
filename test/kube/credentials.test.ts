import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { readKubeAccess } from '../../adapters/kube/access.js';
import { createCredentialSource } from '../../adapters/kube/credentials.js';
import { Settings } from '../../core/settings.js';
import type { EpochMs } from '../../core/units/time.js';

let directory: string;
let now: number;
const clock = { now: () => now as EpochMs };
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'kube-credentials-'));
  now = 1_000_000;
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const write = (name: string, text: string) => writeFileSync(join(directory, name), text);

function serviceAccount(token = 'first\n') {
  write('token', token);
  write('ca.crt', 'PEM');
  return openSource();
}

function openSource() {
  const files = { directory, host: '10.0.0.1', port: '443' };
  return createCredentialSource({ from: 'service-account', files }, clock);
}

test('a pod identifies itself by its mounted token and trusts the mounted authority', async () => {
  expect(await serviceAccount().load(false)).toEqual({
    server: 'https://10.0.0.1:443',
    ca: 'PEM',
    authorization: 'Bearer first',
  });
});

test('a rotated token is found after a minute, and at once when the server refuses the old one', async () => {
  const source = serviceAccount();
  await source.load(false);
  write('token', 'second');
  now += 59_000;
  expect((await source.load(false)).authorization).toBe('Bearer first');
  expect((await source.load(true)).authorization).toBe('Bearer second');
  write('token', 'third');
  now += 61_000;
  expect((await source.load(false)).authorization).toBe('Bearer third');
});

test('a mount that is being swapped keeps the previous token; at the start it is an error that names the file', async () => {
  const source = serviceAccount();
  await source.load(false);
  write('token', '');
  expect((await source.load(true)).authorization).toBe('Bearer first');
  await expect(serviceAccount('').load(false)).rejects.toThrow(
    /token is empty: is the service account mounted/,
  );
  rmSync(join(directory, 'token'));
  await expect(source.load(true)).resolves.toMatchObject({ authorization: 'Bearer first' });
  await expect(openSource().load(false)).rejects.toThrow(/ENOENT.*token/);
});

function kubeconfig(user: object): string {
  const file = join(directory, 'config');
  const context = (name: string) => ({ name, context: { cluster: name, user: 'me' } });
  const cluster = (name: string, server: string) => ({
    name,
    cluster: { server, 'certificate-authority-data': Buffer.from('PEM').toString('base64') },
  });
  writeFileSync(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [cluster('one', 'https://one:6443'), cluster('two', 'https://two:6443')],
      users: [{ name: 'me', user }],
      contexts: [context('one'), context('two')],
      'current-context': 'one',
    }),
  );
  return file;
}

test('a kubeconfig gives server, authority and token of its current context, or of a named one', async () => {
  const file = kubeconfig({ token: 'secret' });
  expect(await createCredentialSource({ from: 'kubeconfig', file }, clock).load(false)).toEqual({
    server: 'https://one:6443',
    ca: 'PEM',
    authorization: 'Bearer secret',
  });
  const other = createCredentialSource({ from: 'kubeconfig', file, context: 'two' }, clock);
  expect((await other.load(false)).server).toBe('https://two:6443');
});

test('a kubeconfig with client certificates gives them instead of a token', async () => {
  const file = kubeconfig({
    'client-certificate-data': Buffer.from('CERT').toString('base64'),
    'client-key-data': Buffer.from('KEY').toString('base64'),
  });
  expect(await createCredentialSource({ from: 'kubeconfig', file }, clock).load(false)).toMatchObject({
    clientCertificate: 'CERT',
    clientKey: 'KEY',
  });
});

test('a context that does not exist is an error that names it', async () => {
  const file = kubeconfig({ token: 'secret' });
  const source = createCredentialSource({ from: 'kubeconfig', file, context: 'nowhere' }, clock);
  await expect(source.load(false)).rejects.toThrow(/nowhere/);
});

test('outside of a pod KUBECONFIG must be set, and wins where both are there', () => {
  const outside = new Settings({});
  readKubeAccess(outside);
  expect(() => outside.finish({})).toThrow('KUBECONFIG must be set outside of a pod');
  const both = { KUBECONFIG: '/config', KUBERNETES_SERVICE_HOST: '10.0.0.1' };
  expect(readKubeAccess(new Settings(both))).toEqual({ from: 'kubeconfig', file: '/config' });
});
