import type { Logger } from '../../../log.js';
import type { EpochMs } from '../../../units/time.js';
import { endOf } from './usage-counters.js';
import { image } from './usage-image.js';
import type { UsageJournal } from './usage-journal.js';
import type { UsageState } from './usage-state.js';

/** How far the journal may outgrow the last image: recovery reads that much more, and images are that much rarer. */
const journalPerImage = 2;
const forgetEveryMs = 60_000;
/** A clock that is set back by less than this finds every counter again. */
const graceMs = 600_000;
const imageOpsPerSlice = 400;
const windowsPerSlice = 2_000;

/**
 * What keeps memory and file bounded: forgets windows that are over, and replaces the journal by an image once it has
 * outgrown the last one, so that writing images costs a bounded share of writing the journal. Works in slices of about
 * a millisecond, one per turn of the event loop, and only while the store is in use: nothing is due when nothing
 * happened. Windows are not forgotten while an image is written, because rows that follow it may name them.
 */
export class UsageUpkeep {
  readonly #state: UsageState;
  readonly #journal: UsageJournal;
  readonly #log: Logger;
  readonly #compactAtBytes: number;
  #forgetAt = 0;
  #imageAtBytes: number;
  #running: IterableIterator<void> | undefined;
  #next: NodeJS.Immediate | undefined;

  constructor(deps: {
    readonly state: UsageState;
    readonly journal: UsageJournal;
    readonly log: Logger;
    readonly compactAtBytes: number;
  }) {
    this.#state = deps.state;
    this.#journal = deps.journal;
    this.#log = deps.log;
    this.#compactAtBytes = deps.compactAtBytes;
    this.#imageAtBytes = this.#dueAt();
  }

  /**
   * Called after each commit. `settle` is called before each slice and must leave nothing in memory that is not
   * committed, or answer false.
   */
  afterCommit(now: EpochMs, settle: () => boolean): void {
    if (this.#running !== undefined) return;
    if (now < this.#forgetAt && this.#journal.bytes() < this.#imageAtBytes) return;
    this.#running = this.#work(now);
    this.#schedule(settle);
  }

  stop(): void {
    clearImmediate(this.#next);
    this.#running = undefined;
  }

  #schedule(settle: () => boolean): void {
    this.#next = setImmediate(() => {
      if (this.#running === undefined) return;
      try {
        if (settle() && !this.#running.next().done) return this.#schedule(settle);
      } catch (error) {
        // The former image and the whole journal are still in force; try again when the journal has doubled.
        this.#imageAtBytes = this.#journal.bytes() * 2;
        this.#log.warn('usage store could not be compacted', { error });
      }
      this.#running = undefined;
    });
  }

  *#work(now: EpochMs): IterableIterator<void> {
    if (now >= this.#forgetAt) {
      this.#forgetAt = now + forgetEveryMs;
      yield* this.#forget(now);
    }
    if (this.#journal.bytes() >= this.#imageAtBytes) yield* this.#writeImage();
    while (this.#journal.sweep()) yield;
  }

  *#forget(now: EpochMs): IterableIterator<void> {
    const before = now - graceMs;
    let seen = 0;
    for (const window of this.#state.counters.windows()) {
      if (window.holds === 0 && endOf(window) <= before) {
        this.#state.forgottenUntil = Math.max(this.#state.forgottenUntil, before);
        this.#state.counters.forget(window);
      }
      seen += 1;
      if (seen % windowsPerSlice === 0) yield;
    }
    for (const [paymasterId, { expiresAt }] of this.#state.messages)
      if (expiresAt <= before) this.#state.messages.delete(paymasterId);
  }

  *#writeImage(): IterableIterator<void> {
    const writer = this.#journal.beginImage();
    let row: string[] = [];
    for (const op of image(this.#state)) {
      row.push(op);
      if (row.length < imageOpsPerSlice) continue;
      writer.add(`[${row.join(',')}]`);
      row = [];
      yield;
    }
    if (row.length > 0) writer.add(`[${row.join(',')}]`);
    writer.finish();
    this.#imageAtBytes = this.#dueAt();
    this.#log.debug('usage store compacted', { imageBytes: this.#journal.imageBytes() });
  }

  #dueAt(): number {
    return Math.max(this.#compactAtBytes, journalPerImage * this.#journal.imageBytes());
  }
}
