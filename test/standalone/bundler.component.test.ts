import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { systemTimers } from '../../adapters/timers.js';
import { startBundler, type Bundler } from '../../standalone/bundler/bundler.js';
import { PortInUse, type PortChoice } from '../../standalone/port-choice.js';
import { succeeds, until } from '../support/until.js';

// A stand-in for alto, which is not installed for these tests: it takes the same option and writes the same lines. `make test-clients`
// runs alto itself.
const standIn = `
const { createServer } = require('node:http');
const port = Number(process.argv[process.argv.indexOf('--port') + 1]);
const write = (entry) => console.log(JSON.stringify(entry));
const server = createServer((request, response) => {
  if (request.url === '/end') process.exit(0);
  response.end(String(process.pid));
});
server.once('error', ({ code }) => {
  write({ level: 'error', err: { code }, msg: 'Unhandled Promise Rejection' });
  process.exit(0);
});
server.listen(port, '0.0.0.0', () =>
  write({ level: 'info', msg: 'Server listening at http://0.0.0.0:' + server.address().port }));`;

let directory: string;
let restarts: number;
const stops: (() => Promise<unknown>)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'bundler-'));
  restarts = 0;
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  rmSync(directory, { recursive: true, force: true });
});

test('it listens on the next port when another program has the first one', async () => {
  const taken = await occupy();
  const port = Number(new URL(await start(standIn, { kind: 'from', port: taken }).url).port);
  expect(port).toBeGreaterThan(taken);
});

test('it does not start elsewhere when it must have a port that another program has', async () => {
  const taken = await occupy();
  const { url } = start(standIn, { kind: 'exact', port: taken });
  await expect(url).rejects.toThrow(PortInUse);
  await expect(url).rejects.toThrow(`port ${taken} is in use`);
});

test('when it ends by itself it is started again at the same address', async () => {
  const url = await start(standIn).url;
  const former = await pidAt(url);
  await fetch(new URL('/end', url)).catch(() => {});
  await until('another one answers', () => succeeds(pidAt(url).then((pid) => expect(pid).not.toBe(former))));
  expect(restarts).toBe(1);
});

test('it is not started again after a stop', async () => {
  const bundler = start(standIn);
  const url = await bundler.url;
  await Promise.all([bundler.stop(), bundler.stop()]);
  await expect(fetch(url)).rejects.toThrow();
  expect(restarts).toBe(0);
});

test('a stop ends it also while it starts', async () => {
  const bundler = start('setInterval(() => {}, 1_000);');
  await bundler.stop();
  await expect(bundler.url).rejects.toMatchObject({ code: 'UNAVAILABLE' });
});

test('when it cannot start, the error has its last words', async () => {
  const { url } = start('console.error("entry point does not exist"); process.exitCode = 3;');
  await expect(url).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await expect(url).rejects.toThrow('the bundler ended with code 3: entry point does not exist');
});

function start(text: string, port: PortChoice = { kind: 'any' }): Bundler {
  const script = join(directory, 'alto.cjs');
  writeFileSync(script, text);
  const bundler = startBundler({
    script,
    chainRpcUrl: 'http://127.0.0.1:1',
    port,
    directory,
    timers: systemTimers,
    log: silentLogger,
    onRestart: () => (restarts += 1),
  });
  stops.push(() => bundler.stop());
  return bundler;
}

async function pidAt(url: string): Promise<string> {
  return (await fetch(url, { headers: { connection: 'close' } })).text();
}

async function occupy(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve));
  stops.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}
