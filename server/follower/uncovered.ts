import { isDomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import type { EpochMs } from '../../core/units/time.js';
import { maxTries, pauseAfter } from './backlog.js';
import { BalanceEvents, endOfDeposits, type Blocks, type EventsRead } from './balance-events.js';
import type { MinedOperation } from './mined.js';
import type { Keeper, Sum } from './movements.js';
import type { Watched } from './scan.js';
import type { Source } from './source.js';

export type Kept = { readonly operation: MinedOperation; readonly keeper: Keeper };

/** Blocks that were settled without the events of their balances, and what was recorded of them: events are added to it later. */
type Hole = {
  readonly from: number;
  readonly to: number;
  readonly tries: number;
  readonly nextAt: EpochMs;
  readonly sums: readonly Sum[];
  readonly kept: readonly Kept[];
};

/** Events of a step's blocks; `late`: of the first blocks of a hole, up to `to`, with the operations there that kept a promise. */
export type StepEvents = EventsRead & { readonly late?: LateEvents };
type LateEvents = EventsRead & Pick<Hole, 'kept'> & { readonly hole: Hole; readonly to: number };

/** Blocks of a hole that one step reads. */
const blocksAtOnce = 10_000;
const maxHoles = 100;
/** Operations and sums that are remembered of a hole. */
const maxRemembered = 10_000;

/**
 * Reads the events of balances for steps, which never wait for them: blocks whose events a node refuses become holes, which later steps
 * read. A hole that is given up, or that a process takes with it when it ends, stays uncovered, and statements name its blocks.
 */
export class Uncovered {
  readonly #events: BalanceEvents;
  readonly #log: Logger;
  #holes: readonly Hole[] = [];
  #failures = 0;
  #pausedUntil = 0;

  constructor(log: Logger, patienceMs?: number) {
    this.#events = new BalanceEvents(patienceMs);
    this.#log = log;
  }

  async read(source: Source, wanted: Watched, [from, to]: Blocks, now: EpochMs): Promise<StepEvents> {
    if (now < this.#pausedUntil) return { events: [], refused: numbers(from, to) };
    const own = await this.#try(source, wanted, [from, to]);
    if (own === undefined) {
      this.#failures = Math.min(this.#failures + 1, maxTries - 1);
      this.#pausedUntil = now + pauseAfter(this.#failures);
      this.#log.warn('deposits and withdrawals cannot be read yet', { fromBlock: from, toBlock: to });
      return { events: [], refused: numbers(from, to) };
    }
    this.#failures = 0;
    const hole = this.#holes.find(({ nextAt }) => nextAt <= now);
    if (hole === undefined) return own;
    const last = Math.min(hole.to, hole.from + blocksAtOnce - 1);
    const late = await this.#try(source, wanted, [hole.from, last]);
    if (late === undefined) {
      this.#holes = this.#holes.flatMap((one) => (one === hole ? this.#triedAgain(hole, now) : [one]));
      return own;
    }
    const end = endOfDeposits(late.events, last);
    const events = within(late.events, { from: hole.from, to: end });
    const isRead = ({ operation: { blockNumber } }: Kept): boolean =>
      blockNumber <= end && !late.refused.includes(blockNumber);
    return { ...own, late: { events, refused: late.refused, kept: hole.kept.filter(isRead), hole, to: end } };
  }

  /** The step was taken. `added`: its holes. `sums`: what it has recorded of blocks, those of holes among them. */
  taken({ late }: StepEvents, added: readonly Hole[], sums: readonly Sum[], now: EpochMs): void {
    const left = this.#holes.flatMap((hole) => {
      const known = { ...hole, sums: [...hole.sums, ...within(sums, hole)] };
      if (hole !== late?.hole) return [known];
      const refused = late.refused.filter((block) => block <= late.to);
      return [
        ...refused.flatMap((block) => this.#triedAgain(part(known, block, block), now)),
        ...(late.to < hole.to ? [part(known, late.to + 1, hole.to)] : []),
      ];
    });
    const holes = added.reduce(joinHoles, left);
    const kept = holes
      .filter((hole) => hole.kept.length + hole.sums.length <= maxRemembered)
      .slice(-maxHoles);
    for (const hole of holes.filter((one) => !kept.includes(one))) this.#giveUp(hole);
    this.#holes = kept;
  }

  /** The blocks above this one were removed, or are settled again. */
  rollBack(block: number): void {
    this.#holes = this.#holes.flatMap((hole) =>
      hole.from > block ? [] : [part(hole, hole.from, Math.min(hole.to, block))],
    );
  }

  /** Undefined when the node refuses. */
  async #try(source: Source, wanted: Watched, blocks: Blocks): Promise<EventsRead | undefined> {
    try {
      const { events, refused } = await this.#events.read(source, wanted, blocks);
      // A block is read whole or not at all.
      return { events: events.filter(({ blockNumber }) => !refused.includes(blockNumber)), refused };
    } catch (error) {
      if (!isDomainError(error, 'UNAVAILABLE')) throw error;
      return undefined;
    }
  }

  #triedAgain(hole: Hole, now: EpochMs): readonly Hole[] {
    const tries = hole.tries + 1;
    if (tries < maxTries) return [{ ...hole, tries, nextAt: (now + pauseAfter(tries)) as EpochMs }];
    this.#giveUp(hole);
    return [];
  }

  #giveUp({ from, to }: Hole): void {
    this.#log.error('deposits and withdrawals of blocks were not read: statements name the blocks', {
      fromBlock: from,
      toBlock: to,
    });
  }
}

/** The holes that refused blocks make, with what was recorded of them. */
export function listHoles(
  refused: readonly number[],
  sums: readonly Sum[],
  kept: readonly Kept[],
  now: EpochMs,
): readonly Hole[] {
  return refused
    .map((block): Hole => ({ from: block, to: block, tries: 0, nextAt: now, sums: [], kept: [] }))
    .reduce(joinHoles, [])
    .map((hole) => ({
      ...hole,
      sums: within(sums, hole),
      kept: kept.filter(({ operation }) => within([operation], hole).length > 0),
    }));
}

function joinHoles(holes: readonly Hole[], next: Hole): readonly Hole[] {
  const last = holes.at(-1);
  if (last?.to !== next.from - 1) return [...holes, next];
  const both = {
    ...last,
    to: next.to,
    sums: [...last.sums, ...next.sums],
    kept: [...last.kept, ...next.kept],
  };
  return [...holes.slice(0, -1), both];
}

function part(hole: Hole, from: number, to: number): Hole {
  const kept = hole.kept.filter(({ operation }) => within([operation], { from, to }).length > 0);
  return { ...hole, from, to, sums: within(hole.sums, { from, to }), kept };
}

function within<T extends { readonly blockNumber: number }>(
  all: readonly T[],
  { from, to }: Pick<Hole, 'from' | 'to'>,
): readonly T[] {
  return all.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to);
}

function numbers(from: number, to: number): readonly number[] {
  return Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index);
}
