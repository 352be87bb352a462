import type { Block } from '../../core/chain/chain.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochSeconds } from '../../core/units/time.js';
import type { Charge } from '../../core/usage/follower-step.js';
import type { AccountId, Reservation } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { charges } from './balances.js';
import { readEvidence } from './evidence-reader.js';
import type { History } from './history.js';
import { nothingLate, settleLate, type LateSettlement } from './late.js';
import { byOperation, operationId, reservationId, type MinedOperation } from './mined.js';
import type { Scanner } from './scan.js';
import { settle, type Settlement } from './settlement.js';
import { connections, readUsable, type Source } from './source.js';
import { negated } from './undo.js';
import { retriesAtOnce, type Failure, type Unread } from './unread.js';

// What a step of the follower reads: promises for mined operations, evidence about them, and balances.

type Promises = Pick<UsageStore, 'reservations'>;

/** Most operations that one step settles. A single block with more operations is settled whole. */
const operationsPerStep = 2_000;
/** Blocks in which a follower looks for operations that the one before it waited for. */
const mostLookedBack = 5_000;

/** What a step reads from, and what it knows. */
export type StepReading = {
  readonly usage: Promises;
  readonly source: Source;
  readonly history: Pick<History, 'hasSettled'>;
  readonly unread: Unread;
  readonly ours: ReadonlySet<AddressKey>;
};

/** Operations that a step decides, those that wait, and those that it decides without what no node has shown. */
type Decided<T> = {
  readonly settlement: T;
  readonly decided: readonly MinedOperation[];
  readonly failed: readonly Omit<Failure, 'counts'>[];
  readonly passedOver: readonly MinedOperation[];
};

/** Settles the operations that were mined, by the promises for their nonces. `corrected`: what earlier settlements are taken back by it. */
export async function settleMined(
  reading: StepReading,
  mined: readonly MinedOperation[],
): Promise<Decided<Settlement> & { readonly corrected: Corrected }> {
  const { usage, source, unread, ours } = reading;
  const ended = mined.flatMap((operation) => unread.passed(operation)?.ended ?? []);
  const restored = ended.map(({ reservation }) => reservation);
  const names = new Set(restored.map(({ key }) => reservationId(key)));
  const live = mined.length === 0 ? [] : await promisesFor(usage, source, mined);
  const reservations = [...restored, ...live.filter(({ key }) => !names.has(reservationId(key)))];
  const { evidenceOf, ...read } = await decide(reading, mined, reservations, false);
  const corrections = read.decided.flatMap((operation) => unread.passed(operation) ?? []);
  return {
    settlement: settle(read.decided, reservations, evidenceOf, (contract) => ours.has(contract)),
    ...read,
    corrected: {
      operations: new Set(read.decided.filter((operation) => unread.passed(operation) !== undefined)),
      restored: corrections.flatMap((passed) => passed.ended.map(({ reservation }) => reservation)),
      charges: corrections.flatMap((passed) => [
        ...passed.ended.flatMap(({ undo }) => undo),
        ...negated(passed.charges),
      ]),
    },
  };
}

/** Reservations that are live again for the time of a step, and what takes back how they were counted. */
export type Corrected = {
  readonly operations: ReadonlySet<MinedOperation>;
  readonly restored: readonly Reservation[];
  readonly charges: readonly Charge[];
};

/**
 * Settles operations that may have been settled when they were mined. `only`: the reservations that may end; default:
 * all of these operations.
 */
export async function settleAgain(
  reading: StepReading,
  mined: readonly MinedOperation[],
  only?: readonly Reservation[],
): Promise<Decided<LateSettlement>> {
  if (mined.length === 0) return { settlement: nothingLate, decided: [], failed: [], passedOver: [] };
  const { usage, source, history } = reading;
  const promised = await promisesFor(usage, source, mined);
  const spent = only ?? promised;
  const { evidenceOf, ...read } = await decide(reading, mined, spent, true);
  const settlement = settleLate(read.decided, spent, promised, evidenceOf, (operation) =>
    history.hasSettled(operationId(operation)),
  );
  return { settlement, ...read };
}

