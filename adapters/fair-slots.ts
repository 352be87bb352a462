/** `slots` at once in all, of which one key holds at most `perKey`. A waiting call gives up after `maxWaitMs`. */
export type SlotLimits = {
  readonly slots: number;
  readonly perKey: number;
  /** Calls of one key that may wait. */
  readonly waitingPerKey: number;
  readonly maxWaitMs: number;
};

/** No slot was free in time. Nothing has been done yet, so the caller may try again. */
export class SlotsBusy extends Error {
  readonly code = 'SLOTS_BUSY';

  constructor() {
    super('too many calls are running or waiting');
    this.name = 'SlotsBusy';
  }
}

/**
 * A pool that one caller cannot take for itself. Keys are served in turn, each holds at most its share, and each has a
 * bounded queue. A key that fills its share and its queue delays nobody else.
 */
export class FairSlots {
  readonly #limits: SlotLimits;
  readonly #shares = new Map<string, Share>();
  /** Shares with waiting calls that may take a slot, in the order of their turn. */
  readonly #ready = new Set<Share>();
  #inUse = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Runs `task` in a slot of `key`. Throws SlotsBusy when no slot is free in time; otherwise what the task throws. */
  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const share = this.#share(key);
    if (share.waiting.size === 0 && share.held < this.#limits.perKey && this.#inUse < this.#limits.slots)
      this.#take(share);
    else await this.#wait(key, share);
    try {
      return await task();
    } finally {
      this.#release(key, share);
    }
  }

  #share(key: string): Share {
    const known = this.#shares.get(key);
    if (known !== undefined) return known;
    const share: Share = { held: 0, waiting: new Set() };
    this.#shares.set(key, share);
    return share;
  }

  #wait(key: string, share: Share): Promise<void> {
    if (share.waiting.size >= this.#limits.waitingPerKey) {
      this.#forgetIdle(key, share);
      return Promise.reject(new SlotsBusy());
    }
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        share.waiting.delete(grant);
        if (share.waiting.size === 0) this.#ready.delete(share);
        this.#forgetIdle(key, share);
        reject(new SlotsBusy());
      }, this.#limits.maxWaitMs);
      const grant = (): void => {
        clearTimeout(timer);
        resolve();
      };
      share.waiting.add(grant);
      if (share.held < this.#limits.perKey) this.#ready.add(share);
    });
  }

  #take(share: Share): void {
    share.held += 1;
    this.#inUse += 1;
  }

  #release(key: string, share: Share): void {
    share.held -= 1;
    this.#inUse -= 1;
    if (share.waiting.size > 0) this.#ready.add(share);
    this.#forgetIdle(key, share);
    this.#grantNext();
  }

  #grantNext(): void {
    while (this.#inUse < this.#limits.slots) {
      const [share] = this.#ready;
      if (share === undefined) return;
      // Taken out and put back at the end: every key gets its turn.
      this.#ready.delete(share);
      const [grant] = share.waiting;
      if (grant === undefined) continue;
      share.waiting.delete(grant);
      this.#take(share);
      if (share.waiting.size > 0 && share.held < this.#limits.perKey) this.#ready.add(share);
      grant();
    }
  }

  #forgetIdle(key: string, share: Share): void {
    if (share.held === 0 && share.waiting.size === 0) this.#shares.delete(key);
  }
}

type Share = { held: number; readonly waiting: Set<() => void> };
