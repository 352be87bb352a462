/** What is waited for: settled by its answer, or rejected here. */
type Pending = { reject(error: Error): void };

/** How much later than its deadline a call may be given up, as a share of it. */
const lateness = 1 / 10;

/**
 * Gives up calls that are not answered in time. One timer for all of them: a timer for each would be made and cleared
 * thousands of times per second and hardly ever used.
 */
export class Deadlines {
  readonly #ms: number;
  // Places that are used again, and not a Map: the tables that a Map outgrows hold on to calls that are long settled,
  // and what hangs on these then survives every quick collection.
  readonly #calls: (Pending | undefined)[] = [];
  readonly #begunAt: number[] = [];
  readonly #free: number[] = [];
  #timer: NodeJS.Timeout | undefined;

  /** A call is given up after `ms`, and at the latest a tenth later. */
  constructor(ms: number) {
    this.#ms = ms;
  }

  /** The place of the call, for {@link Deadlines.end}. */
  begin(call: Pending): number {
    const place = this.#free.pop() ?? this.#calls.length;
    this.#calls[place] = call;
    this.#begunAt[place] = performance.now();
    this.#timer ??= setTimeout(() => this.#sweep(), this.#ms);
    return place;
  }

  /** To be called once for each call that was begun, also for one that was given up. */
  end(place: number): void {
    this.#calls[place] = undefined;
    this.#free.push(place);
  }

  /** Gives up what is still waited for. May be called twice. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#giveUp(Infinity, 'the connection is stopped');
  }

  #sweep(): void {
    this.#giveUp(performance.now() - this.#ms, `no answer within ${this.#ms} ms`);
    const isIdle = this.#free.length === this.#calls.length;
    this.#timer = isIdle ? undefined : setTimeout(() => this.#sweep(), this.#ms * lateness);
  }

  #giveUp(due: number, why: string): void {
    for (const [place, call] of this.#calls.entries()) {
      if (call === undefined || this.#begunAt[place]! > due) continue;
      // Its place is free only once it has ended.
      this.#calls[place] = undefined;
      call.reject(new Error(why));
    }
  }
}
