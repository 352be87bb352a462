import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { Timers } from '../../adapters/timers.js';
import { endWithParent } from '../end-with-parent.js';
import { listenOn, namesUsedPort, PortInUse, type PortChoice } from '../port-choice.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { devAccounts } from '../dev-chain/dev-accounts.js';
import { isObject, parseJson } from '../../core/schema/json-value.js';

type BundlerOptions = {
  /** alto's script. */
  readonly script: string;
  readonly chainRpcUrl: string;
  readonly port: PortChoice;
  /** Folder in which alto runs. */
  readonly directory: string;
  readonly timers: Timers;
  readonly log: Logger;
  /** Called each time when it has ended by itself and is started again. */
  readonly onRestart: () => void;
};

export type Bundler = Readonly<ReturnType<typeof startBundler>>;

const startTimeoutMs = 120_000;
const stopGraceMs = 5_000;
const restartMs = { first: 500, longest: 30_000 } as const;

/** Starts the bundler of a dev chain, and starts it again whenever it ends by itself. It ends with this process. */
export function startBundler(options: BundlerOptions) {
  const { log, timers } = options;
  let running: ChildProcess | undefined;
  let ended: Promise<void> = Promise.resolve();
  let cancelRestart: (() => void) | undefined;
  let isStopping = false;

  /** Resolves with the port once it listens. */
  async function launch(port: number): Promise<number> {
    if (isStopping) throw new DomainError('UNAVAILABLE', 'the bundler was stopped');
    const child = spawnAlto(options.script, { ...options, port });
    const unwatch = endWithParent(child);
    running = child;
    ended = new Promise((resolve) => {
      child.once('error', () => resolve());
      child.once('close', () => resolve());
    });
    void ended.then(unwatch);
    const bound = await listening(child, port, options);
    log.info('bundler listening', { url: rpcUrl(bound), pid: child.pid ?? 0 });
    return bound;
  }

  async function restartWhenEnded(port: number, waitMs: number): Promise<void> {
    await ended;
    if (isStopping) return;
    log.warn('bundler has ended, starting it again', { waitMs });
    options.onRestart();
    cancelRestart = timers.after(waitMs, () => {
      const startedAgain = launch(port).then(
        () => restartWhenEnded(port, restartMs.first),
        (error: unknown) => {
          log.warn('bundler did not start', { error });
          return restartWhenEnded(port, Math.min(waitMs * 2, restartMs.longest));
        },
      );
      startedAgain.catch((error: unknown) => log.error('bundler not watched', { error }));
    });
  }

  async function start(): Promise<string> {
    const port = await listenOn(options.port, launch);
    void restartWhenEnded(port, restartMs.first);
    return rpcUrl(port);
  }

  const url = start();
  // The caller that awaits it gets the error; a stop before that is not an error.
  url.catch(() => {});
  return {
    /**
     * Where it takes operations (JSON-RPC), once it listens; the URL stays the same for its life. Rejects with PortInUse when no port of
     * the choice is free, and with UNAVAILABLE when alto does not start for another reason.
     */
    url,
    /** Ends it, also while it starts. May be called twice. */
    async stop(): Promise<void> {
      isStopping = true;
      cancelRestart?.();
      running?.kill('SIGTERM');
      const timer = setTimeout(() => running?.kill('SIGKILL'), stopGraceMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function rpcUrl(port: number): string {
  return `http://127.0.0.1:${port}/rpc`;
}

function listening(child: ChildProcess, port: number, { log }: BundlerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    let lastWords = '';
    const giveUp = (error: Error): void => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      reject(error);
    };
    const timer = setTimeout(
      () => giveUp(new DomainError('UNAVAILABLE', `the bundler did not listen within ${startTimeoutMs} ms`)),
      startTimeoutMs,
    );
    const read = (text: string): void => {
      const line = readAltoLine(text);
      switch (line.kind) {
        case 'listening':
          clearTimeout(timer);
          return resolve(line.port);
        case 'problem':
          lastWords = line.text;
          return log.warn('bundler reported a problem', { text: line.text });
        case 'noise':
      }
    };
    for (const input of [child.stdout, child.stderr])
      if (input !== null) createInterface({ input }).on('line', read);
    child.once('error', (cause) =>
      giveUp(new DomainError('UNAVAILABLE', `the bundler cannot be run: ${cause.message}`)),
    );
    child.once('close', (code) =>
      giveUp(
        namesUsedPort(lastWords)
          ? new PortInUse(`port ${port} is in use`)
          : new DomainError('UNAVAILABLE', `the bundler ended with code ${code ?? 'none'}: ${lastWords}`),
      ),
    );
  });
}

/** What a line of alto's output says to us. */
type AltoLine =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'problem'; readonly text: string }
  | { readonly kind: 'noise' };

