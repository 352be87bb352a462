import { mkdtempSync } from 'node:fs';
import { request as askHttp, type IncomingHttpHeaders } from 'node:http';
import { request as askHttps } from 'node:https';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freePort } from '../support/cluster/free-port.js';
import { startTlsProxy } from '../support/tls-proxy.js';
import { freshUserOp } from './support/client.js';
import { useStarts } from './support/starts.js';

// One machine on the internet: a proxy ends TLS, and somebody publishes the port behind it, too.

const { start, spawn, forget } = useStarts();
const publicName = 'pay.example.org';

type Answer = { readonly status: number; readonly body: string; readonly headers: IncomingHttpHeaders };

test('a service that others can reach does not start without TLS', async () => {
  const exposed = await spawn({ environment: { HOST: '0.0.0.0' } });
  expect(await exposed.ended).toBe(1);
  expect(exposed.output()).toContain('without TLS anyone on the way reads keys, tokens and sessions');
});

test('behind a proxy it answers what came over TLS, and at its own port nobody but this machine', async () => {
  const proxy = await startTlsProxy(forget(mkdtempSync(join(tmpdir(), 'tls-'))), publicName);
  const visit = (path: string, { headers, ...question }: Question) =>
    ask(`https://127.0.0.1:${proxy.port}`, path, { ...question, headers: { ...headers, host: publicName } });
  const address = Object.values(networkInterfaces())
    .flatMap((each) => each ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  const port = await freePort();
  const running = await start({
    port,
    environment: { HOST: '0.0.0.0', PAYMASTER_PUBLIC_URL: `https://${publicName}` },
  });
  try {
    proxy.to(port);
    const { dashboardUrl, rpcUrl, authToken } = running.connection();
    // What wallets and people are given leads to the proxy; programs of this machine ask here.
    expect(rpcUrl).toMatch(/^https:\/\/pay\.example\.org\/api\/v1\/31337\//);
    expect(running.output()).toContain(`https://${publicName}/console/`);
    expect(running.output()).not.toContain('#code=');
    expect((await fetch(`${dashboardUrl}/readyz`)).status).toBe(200);

    const path = new URL(rpcUrl).pathname;
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'pm_sponsorUserOperation',
      params: [freshUserOp(running.connection()), { mode: 'SPONSORED' }],
    });
    expect((await visit(path, { body })).body).toMatch(/"paymasterAndData":"0x[0-9a-f]{552}"/);
    const signIn = await visit('/console/session', {
      body: JSON.stringify({ token: authToken }),
      headers: { origin: `https://${publicName}` },
    });
    expect(signIn.status).toBe(200);
    expect(String(signIn.headers['set-cookie'])).toContain('__Host-paymaster-session=');

    // What a visitor says of TLS and of his address, the proxy replaces.
    const liar = { 'x-forwarded-proto': 'http', 'x-forwarded-for': '127.0.0.1' };
    expect((await visit('/console/', { headers: liar })).status).toBe(200);

    if (address === undefined) return;
    const direct = `http://${address}:${port}`;
    for (const headers of [
      { host: `${address}:${port}` },
      { host: publicName },
      { host: publicName, 'x-forwarded-proto': 'http' },
      { host: 'localhost', 'x-forwarded-proto': 'https' },
    ])
      for (const page of ['/console/', '/manage/v1/paymasters', path])
        expect([headers, (await ask(direct, page, { headers })).status]).toEqual([headers, 421]);
    // He would choose the address that limits count.
    const spoofed = { host: publicName, 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' };
    expect((await ask(direct, '/console/', { headers: spoofed })).status).toBe(421);
  } finally {
    proxy.stop();
  }
});

type Question = { readonly body?: string; readonly headers?: Readonly<Record<string, string>> };

async function ask(origin: string, path: string, { body, headers }: Question): Promise<Answer> {
  const url = new URL(path, origin);
  const send = url.protocol === 'https:' ? askHttps : askHttp;
  return new Promise((resolve, reject) => {
    const request = send(
      url,
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json', connection: 'close', ...headers },
        rejectUnauthorized: false,
      },
      (response) => {
        let text = '';
        response.on('data', (chunk: Buffer) => (text += chunk.toString()));
        response.once('end', () =>
          resolve({ status: response.statusCode ?? 0, body: text, headers: response.headers }),
        );
      },
    );
    request.once('error', reject);
    request.end(body);
  });
}
