import { asEntries, type LedgerEntry } from '../../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import type { RowChanges } from '../../../core/usage/rows.js';
import { Turn } from '../../../core/usage/turn.js';
import type { Clock } from '../../../core/units/time.js';
import { answer, decideAll, isRefusal, type Decided, type TurnCall } from '../calls.js';
import type { ChainRows } from './chain-rows.js';
import type { StoredUsage } from './stored-usage.js';
import type { ChainWrite, KeptText } from './usage-tables.js';

/** What the store itself changes of a chain, beside its rows. */
export type OwnChange = {
  epoch?: string;
  longestExpiryMs?: number;
  forgotten: string[];
};

/** Changes that are committed together. */
export type Batch = {
  /** By chain. */
  readonly calls: Map<number, TurnCall[]>;
  readonly own: Map<number, OwnChange>;
  readonly messages: Map<string, KeptText | undefined>;
  /** Records that belong to no turn. */
  readonly records: LedgerRecord[];
  readonly committed: PromiseWithResolvers<void>;
  timer: NodeJS.Immediate;
};

/** Beyond the first one. A commit costs as much as three requests, so requests that come in one after the other share it. */
const maxFurtherTurns = 4;
/** A commit does not wait for more than so many calls. */
const enoughCalls = 64;

/**
 * What a turn of the event loop changes, and some further turns while each brings more calls: they are decided one after the other, and all is
 * committed in one transaction before they are answered. A commit that fails refuses the whole turn as UNAVAILABLE.
 */
export class Batches {
  readonly #stored: StoredUsage;
  readonly #clock: Clock;
  readonly #onWritten: (chains: readonly ChainRows[], rows: number) => void;
  #batch: Batch | undefined;

  /** `onWritten` is told the chains of each commit, and how many rows it wrote. */
  constructor(
    stored: StoredUsage,
    clock: Clock,
    onWritten: (chains: readonly ChainRows[], rows: number) => void,
  ) {
    this.#stored = stored;
    this.#clock = clock;
    this.#onWritten = onWritten;
  }

  get pending(): Batch | undefined {
    return this.#batch;
  }

  /** The changes that are committed next. */
  open(): Batch {
    if (this.#batch !== undefined) return this.#batch;
    const committed = Promise.withResolvers<void>();
    // A turn of calls alone has no caller that waits for all of it.
    committed.promise.catch(() => {});
    this.#batch = {
      calls: new Map(),
      own: new Map(),
      messages: new Map(),
      records: [],
      committed,
      timer: setImmediate(() => this.#endOrWait(0, maxFurtherTurns)),
    };
    return this.#batch;
  }

  add(chainId: number, call: TurnCall): void {
    const { calls } = this.open();
    const known = calls.get(chainId);
    if (known === undefined) calls.set(chainId, [call]);
    else known.push(call);
  }

  /** A call alone never waits; `known`: calls that the turn before had. */
  #endOrWait(known: number, turns: number): void {
    const batch = this.#batch!;
    const calls = [...batch.calls.values()].reduce((sum, ofChain) => sum + ofChain.length, 0);
    const isGrowing = calls > 1 && calls > known && calls < enoughCalls;
    if (turns === 0 || !isGrowing) this.end();
    else batch.timer = setImmediate(() => this.#endOrWait(calls, turns - 1));
  }

  /** Commits what is pending, whether or not that works. */
  end(): void {
    const batch = this.#batch;
    if (batch === undefined) return;
    this.#batch = undefined;
    clearImmediate(batch.timer);
    const { calls, committed } = batch;
    const decided: Decided[] = [];
    let failure: { readonly error: unknown } | undefined;
    try {
      const turns = new Map<number, Turn>();
      for (const [chainId, ofChain] of calls) {
        const turn = new Turn(chainId, this.#stored.rows(chainId));
        turns.set(chainId, turn);
        decideAll(ofChain, turn, this.#clock.now(), decided);
      }
      this.#write(batch, turns);
      committed.resolve();
    } catch (error) {
      failure = { error };
      committed.reject(error);
    }
    // Nobody goes on before the rows are those of the commit: who goes on may ask this store again at once.
    for (const one of decided) if (failure === undefined || isRefusal(one)) answer(one);
    // Those that were answered stay so.
    if (failure !== undefined)
      for (const ofChain of calls.values()) for (const call of ofChain) call.answer.reject(failure.error);
  }

  #write({ own, messages, records }: Batch, turns: ReadonlyMap<number, Turn>): void {
    const written: ChainWrite[] = [];
    for (const chainId of new Set([...turns.keys(), ...own.keys()])) {
      const turn = turns.get(chainId);
      const changes = turn?.changes();
      const change = own.get(chainId);
      if (turn !== undefined) this.#stored.rows(chainId).place = turn.place;
      if (changes === undefined && change === undefined) continue;
      written.push(this.#chainWrite(this.#stored.rows(chainId), changes, change));
    }
    // Every request of the turn was refused.
    if (written.length === 0 && messages.size === 0 && records.length === 0) return;
    const entries = listEntries(written, records);
    this.#stored.write(written, messages, entries);
    this.#onWritten(
      written.map(({ rows }) => rows),
      written.reduce((sum, { changes }) => sum + countRows(changes), entries.length),
    );
  }

  #chainWrite(rows: ChainRows, changes: RowChanges | undefined, own: OwnChange | undefined): ChainWrite {
    return {
      rows,
      changes,
      epoch: own?.epoch ?? rows.epoch,
      longestExpiryMs: own?.longestExpiryMs ?? rows.longestExpiryMs,
      forgotten: own?.forgotten ?? [],
    };
  }
}

function listEntries(
  written: readonly ChainWrite[],
  records: readonly LedgerRecord[],
): readonly LedgerEntry[] {
  const ofTurns = written.flatMap(({ changes }) => asEntries(changes?.records ?? []));
  return [...ofTurns, ...records.map((record) => ({ record, reservation: undefined }))];
}

function countRows(changes: RowChanges | undefined): number {
  return changes === undefined ? 1 : changes.reservations.length + changes.ended.length + 1;
}
