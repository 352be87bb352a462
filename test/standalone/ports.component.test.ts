import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { onFreePort } from '../support/cluster/free-port.js';
import { startProcess, type ManagedProcess } from '../support/cluster/managed-process.js';
import { startAnvil } from '../../standalone/dev-chain/anvil.js';
import { PortInUse } from '../../standalone/port-choice.js';

let directory: string;
const stops: (() => Promise<unknown> | void)[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'ports-'));
});
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await stop();
  rmSync(directory, { recursive: true, force: true });
});

describe('a dev chain', () => {
  test('takes the next port when another program has the first one', async () => {
    const taken = await occupy(0);
    const anvil = await startAnvil({ log: silentLogger, port: { kind: 'from', port: taken } });
    stops.push(() => anvil.stop());
    const port = Number(new URL(anvil.url).port);
    expect(port).toBeGreaterThan(taken);
    expect(port).toBeLessThan(taken + 50);
  });

  test('does not start elsewhere when it must have a port that another program has', async () => {
    const taken = await occupy(0);
    const started = startAnvil({ log: silentLogger, port: { kind: 'exact', port: taken } });
    await expect(started).rejects.toThrow(PortInUse);
    await expect(started).rejects.toThrow(`port ${taken} of 127.0.0.1 is in use`);
  });
});

describe('a program of the local control plane', () => {
  test('starts on another port when its port was taken after it was chosen', async () => {
    const chosen: number[] = [];
    const { port, program } = await onFreePort(async (candidate) => {
      chosen.push(candidate);
      if (chosen.length === 1) await occupy(candidate);
      return { port: candidate, program: await startListener(candidate) };
    });
    stops.push(() => program.stop());
    expect(chosen).toEqual([expect.any(Number), port]);
    expect(program.isRunning()).toBe(true);
  });
});

/** A Node process that listens on this port, and says so itself: the other program on the port accepts connections as well. */
function startListener(port: number): Promise<ManagedProcess> {
  const script = `require('node:net').createServer().listen(${port}, '127.0.0.1', () => console.log('listening'))`;
  const logFile = join(directory, 'listener.log');
  return startProcess({
    command: process.execPath,
    args: ['-e', script],
    logFile,
    isReady: () => Promise.resolve(readFileSync(logFile, 'utf8').includes('listening')),
  });
}

async function occupy(port: number): Promise<number> {
  const server: Server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  stops.push(() => new Promise((resolve) => server.close(resolve)));
  return (server.address() as AddressInfo).port;
}
