import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Connection } from '../../../standalone/connection.js';
import { endWithParent } from '../../../standalone/end-with-parent.js';
import { namesUsedPort, PortInUse } from '../../../standalone/port-choice.js';
import { putDeployedState } from '../../chain/support/deployed-state.js';
import { freePort, onFreePort } from '../../support/cluster/free-port.js';
import { programFile } from '../../support/program.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';

/** The real command in a separate process, as `make run` starts it. */
export type RunningStandalone = {
  readonly port: number;
  readonly dataDirectory: string;
  readonly pid: number;
  /** Everything printed so far. */
  output(): string;
  /** Parsed connection.json, whose mode must be 0600. */
  connection(): Required<Connection>;
  signal(name: NodeJS.Signals): void;
  /** Moves its clock forward, if it was started with `hasMovableClock`; that of its chain stays. */
  advance(ms: number): void;
  /** From now on it ends with this process, which does not wait for it; its data directory goes with it. */
  endWithProcess(): void;
  /** Exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
};

export type StandaloneOptions = {
  readonly port?: number;
  readonly dataDirectory?: string;
  /** A built checkout. Default: this one. */
  readonly root?: string;
  readonly environment?: Readonly<Record<string, string>>;
  /** So that a test moves it instead of waiting. */
  readonly hasMovableClock?: boolean;
};

/** Spawns it without waiting. */
export async function spawnStandalone(options: StandaloneOptions = {}): Promise<RunningStandalone> {
  const port = options.port ?? (await freePort());
  const dataDirectory = options.dataDirectory ?? newDataDirectory();
  const root = options.root ?? repositoryRoot;
  const clock = options.hasMovableClock === true ? createMovableClock(dataDirectory) : undefined;
  const given = ['--no-warnings', ...(clock?.options ?? []), programFile('standalone', root)];
  const child: ChildProcess = spawn(process.execPath, given, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      PORT: String(port),
      PAYMASTER_DATA_DIR: dataDirectory,
      // Tests poll.
      PAYMASTER_DASHBOARD_CALLS_PER_SECOND: '1000',
      PAYMASTER_DASHBOARD_CALLS_PER_SECOND_OF_ADDRESS: '1000',
      // A busy machine may need more than the usual two.
      PAYMASTER_DASHBOARD_PROGRAMMED_SECONDS: '60',
      // Whether one is installed must make no difference.
      BUNDLER: '0',
      ...options.environment,
    },
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const killWithParent = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithParent);
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => {
      process.off('exit', killWithParent);
      // Its child processes may outlive it for a moment and hold the pipes: read the pending output and close them.
      setImmediate(() => {
        child.stdout?.destroy();
        child.stderr?.destroy();
        resolve(code ?? signal ?? 'SIGKILL');
      });
    });
  });
  const connectionFile = join(dataDirectory, 'connection.json');
  return {
    port,
    dataDirectory,
    pid: child.pid ?? -1,
    output: () => output,
    connection() {
      const mode = statSync(connectionFile).mode & 0o777;
      if (mode !== 0o600) throw new Error(`connection.json has mode ${mode.toString(8)}`);
      return JSON.parse(readFileSync(connectionFile, 'utf8')) as Required<Connection>;
    },
    signal: (name) => void child.kill(name),
    advance(ms) {
      if (clock === undefined) throw new Error('its clock cannot be moved');
      clock.advance(ms);
    },
    endWithProcess() {
      process.off('exit', killWithParent);
      child.unref();
      for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
      endWithParent(child, dataDirectory);
    },
    ended,
  };
}

/** Of the process that is started with these options. */
function createMovableClock(directory: string) {
  const file = pathToFileURL(join(directory, 'clock'));
  let aheadMs = 0;
  const advance = (ms: number): void => {
    aheadMs += ms;
    // At once: it may be read meanwhile.
    writeFileSync(new URL(`${file.href}.next`), String(aheadMs));
    renameSync(new URL(`${file.href}.next`), file);
  };
  advance(0);
  const preload = new URL('moved-clock.js', import.meta.url);
  preload.searchParams.set('file', file.href);
  return { options: ['--import', preload.href], advance };
}

/**
 * Spawns it and waits until everything answers; without a `port`, on the next one where another program took the first. Without a
 * `dataDirectory`, its chain has every contract already, which saves a third of the start.
 */
export async function startStandalone(given: StandaloneOptions = {}): Promise<RunningStandalone> {
  const options = { ...given, dataDirectory: given.dataDirectory ?? (await deployedDirectory()) };
  return options.port === undefined ? onFreePort((port) => startOn({ ...options, port })) : startOn(options);
}

async function deployedDirectory(): Promise<string> {
  const directory = newDataDirectory();
  await putDeployedState(join(directory, 'chain-state.json'));
  return directory;
}

async function startOn(options: StandaloneOptions): Promise<RunningStandalone> {
  const running = await spawnStandalone(options);
  let exit: number | NodeJS.Signals | undefined;
  running.ended.then((code) => (exit = code)).catch(() => {});
  const what = () => `everything answers, after it has printed:\n${running.output()}`;
  try {
    await until(what, () => {
      if (exit !== undefined) throw endedEarly(exit, running.output());
      return running.output().includes('Ctrl-C stops everything');
    });
  } catch (error) {
    // Nobody else knows of it.
    running.signal('SIGKILL');
    await running.ended;
    throw error;
  }
  return running;
}

function endedEarly(exit: number | NodeJS.Signals, output: string): Error {
  const message = `standalone ended with ${exit}:\n${output}`;
  return namesUsedPort(output) || /port \d+ of \S+ is in use/.test(output)
    ? new PortInUse(message)
    : new Error(message);
}

export async function stopStandalone(running: RunningStandalone): Promise<number | NodeJS.Signals> {
  running.signal('SIGINT');
  return running.ended;
}

export function newDataDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'paymaster-standalone-'));
}

/** A dev chain that was just orphaned may still be writing its state there. */
export function removeDataDirectory(path: string): void {
  if (existsSync(path)) rmSync(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
}
