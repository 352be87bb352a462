import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createCredentialSource, readKubeAccess } from '../../adapters/kube/credentials.js';
import { createKubeTransport } from '../../adapters/kube/transport.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
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

function kubeconfig(user: object, ofCluster: object = {}): string {
  const file = join(directory, 'config');
  const context = (name: string) => ({ name, context: { cluster: name, user: 'me' } });
  const cluster = (name: string, server: string) => ({
    name,
    cluster: {
      server,
      'certificate-authority-data': Buffer.from('PEM').toString('base64'),
      ...ofCluster,
    },
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

/** What the logins of clouds are: a program that prints credentials, here those in a file. */
function plugin(): object {
  const program = `process.stdout.write(require('node:fs').readFileSync(process.env.CREDENTIALS, 'utf8'))`;
  return {
    exec: {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: process.execPath,
      args: ['-e', program],
      env: [{ name: 'CREDENTIALS', value: join(directory, 'plugin') }],
    },
  };
}

const execCredential = (status: object): string =>
  JSON.stringify({ apiVersion: 'client.authentication.k8s.io/v1', kind: 'ExecCredential', status });

test('a plugin gives a token, and is asked again when the server refuses it', async () => {
  write('plugin', execCredential({ token: 'first', expirationTimestamp: '2999-01-01T00:00:00Z' }));
  const source = createCredentialSource({ from: 'kubeconfig', file: kubeconfig(plugin()) }, clock);
  expect((await source.load(false)).authorization).toBe('Bearer first');
  write('plugin', execCredential({ token: 'second', expirationTimestamp: '2999-01-01T00:00:00Z' }));
  expect((await source.load(false)).authorization).toBe('Bearer first');
  expect((await source.load(true)).authorization).toBe('Bearer second');
});

test('a plugin gives a client certificate', async () => {
  write('plugin', execCredential({ clientCertificateData: 'CERT', clientKeyData: 'KEY' }));
  const source = createCredentialSource({ from: 'kubeconfig', file: kubeconfig(plugin()) }, clock);
  expect(await source.load(false)).toMatchObject({ clientCertificate: 'CERT', clientKey: 'KEY' });
});

test('a login by OpenID Connect gives its token while it is good', async () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const token = `${part({ alg: 'RS256' })}.${part({ exp: 32_503_680_000 })}.c2lnbmVk`;
  const config = { 'id-token': token, 'client-id': 'paymaster', 'idp-issuer-url': 'https://login' };
  const file = kubeconfig({ 'auth-provider': { name: 'oidc', config } });
  const source = createCredentialSource({ from: 'kubeconfig', file }, clock);
  expect((await source.load(false)).authorization).toBe(`Bearer ${token}`);
});

test('an API server behind a proxy is reached through the proxy that the kubeconfig names', async () => {
  const api = await listening((_request, response) => response.end('{"major":"1"}'));
  const proxy = await listening((_request, response) => response.writeHead(400).end());
  const reached: string[] = [];
  proxy.server.on('connect', (request: IncomingMessage, client: Socket) => {
    reached.push(request.url ?? '');
    const upstream = connect(api.port, '127.0.0.1', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      upstream.pipe(client).pipe(upstream);
    });
    upstream.on('error', () => client.destroy());
    client.on('error', () => upstream.destroy());
  });
  const file = kubeconfig(
    { token: 'secret' },
    { server: 'http://api.of.a.private.network', 'proxy-url': `http://127.0.0.1:${proxy.port}` },
  );
  const credentials = createCredentialSource({ from: 'kubeconfig', file }, clock);
  const transport = createKubeTransport({
    credentials,
    userAgent: 'test',
    log: silentLogger,
    metrics: noMetrics,
  });
  try {
    expect(await transport.request({ method: 'GET', path: '/version' })).toEqual({ major: '1' });
    expect(reached).toEqual(['api.of.a.private.network:80']);
  } finally {
    await transport.stop();
    for (const { server } of [api, proxy]) server.close();
  }
});

test('a proxy that is not HTTP is refused: a direct connection would not be what the file asks for', async () => {
  const file = kubeconfig({ token: 'secret' }, { 'proxy-url': 'socks5://127.0.0.1:1080' });
  const source = createCredentialSource({ from: 'kubeconfig', file }, clock);
  await expect(source.load(false)).rejects.toThrow(/proxy-url must be http:\/\/… or https:\/\/…/);
});

async function listening(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

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
