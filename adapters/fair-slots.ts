/** `slots` at once in all, of which one key holds at most `perKey`. A waiting call gives up after `maxWaitMs`. */
export type SlotLimits = {
  readonly slots: number;
  readonly perKey: number;
  /** Calls of one key that may wait. */
  readonly waitingPerKey: number;
  readonly maxWaitMs: number;
  /** When the next call may begin, whatever is free. Absent: at once. */
  readonly gate?: Gate;
};

export type Gate = {
  /** 0: a call may begin now. */
  delayMs(): number;
  /** One begins. */
  pass(): void;
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
  #opening: NodeJS.Timeout | undefined;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /** Runs `task` in a slot of `key`. Throws SlotsBusy when no slot is free in time; otherwise what the task throws. */
  async run<T>(key: string, task: () => Promise<T>, maxWaitMs = this.#limits.maxWaitMs): Promise<T> {
    const share = this.#share(key);
    if (this.#isFree(share)) this.#take(share);
    else await this.#wait(key, share, maxWaitMs);
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

  /** Behind a gate a slot may be free while others wait. */
  #isFree(share: Share): boolean {
    const { perKey, slots, gate } = this.#limits;
    const hasRoom = share.waiting.size === 0 && share.held < perKey && this.#inUse < slots;
    return hasRoom && this.#ready.size === 0 && (gate?.delayMs() ?? 0) === 0;
  }

  #wait(key: string, share: Share, maxWaitMs: number): Promise<void> {
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
      }, maxWaitMs);
      const grant = (): void => {
        clearTimeout(timer);
        resolve();
      };
      share.waiting.add(grant);
      if (share.held < this.#limits.perKey) this.#ready.add(share);
      this.#grantNext();
    });
  }

  #take(share: Share): void {
    share.held += 1;
    this.#inUse += 1;
    this.#limits.gate?.pass();
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
      const delayMs = this.#limits.gate?.delayMs() ?? 0;
      if (delayMs > 0) return this.#openIn(delayMs);
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

  #openIn(delayMs: number): void {
    if (this.#opening !== undefined) return;
    this.#opening = setTimeout(() => {
      this.#opening = undefined;
      this.#grantNext();
    }, delayMs);
  }

  #forgetIdle(key: string, share: Share): void {
    if (share.held === 0 && share.waiting.size === 0) this.#shares.delete(key);
  }
}

type Share = { held: number; readonly waiting: Set<() => void> };
