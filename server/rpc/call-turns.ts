import { Pending, type Later } from '../../core/pending.js';

/**
 * Shares the thread that decides and signs between the paymasters: what one asks for in a batch or on many connections is decided in
 * slices, and between two slices everybody else is served.
 *
 * - A call runs at once while the calls of this turn of the event loop have taken less than 5 ms and none of its paymaster waits.
 * - Other calls wait in a line for each paymaster. After each turn the lines go on one call at a time, one line after the other, until
 *   the slice is over: who asks for a hundred calls waits for them, and nobody waits behind them.
 * - A call of the kind `aside` always waits: of those one runs in a turn, after the others.
 *
 * Waiting calls are bounded by the bytes of the bodies that they came in.
 */
export type CallTurns = Readonly<ReturnType<typeof createCallTurns>>;

export type CallKind = 'ordinary' | 'aside';

type CallTurnsDeps = {
  /** Milliseconds of an arbitrary start. Default: those of the process. */
  readonly now?: () => number;
  /** Runs its argument after the sockets have been read once more. Default: setImmediate. */
  readonly afterTurn?: (run: () => void) => unknown;
};

/** Of the lines. While one paymaster calls alone there is nobody to make room for. */
export const slicesMs = { alone: 5, shared: 1 } as const;
/** How long slices stay short after two calls in a row were of different paymasters. */
const sharedForMs = 1_000;

export function createCallTurns({
  now = () => performance.now(),
  afterTurn = setImmediate,
}: CallTurnsDeps = {}) {
  const ordinary = createLines();
  const aside = createLines();
  let isScheduled = false;
  let spentMs = 0;
  let last: string | undefined;
  let sharedUntil = Number.NEGATIVE_INFINITY;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    afterTurn(goOn);
  }

  function goOn(): void {
    isScheduled = false;
    const begun = now();
    const end = begun + sliceAt(begun) - spentMs;
    spentMs = 0;
    // At least one, whatever the calls that did not wait have taken.
    while (ordinary.runNext() && now() < end);
    aside.runNext();
    if (!ordinary.isEmpty() || !aside.isEmpty()) schedule();
  }

  function sliceAt(at: number): number {
    return at < sharedUntil ? slicesMs.shared : slicesMs.alone;
  }

  return {
    /** Runs `call`, now or later, and answers what it answers. `paymaster`: whose turn it takes. */
    run<T>(paymaster: string, kind: CallKind, call: () => Later<T>): Later<T> {
      schedule();
      const begun = now();
      if (last !== undefined && paymaster !== last) sharedUntil = begun + sharedForMs;
      last = paymaster;
      const isNext = kind === 'ordinary' && spentMs < slicesMs.alone && !ordinary.has(paymaster);
      if (isNext) {
        try {
          return call();
        } finally {
          spentMs += now() - begun;
        }
      }
      const answer = new Pending<T>();
      const lines = kind === 'ordinary' ? ordinary : aside;
      lines.add(paymaster, () => answer.endAs(call));
      return answer;
    },
  };
}

/** Waiting calls by paymaster; a map keeps the order in which the paymasters are next. */
function createLines() {
  const lines = new Map<string, (() => void)[]>();
  return {
    isEmpty: () => lines.size === 0,
    has: (paymaster: string) => lines.has(paymaster),
    add(paymaster: string, run: () => void): void {
      const line = lines.get(paymaster);
      if (line === undefined) lines.set(paymaster, [run]);
      else line.push(run);
    },
    /** False when nothing waits. */
    runNext(): boolean {
      const next = lines.entries().next().value;
      if (next === undefined) return false;
      const [paymaster, line] = next;
      const run = line.shift();
      lines.delete(paymaster);
      if (line.length > 0) lines.set(paymaster, line);
      run?.();
      return true;
    },
  };
}
