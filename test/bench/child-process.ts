import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** A process of the bench that answers each message with one message, in order. */
export class BenchProcess {
  readonly #child: ChildProcess;
  readonly #name: string;

  /** `entry` is relative to this folder, e.g. `servers/limit.js`. */
  constructor(name: string, entry: string, args: readonly string[] = [], execArgv: readonly string[] = []) {
    this.#name = name;
    const path = fileURLToPath(new URL(entry, import.meta.url));
    this.#child = fork(path, args, {
      execArgv: ['--no-warnings', ...execArgv],
      env: { PATH: process.env['PATH'] ?? '', NODE_ENV: 'production' },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
  }

  /** The next message of the child; rejects when it ends instead. */
  receive(): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const end = (code: number | null) => reject(new Error(`${this.#name} ended with ${code}`));
      this.#child.once('exit', end);
      this.#child.once('message', (message) => {
        this.#child.off('exit', end);
        resolve(message);
      });
    });
  }

  ask(message: object): Promise<unknown> {
    const answer = this.receive();
    this.#child.send(message);
    return answer;
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.disconnect();
    const force = setTimeout(() => this.#child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(force);
  }
}
