import { realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { onFreePort } from './free-port.js';
import { startProcess, type ManagedProcess } from './managed-process.js';

/** A redis-server with the settings that the usage store requires, on a free loopback port. */
export type RedisProcess = { readonly url: string; readonly process: ManagedProcess };

/** Throws an error that says what to install if PATH has no redis-server. */
export async function startRedisProcess(directory: string): Promise<RedisProcess> {
  return onFreePort((port) => startOn(port, directory)).catch((cause: unknown) => {
    throw new Error(
      'redis-server could not be started: install it (apt-get install redis-server) and try again',
      {
        cause,
      },
    );
  });
}

async function startOn(port: number, directory: string): Promise<RedisProcess> {
  const durable = ['--appendonly', 'yes', '--appendfsync', 'always', '--save', ''];
  const running = await startProcess({
    command: 'redis-server',
    args: ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory, ...durable],
    logFile: join(directory, 'redis.log'),
    isReady: () => worksIn(directory, port),
    startTimeoutMs: 60_000,
  });
  return { url: `redis://127.0.0.1:${port}`, process: running };
}

/** Whether the server on this port works in this directory, so that no other server on the same port is mistaken for it. */
function worksIn(directory: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('CONFIG GET dir\r\n'));
    socket.setTimeout(1000, () => socket.destroy());
    socket.once('data', (data) => {
      resolve(data.toString().includes(realpathSync(directory)));
      socket.destroy();
    });
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(false));
  });
}