/** A line of its log may quote a whole operation. */
const maxProblemLength = 1_000;

/** Reads one line: JSON of its logger, or plain text of Node (a stack, or a mistake in its arguments). */
export function readAltoLine(line: string): AltoLine {
  if (line.trim() === '') return { kind: 'noise' };
  const entry = parseEntry(line);
  const [, port] = /^Server listening at http:\/\/[^/]+:(\d+)$/.exec(entry?.msg ?? '') ?? [];
  if (port !== undefined) return { kind: 'listening', port: Number(port) };
  if (entry !== undefined && (entry.level === 'info' || entry.level === 'debug')) return { kind: 'noise' };
  return { kind: 'problem', text: line.slice(0, maxProblemLength) };
}

function parseEntry(line: string): { readonly level: unknown; readonly msg: string } | undefined {
  const value = parseJson(line);
  if (!isObject(value) || !('level' in value)) return undefined;
  const { level, msg } = value;
  return { level, msg: typeof msg === 'string' ? msg : '' };
}

/** The script that starts alto, as hack/bundler/install.sh installs it; undefined when it has not. */
export function findAlto(root: string): string | undefined {
  const folder = join(root, 'hack/bundler/node_modules');
  const script = join(folder, '@pimlico/alto/esm/cli/alto.js');
  return existsSync(join(folder, '.installed')) && existsSync(script) ? script : undefined;
}

/**
 * Starts alto for the EntryPoints of a dev chain, on all interfaces (it offers no other choice) and on `port`; 0 for a free one. It
 * writes JSON lines to its standard output. At its start it deploys its contracts to the chain, for estimates.
 */
export function spawnAlto(
  script: string,
  at: { readonly chainRpcUrl: string; readonly port: number; readonly directory: string },
): ChildProcess {
  const options = {
    'rpc-url': at.chainRpcUrl,
    port: String(at.port),
    entrypoints: Object.values(entryPoints).join(','),
    'executor-private-keys': devAccounts.bundler.privateKey,
    'utility-private-key': devAccounts.bundlerUtility.privateKey,
    'min-executor-balance': '1000000000000000000',
    // Its safe mode, with the rules of ERC-7562, needs a tracer that anvil lacks.
    'safe-mode': 'false',
    'api-version': 'v1,v2',
    // A dev chain mines a block for every transaction: nothing is gained by waiting, or by collecting operations.
    'block-time': '100',
    'max-bundle-interval': '100',
    // Otherwise it bids what the operations pay. anvil then suggests that tip, of which viem offers the double, so that fees would
    // double with every operation until they are above their cap.
    'bundler-initial-commission': '100',
    'enable-cors': 'true',
    json: 'true',
    'log-level': 'warn',
    // For one line, which says where it listens.
    'rpc-log-level': 'info',
  };
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return spawn(process.execPath, ['--no-warnings', script, 'run', ...values], {
    // alto reads a file .env of its folder, and variables ALTO_…: neither is meant for it here.
    cwd: at.directory,
    env: { OTEL_SDK_DISABLED: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal reaches only us; alto ends before the chain that it uses.
    detached: true,
  });
}
