import { DomainError } from '../../../core/errors.js';
import type { Call } from './turn-reading.js';

const callsPerTurn = 64;
/** While calls of others wait, of one paymaster. */
const callsPerPaymaster = 13;
/** More would only wait: a caller learns at once that the database is slow, and may ask again. */
const maxWaiting = 1_024;
const maxWaitMs = 1_500;

type Waiting = { readonly chainId: number; readonly call: Call; readonly since: number };

/** Calls that wait for one slot. The calls of one chain that come while a turn runs share the next one. */
export class TurnQueue {
  readonly #run: (chainId: number, calls: readonly Call[], isAlone: boolean) => Promise<void>;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  /** `run` settles every call of a turn. */
  constructor(run: (chainId: number, calls: readonly Call[], isAlone: boolean) => Promise<void>) {
    this.#run = run;
  }

  add(chainId: number, call: Call): void {
    if (this.#waiting.length >= maxWaiting) return call.reject(busy());
    this.#waiting.push({ chainId, call, since: performance.now() });
    this.#running ??= this.#runAll();
  }

  /** Resolves when nothing waits. */
  async drained(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #runAll(): Promise<void> {
    // The calls of one turn of the event loop come together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    for (;;) {
      const turn = this.#next();
      const [first] = turn;
      if (first === undefined) break;
      const calls = turn.map(({ call }) => call);
      await this.#run(first.chainId, calls, isAlone(first));
    }
    this.#running = undefined;
  }

  /** Of the chain of the call that has waited longest; what has waited too long is refused. */
  #next(): readonly Waiting[] {
    const oldest = performance.now() - maxWaitMs;
    const late = this.#waiting.filter(({ since }) => since < oldest);
    for (const { call } of late) call.reject(busy());
    const current = this.#waiting.filter(({ since }) => since >= oldest);
    const [first] = current;
    const taken =
      first === undefined ? new Set<Waiting>() : isAlone(first) ? new Set([first]) : together(first, current);
    this.#waiting = current.filter((one) => !taken.has(one));
    return [...taken];
  }
}

function together({ chainId }: Waiting, current: readonly Waiting[]): ReadonlySet<Waiting> {
  const ofChain = current.filter((one) => one.chainId === chainId && !isAlone(one));
  const taken = new Set<Waiting>();
  const counts = new Map<string, number>();
  for (const one of ofChain) {
    const paymaster = one.call.wanted.reservations?.[0]?.paymasterId ?? '';
    const count = (counts.get(paymaster) ?? 0) + 1;
    if (count > callsPerPaymaster || taken.size >= callsPerTurn) continue;
    counts.set(paymaster, count);
    taken.add(one);
  }
  for (const one of ofChain) if (taken.size < callsPerTurn) taken.add(one);
  return taken;
}

function isAlone({ call }: Waiting): boolean {
  return call.wanted.alone === true;
}

function busy(): DomainError {
  return new DomainError('UNAVAILABLE', 'the usage store is busy', {
    reason: 'USAGE_STORE_BUSY',
    retryAfterSeconds: 1,
  });
}
