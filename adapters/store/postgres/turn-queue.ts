import { DomainError } from '../../../core/errors.js';
import { answer, type Decided } from '../calls.js';
import type { Call } from './turn-reading.js';

const callsPerTurn = 64;
/** More would only wait: a caller learns at once that the database is slow, and may ask again. */
const maxWaiting = 1_024;
/** One paymaster gets at most this share of a turn, and of a full queue, while calls of others wait. */
const paymasterShare = 0.2;

type Waiting = {
  readonly chainId: number;
  readonly call: Call;
  readonly since: number;
  /** Empty for calls that belong to no paymaster. */
  readonly paymasterId: string;
};

/** Takes waiting calls of the chain of a turn, as many as it has room for. */
export type Join = (fits: (call: Call) => boolean) => readonly Call[];

/** Resolves with the calls to answer; never rejects. */
type RunTurn = (
  chainId: number,
  calls: readonly Call[],
  isAlone: boolean,
  join: Join,
) => Promise<readonly Decided[]>;

/**
 * Calls that wait for one slot. The calls of one chain that come while a turn runs share the next one, or join it while it waits for its locks.
 * A turn locks, reads, decides and commits. Its refusals are answered while it commits, its promises after the next turn was sent to the database.
 * A caller goes on within its answer and may ask again at once: so the queue answers only after it has updated its own state.
 */
export class TurnQueue {
  readonly #run: RunTurn;
  readonly #maxWaitMs: number;
  #waiting: Waiting[] = [];
  readonly #perPaymaster = new Map<string, number>();
  #running: Promise<void> | undefined;
  /** Refuses what has waited too long, also while a turn takes long. */
  #timer: NodeJS.Timeout | undefined;

  constructor(run: RunTurn, maxWaitMs: number) {
    this.#run = run;
    this.#maxWaitMs = maxWaitMs;
  }

  add(chainId: number, call: Call): void {
    const paymasterId = call.wanted.reservations?.[0]?.paymasterId ?? '';
    const isFull = this.#waiting.length >= maxWaiting;
    if (isFull && this.#countOf(paymasterId) >= maxWaiting * paymasterShare)
      return call.answer.reject(busy());
    const refused = isFull ? this.#removeOneOfMany() : [];
    this.#waiting.push({ chainId, call, paymasterId, since: performance.now() });
    this.#perPaymaster.set(paymasterId, this.#countOf(paymasterId) + 1);
    this.#timer ??= this.#lookAfter(this.#maxWaitMs);
    this.#running ??= this.#runAll();
    refuse(refused);
  }

  /** Resolves when nothing waits. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #runAll(): Promise<void> {
    // The calls of one turn of the event loop come together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    let decided: readonly Decided[] = [];
    do {
      const turn = this.#runNext();
      decided.forEach(answer);
      decided = (await turn) ?? [];
    } while (decided.length > 0 || this.#waiting.length > 0);
    this.#running = undefined;
  }

  /** Undefined when nothing waits. */
  #runNext(): Promise<readonly Decided[]> | undefined {
    const turn = this.#next();
    const [first] = turn;
    if (first === undefined) return undefined;
    const { chainId } = first;
    const calls = turn.map(({ call }) => call);
    let room = callsPerTurn - calls.length;
    return this.#run(chainId, calls, isAlone(first), (fits) => {
      const joining = this.#join(chainId, room, fits);
      room -= joining.length;
      return joining;
    });
  }

  /** Of the chain of the call that has waited longest. */
  #next(): readonly Waiting[] {
    const [first] = this.#waiting;
    if (first === undefined) return [];
    const taken = isAlone(first) ? new Set([first]) : together(this.#ofChain(first.chainId), callsPerTurn);
    this.#remove((one) => taken.has(one));
    return [...taken];
  }

  #join(chainId: number, room: number, fits: (call: Call) => boolean): readonly Call[] {
    const fitting = this.#ofChain(chainId).filter(({ call }) => fits(call));
    const taken = together(fitting, room);
    return this.#remove((one) => taken.has(one)).map(({ call }) => call);
  }

  #ofChain(chainId: number): readonly Waiting[] {
    return this.#waiting.filter((one) => one.chainId === chainId && !isAlone(one));
  }

  #countOf(paymasterId: string): number {
    return this.#perPaymaster.get(paymasterId) ?? 0;
  }

  /** Makes room: of the paymaster that has most calls waiting, the newest. */
  #removeOneOfMany(): readonly Waiting[] {
    const [most] = [...this.#perPaymaster].toSorted(([, a], [, b]) => b - a);
    const newest = this.#waiting.findLast(({ paymasterId }) => paymasterId === most?.[0]);
    return this.#remove((one) => one === newest);
  }

  /** The sockets are read once more first: a process that was busy may not have seen yet what the database has answered. */
  #lookAfter(ms: number): NodeJS.Timeout {
    return setTimeout(() => setImmediate(() => this.#refuseLate()), ms);
  }

  #refuseLate(): void {
    clearTimeout(this.#timer);
    const oldest = performance.now() - this.#maxWaitMs;
    const late = this.#remove(({ since }) => since <= oldest);
    const [first] = this.#waiting;
    this.#timer = first && this.#lookAfter(Math.max(1, first.since - oldest));
    refuse(late);
  }

  #remove(isGone: (one: Waiting) => boolean): readonly Waiting[] {
    const { gone = [], stays = [] } = Object.groupBy(this.#waiting, (one) =>
      isGone(one) ? 'gone' : 'stays',
    );
    this.#waiting = stays;
    for (const { paymasterId } of gone) {
      const left = this.#countOf(paymasterId) - 1;
      if (left === 0) this.#perPaymaster.delete(paymasterId);
      else this.#perPaymaster.set(paymasterId, left);
    }
    if (stays.length === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    return gone;
  }
}

function together(waiting: readonly Waiting[], room: number): ReadonlySet<Waiting> {
  const taken = new Set<Waiting>();
  const counts = new Map<string, number>();
  for (const one of waiting) {
    const count = (counts.get(one.paymasterId) ?? 0) + 1;
    if (count > Math.ceil(callsPerTurn * paymasterShare) || taken.size >= room) continue;
    counts.set(one.paymasterId, count);
    taken.add(one);
  }
  for (const one of waiting) if (taken.size < room) taken.add(one);
  return taken;
}

function isAlone({ call }: Waiting): boolean {
  return call.wanted.alone === true;
}

function refuse(waiting: readonly Waiting[]): void {
  for (const { call } of waiting) call.answer.reject(busy());
}

function busy(): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store is busy', {
    reason: 'USAGE_STORE_BUSY',
    retryAfterSeconds: 1,
  });
}
