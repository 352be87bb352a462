import type { Writable } from 'node:stream';

/** More commands than this are not held back: Redis works on them while the turn goes on. */
const mostHeld = 8;

/**
 * Sends the commands of one turn of the event loop together: each write is a system call here, and wakes Redis, which
 * then syncs its file for one command.
 */
export class TurnWrites {
  #held: Writable | undefined;
  #count = 0;
  #isScheduled = false;

  /** To be called before a command is written to `stream`. */
  hold(stream: Writable): void {
    if (this.#held !== stream || this.#count === mostHeld) {
      this.#release();
      stream.cork();
      this.#held = stream;
    }
    this.#count += 1;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#release();
    });
  }

  #release(): void {
    this.#held?.uncork();
    this.#held = undefined;
    this.#count = 0;
  }
}
