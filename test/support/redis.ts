import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { onFreePort } from '../../standalone/cluster/free-port.js';
import { namesUsedPort, PortInUse } from '../../standalone/port-choice.js';
import { until } from './until.js';

/** A new redis-server on a free loopback port, with its files in a new directory. */
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

const durableSettings = ['--appendonly', 'yes', '--appendfsync', 'always'] as const;

/**
 * Starts redis-server with the settings that the usage store demands, and `settings` after them. Throws an error that
 * says how to install it where it is missing.
 */
export async function startRedis(
  settings: readonly string[] = [],
  options: { readonly sentinelConfig?: string } = {},
): Promise<RedisServer> {
  return onFreePort((port) => startOn(port, settings, options));
}

async function startOn(
  port: number,
  settings: readonly string[],
  options: { readonly sentinelConfig?: string },
): Promise<RedisServer> {
  const directory = mkdtempSync(join(tmpdir(), 'redis-'));
  const args = [
    ...(options.sentinelConfig === undefined ? [] : [options.sentinelConfig, '--sentinel']),
    '--port',
    String(port),
    '--bind',
    '127.0.0.1',
    '--dir',
    directory,
    ...(options.sentinelConfig === undefined ? ['--save', '', ...durableSettings] : []),
    ...settings,
  ];
  let running: ChildProcess | undefined;

  async function start(): Promise<void> {
    const child = spawn(redisBinary(), args, { stdio: ['ignore', 'pipe', 'ignore'] });
    running = child;
    let output = '';
    const collect = (chunk: Buffer): void => void (output += chunk.toString());
    child.stdout.on('data', collect);
    await until(`redis-server on port ${port} answers`, async () => {
      if (child.exitCode !== null) {
        const message = `redis-server ${args.join(' ')} ended with code ${child.exitCode}: ${output}`;
        throw namesUsedPort(output) ? new PortInUse(message) : new Error(message);
      }
      const reply = await redisCommand(port, ['PING']).catch(() => '');
      return /^(\+PONG|-NOAUTH)/.test(reply) && (await isServedBy(child, port));
    });
    // Read on and dropped: a full pipe would block the server.
    child.stdout.off('data', collect).resume();
  }

  async function kill(): Promise<void> {
    const child = running;
    running = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }

  try {
    await start();
  } catch (error) {
    await kill();
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    directory,
    command: (words) => redisCommand(port, words),
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

/** False where another server has the port, and this one is about to end. One that wants a password does not say who it is. */
async function isServedBy({ pid }: ChildProcess, port: number): Promise<boolean> {
  const info = await redisCommand(port, ['INFO', 'server']).catch(() => '');
  return info.startsWith('-NO') || info.includes(`\r\nprocess_id:${pid}\r\n`);
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

/** One command on a separate connection; independent of the client library under test. */
export function redisCommand(port: number, words: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let reply = '';
    socket.setTimeout(60_000, () =>
      socket.destroy(new Error(`redis-server did not answer ${words[0] ?? ''}`)),
    );
    socket.on('error', reject);
    socket.on('close', () => reject(new Error('redis-server has closed the connection')));
    socket.on('data', (data) => {
      reply += data.toString('latin1');
      if (endOfReply(reply, 0) === undefined) return;
      resolve(reply);
      socket.destroy();
    });
    socket.write(encode(words));
  });
}

/** Where the RESP value that begins at `from` ends; undefined while it is not complete. */
function endOfReply(text: string, from: number): number | undefined {
  const lineEnd = text.indexOf('\r\n', from);
  if (lineEnd < 0) return undefined;
  const next = lineEnd + 2;
  const size = Number(text.slice(from + 1, lineEnd));
  if (text[from] === '$')
    return size < 0 ? next : text.length >= next + size + 2 ? next + size + 2 : undefined;
  if (text[from] !== '*') return next;
  let end: number | undefined = next;
  for (let i = 0; i < size && end !== undefined; i++) end = endOfReply(text, end);
  return end;
}

function encode(words: readonly string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
