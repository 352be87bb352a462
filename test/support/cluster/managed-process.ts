import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { pause } from '../../../adapters/timers.js';
import { endWithParent } from '../../../standalone/end-with-parent.js';
import { namesUsedPort, PortInUse } from '../../../standalone/port-choice.js';

/** A program that can be stopped, killed and run again. It ends with this process. */
export type ManagedProcess = Readonly<Awaited<ReturnType<typeof startProcess>>>;

export type Program = {
  readonly command: string;
  readonly args: readonly string[];
  /** Default: the environment of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly directory?: string;
  /** Who it runs as. Default: who this process runs as. */
  readonly owner?: { readonly uid: number; readonly gid: number };
  /** Asks it to end. Default SIGTERM. */
  readonly stopSignal?: NodeJS.Signals;
  /** The output is appended to this file. */
  readonly logFile: string;
  readonly isReady: () => Promise<boolean>;
  readonly startTimeoutMs?: number;
};

const stopGraceMs = 10_000;
/** Only for a hang: a program that ends is noticed at once, and a program that waits for others may back off for minutes. */
const longestStartMs = 180_000;

/**
 * Starts a program and waits until it is ready. If it ends before, throws the end of its log: a PortInUse where the log says that
 * another program has its port.
 */
export async function startProcess(program: Program) {
  let child: ChildProcess;
  let end: Promise<number | NodeJS.Signals>;
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;

  async function launch(): Promise<void> {
    const log = openSync(program.logFile, 'a', 0o600);
    const { size: formerOutput } = fstatSync(log);
    child = spawn(program.command, program.args, {
      stdio: ['ignore', log, log],
      ...(program.directory === undefined ? {} : { cwd: program.directory }),
      ...(program.environment === undefined ? {} : { env: program.environment }),
      ...program.owner,
    });
    closeSync(log);
    end = new Promise((resolve, reject) => {
      child.once('exit', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'));
      child.once('error', reject);
    });
    end.catch(() => {});
    const deadline = performance.now() + (program.startTimeoutMs ?? longestStartMs);
    while (!(await program.isReady())) {
      if (hasEnded() || performance.now() > deadline) throw await notReady(formerOutput);
      await pause(50);
    }
    // Another program on its port may have answered in its place.
    if (hasEnded()) throw await notReady(formerOutput);
  }

  async function notReady(formerOutput: number): Promise<Error> {
    child.kill('SIGKILL');
    await end.catch(() => {});
    const output = readFileSync(program.logFile).subarray(formerOutput).toString();
    const message = `${program.command} ${program.args[0] ?? ''} did not become ready:\n${output.slice(-3000)}`;
    return namesUsedPort(output) ? new PortInUse(message) : new Error(message);
  }

  const killWithParent = (): void => void child.kill('SIGKILL');
  process.once('exit', killWithParent);
  await launch();
  return {
    get pid() {
      return child.pid ?? -1;
    },
    logFile: program.logFile,
    signal: (name: NodeJS.Signals): void => void child.kill(name),
    isRunning: (): boolean => !hasEnded(),
    /** Starts it again with the same arguments after it has ended; resolves when it is ready. */
    restart: launch,
    /** Exit code or signal of the current run. */
    ended: (): Promise<number | NodeJS.Signals> => end,
    /** From now on it ends with this process, which does not wait for it; `folder` is removed then. */
    endWithProcess(folder?: string): void {
      process.off('exit', killWithParent);
      child.unref();
      endWithParent(child, folder);
    },
    /** Asks it to end, and sends SIGKILL after ten seconds; does nothing if it has ended. */
    async stop(): Promise<void> {
      process.off('exit', killWithParent);
      if (hasEnded()) return;
      child.kill('SIGCONT');
      child.kill(program.stopSignal ?? 'SIGTERM');
      const killing = setTimeout(() => child.kill('SIGKILL'), stopGraceMs);
      await end;
      clearTimeout(killing);
    },
  };
}

/** True when the URL answers 2xx within a second. */
export async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(1000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}
