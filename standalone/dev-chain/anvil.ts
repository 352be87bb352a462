import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import { endWithParent } from '../end-with-parent.js';
import { listenOn, namesUsedPort, PortInUse, type PortChoice } from '../port-choice.js';

type AnvilOptions = {
  readonly log: Logger;
  /** The chain's state is read from this file at the start and written to it at the stop; without it every start is fresh. */
  readonly stateFile?: string;
  /** A chain that begins from this file, which is only read; its node keeps no states of the blocks before the last one. */
  readonly beginFrom?: string;
  readonly chainId?: number;
  /** Default: one that is free. */
  readonly port?: PortChoice;
  readonly startTimeoutMs?: number;
};

export type Anvil = {
  readonly url: string;
  readonly pid: number;
  /** True when it does not continue an earlier chain. */
  readonly isFresh: boolean;
  /** Resolves when the process is gone, by `stop` or by accident. */
  readonly exited: Promise<void>;
  /** Lets anvil write its state, then waits for its end; kills it after five seconds. Safe to call twice. */
  stop(): Promise<void>;
};

/** Platforms for which the npm package ships a binary, by `process.platform` and `process.arch`. */
const platformPackages: Readonly<Record<string, string>> = {
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'win32-x64': '@foundry-rs/anvil-win32-amd64',
};
/** It writes its state before it ends. */
const stopGraceMs = 60_000;
/**
 * How many states of earlier blocks anvil keeps on disk for calls at a block: more than a follower goes back. A state has half a
 * megabyte to some megabytes, and anvil's own default are 3,600 of them.
 */
const keptStates = 300;
const cachePrefix = 'chain-cache-';

/**
 * Starts anvil on a loopback port; resolves when it listens. Runs the binary of the platform package directly: its
 * npm wrapper is a second process that would swallow signals. The process ends with ours, even after a kill -9, and so do the
 * states that it keeps on disk. Throws PortInUse when no port of the choice is free.
 */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const { stateFile, log } = options;
  if (stateFile === undefined) return launch(options);
  await mkdir(dirname(stateFile), { recursive: true });
  try {
    return await launch(options);
  } catch (error) {
    if (!(error instanceof UnusableState)) throw error;
    // A state file truncated by a power loss must not stop the dev chain: everything on it can be deployed again.
    log.warn('dev chain state not usable, starting a fresh chain', {
      stateFile,
      movedTo: `${stateFile}.broken`,
    });
    await rename(stateFile, `${stateFile}.broken`);
    return launch(options);
  }
}

/** Path of the anvil binary. If it is missing, throws a DomainError UNAVAILABLE that says what to do. */
export function findAnvil(): string {
  const name = platformPackages[`${process.platform}-${process.arch}`];
  if (name === undefined)
    throw new DomainError(
      'UNAVAILABLE',
      `anvil has no binary for ${process.platform}-${process.arch}; set CHAIN_RPC_URL to use a chain that runs elsewhere`,
    );
  const require = createRequire(import.meta.url);
  try {
    const folder = dirname(require.resolve(`${name}/package.json`));
    return join(folder, 'bin', process.platform === 'win32' ? 'anvil.exe' : 'anvil');
  } catch (cause) {
    throw new DomainError(
      'UNAVAILABLE',
      `${name} is not installed; run "npm ci --include=dev --include=optional", or set CHAIN_RPC_URL to use another chain`,
      { cause },
    );
  }
}

class UnusableState extends Error {}

function launch(options: AnvilOptions): Promise<Anvil> {
  return listenOn(options.port ?? { kind: 'any' }, (port) => launchOn(port, options));
}

async function launchOn(
  wantedPort: number,
  { log, stateFile, beginFrom, chainId = 31337, startTimeoutMs = 60_000 }: AnvilOptions,
): Promise<Anvil> {
  const binary = findAnvil();
  const cache = await newCache(stateFile);
  const isFresh = stateFile === undefined || !existsSync(stateFile);
  const args = ['--host', '127.0.0.1', '--port', String(wantedPort), '--chain-id', String(chainId)];
  args.push('--balance', '1000000', '--cache-path', cache, '--max-persisted-states', String(keptStates));
  if (stateFile !== undefined) args.push('--state', stateFile);
  if (beginFrom !== undefined) args.push('--load-state', beginFrom);
  // In a separate process group: a Ctrl-C in the terminal reaches only us, and we stop anvil after the parts that use it.
  const child = spawn(binary, args, { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const exited = new Promise<void>((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
  const stop = stopOnce(child, endWithParent(child, cache), exited, cache);
  try {
    const port = await listeningPort(child, wantedPort, startTimeoutMs);
    const url = `http://127.0.0.1:${port}`;
    log.info('dev chain listening', { url, pid: child.pid ?? 0, stateFile: stateFile ?? 'none' });
    return { url, pid: child.pid ?? 0, isFresh, exited, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * A new folder for the states of earlier blocks: beside the state file, or else a temporary one. Removes those of former starts,
 * which a power loss may have left there.
 */
async function newCache(stateFile: string | undefined): Promise<string> {
  if (stateFile === undefined) return mkdtemp(join(tmpdir(), 'paymaster-anvil-'));
  const folder = dirname(stateFile);
  const former = (await readdir(folder)).filter((name) => name.startsWith(cachePrefix));
  for (const name of former) await rm(join(folder, name), { recursive: true, force: true });
  return mkdtemp(join(folder, cachePrefix));
}

function stopOnce(child: ChildProcess, unwatch: () => void, exited: Promise<void>, cache: string) {
  let stopping: Promise<void> | undefined;
  const end = async () => {
    unwatch();
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    const timer = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
    await exited;
    clearTimeout(timer);
    await rm(cache, { recursive: true, force: true });
  };
  return () => (stopping ??= end());
}

/** The port on which anvil listens, read from its output: asking the system for a free port beforehand would be a race. */
function listeningPort(child: ChildProcess, wantedPort: number, timeoutMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    const timer = setTimeout(
      () => settle(() => reject(failure(`anvil did not listen within ${timeoutMs} ms`))),
      timeoutMs,
    );
    const settle = (outcome: () => void) => {
      clearTimeout(timer);
      child.stdout?.removeAllListeners('data');
      child.stderr?.removeAllListeners('data');
      // Reads and drops its further output: a full pipe would block it.
      child.stdout?.resume();
      child.stderr?.resume();
      outcome();
    };
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      const match = /Listening on 127\.0\.0\.1:(\d+)/.exec(output);
      if (match !== null) settle(() => resolve(Number(match[1])));
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('error', (cause) => settle(() => reject(failure(`anvil cannot be run: ${cause.message}`))));
    child.once('close', (code) => settle(() => reject(endedEarly(output, code, wantedPort))));
  });
}

function endedEarly(output: string, code: number | null, wantedPort: number): Error {
  if (namesUsedPort(output)) return new PortInUse(`port ${wantedPort} of 127.0.0.1 is in use`);
  if (output.includes("for '--state")) return new UnusableState(output.trim());
  return failure(`anvil ended with code ${code ?? 'none'}: ${output.trim().split('\n').at(-1) ?? ''}`);
}

function failure(message: string): DomainError {
  return new DomainError('UNAVAILABLE', message);
}