/** Which of the operations are settled now: not those that wait for another try. */
async function decide(
  { source, unread, ours }: StepReading,
  mined: readonly MinedOperation[],
  reservations: readonly Reservation[],
  isLate: boolean,
) {
  const { evidenceOf, incomplete } = await readEvidence(source, mined, reservations, {
    ours,
    asProof: isLate,
    attempt: (operation) => unread.attempt(operation),
  });
  const waits = (operation: MinedOperation): boolean =>
    incomplete.has(operation) && (unread.passed(operation) !== undefined || unread.mayWait(operation));
  const decided = mined.filter((operation) => !waits(operation));
  const failed = mined.filter(waits).map((operation) => ({ operation, isLate }));
  return {
    evidenceOf,
    decided,
    failed,
    passedOver: decided.filter((operation) => incomplete.has(operation)),
  };
}

/**
 * Which of the tries count: those where a connection that did not show the operation has shown its block. The usual one has answered
 * everything else of the step. Asked of a few, since others were not tried.
 */
export function countTries(
  source: Source,
  unread: Unread,
  failed: readonly Omit<Failure, 'counts'>[],
): Promise<readonly Failure[]> {
  return Promise.all(
    failed.map(async (failure, index) => {
      const { operation } = failure;
      if (index >= retriesAtOnce) return { ...failure, counts: false };
      const [, ...others] = connections(source, unread.attempt(operation));
      const blocks = await Promise.all(
        others.map((chain) => chain.block({ hash: operation.blockHash }).catch(() => undefined)),
      );
      return { ...failure, counts: others.length === 0 || blocks.some((block) => block !== undefined) };
    }),
  );
}

/**
 * Operations that the follower before this one waited for: mined in blocks of remembered steps, ended by none of them, and still
 * promised. `refused` gets the blocks that cannot be read. Throws UNAVAILABLE.
 */
export async function findWaiting(
  { usage, source }: Pick<StepReading, 'usage' | 'source'>,
  history: History,
  scanner: Scanner,
  wanted: Parameters<Scanner['operations']>[1],
  refused: (block: number) => void,
): Promise<readonly MinedOperation[]> {
  const points = history.points();
  const [newest, oldest] = [points[0], points.at(-1)];
  if (newest === undefined || oldest === undefined) return [];
  const from = Math.max(oldest.blockNumber + 1, newest.blockNumber - mostLookedBack + 1);
  const mined = await scanner.operations(source.chain, wanted, from, newest.blockNumber, refused);
  const open = mined.filter((operation) => !history.hasEnded(operationId(operation)));
  if (open.length === 0) return [];
  const promised = byOperation(await promisesFor(usage, source, open));
  return open.filter((operation) => promised.has(operationId(operation)));
}

/** Balances at the block where a step ends, less what later operations have taken. Throws UNAVAILABLE. */
export async function usableBalances(
  usage: Promises,
  scanner: Scanner,
  source: Source,
  followed: readonly AccountId[],
  at: {
    readonly from: number;
    readonly target: Block;
    readonly head: Block;
    readonly wanted: Parameters<Scanner['operations']>[1];
  },
): ReturnType<typeof readUsable> {
  const above = Math.max(at.from, at.target.number + 1);
  const recent = await scanner.operations(source.chain, at.wanted, above, at.head.number);
  const promised = recent.length === 0 ? [] : await promisesFor(usage, source, recent);
  return readUsable(source, followed, at.target, at.head, charges(recent, promised));
}

/** The block that a step ends at: `last`, or an earlier one when the blocks hold more operations than one step settles. */
export function endOfStep(mined: readonly MinedOperation[], last: number): number {
  const over = mined[operationsPerStep];
  const first = mined[0];
  if (over === undefined || first === undefined) return last;
  return Math.max(first.blockNumber, over.blockNumber - 1);
}

function promisesFor(
  usage: Promises,
  { chainId }: Source,
  operations: readonly MinedOperation[],
): Promise<readonly Reservation[]> {
  return usage.reservations(chainId, { operations, expiredBefore: 0 as EpochSeconds, limit: 0 });
}
