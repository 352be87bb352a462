import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { freePort } from './free-port.js';
import { until } from './until.js';

/** A redis-server of its own on a free loopback port, with its files in a directory of its own. */
export type RedisServer = {
  readonly port: number;
  readonly url: string;
  readonly directory: string;
  /** One command over the server's plain port, e.g. `['CONFIG', 'SET', 'appendfsync', 'no']`; the raw reply as text. */
  command(words: readonly string[]): Promise<string>;
  /** Suspends and resumes the process, as a machine that hangs. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** kill -9. */
  kill(): Promise<void>;
  /** Starts it again on the same files and port. */
  start(): Promise<void>;
  /** Ends the process and removes the files. May be called twice. */
  stop(): Promise<void>;
};

export const durableSettings = ['--appendonly', 'yes', '--appendfsync', 'always'] as const;

/**
 * Starts redis-server with the settings that the usage store demands, and `settings` after them. Throws an error that
 * says how to install it where it is missing.
 */
export async function startRedis(
  settings: readonly string[] = [],
  options: { readonly sentinelConfig?: string } = {},
): Promise<RedisServer> {
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'redis-'));
  const args = [
    ...(options.sentinelConfig === undefined ? [] : [options.sentinelConfig, '--sentinel']),
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    '--save',
    '',
    ...(options.sentinelConfig === undefined ? durableSettings : []),
    ...settings,
  ];
  let running: ChildProcess | undefined;

  async function start(): Promise<void> {
    const child = spawn(redisBinary(), args, { stdio: 'ignore' });
    running = child;
    await until(
      `redis-server on port ${port} answers`,
      async () => {
        if (child.exitCode !== null)
          throw new Error(`redis-server ${args.join(' ')} ended with code ${child.exitCode}`);
        const reply = await send(port, ['PING']).catch(() => '');
        return /^(\+PONG|-NOAUTH)/.test(reply);
      },
      10_000,
    );
  }

  async function kill(): Promise<void> {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  await start();
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    directory,
    command: (words) => send(port, words),
    signal: (signal) => {
      running?.kill(signal);
    },
    kill,
    start,
    stop: async () => {
      await kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** redis-server from PATH. */
function redisBinary(): string {
  const found = (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, 'redis-server'))
    .find((file) => existsSync(file));
  if (found === undefined)
    throw new Error(
      'redis-server is not on PATH: install it with `apt-get install redis-server` (Debian, Ubuntu), `brew install redis` (macOS) or `apk add redis` (Alpine)',
    );
  return found;
}

/** One command on a connection of its own; independent of the client library that is tested. */
function send(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let reply = '';
    socket.setTimeout(5_000, () =>
      socket.destroy(new Error(`redis-server did not answer ${words[0] ?? ''}`)),
    );
    socket.on('error', reject);
    socket.on('close', () => resolve(reply));
    socket.on('data', (data) => {
      reply += data.toString();
    });
    // The server closes the connection when both are answered.
    socket.write(encode(words) + encode(['QUIT']));
  });
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
