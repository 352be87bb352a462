import type { Block } from '../../core/chain/chain.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochSeconds } from '../../core/units/time.js';
import type { Charge } from '../../core/usage/follower-step.js';
import type { AccountId, Reservation } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { retriesAtOnce, type Failure, type Unread } from './backlog.js';
import { charges } from './balances.js';
import { readEvidence } from './evidence.js';
import { negated, type History } from './history.js';
import { operationId, reservationId, type MinedOperation } from './mined.js';
import { sendersAtOnce, type Scanner } from './scan.js';
import { noEffect, settleLate, settleOperations, type Settlement } from './settlement.js';
import { connections, promisesFor, readNonces, readUsable, type Source } from './source.js';

// What a step of the follower reads: promises for mined operations, evidence about them, and balances.

type Promises = Pick<UsageStore, 'reservations'>;

/** Most operations that one step settles. A single block with more operations is settled whole. */
const operationsPerStep = 2_000;

/** What a step reads from, and what it knows. */
type StepReading = {
  readonly usage: Promises;
  readonly source: Source;
  readonly history: Pick<History, 'hasSettled'>;
  readonly unread: Unread;
  readonly ours: ReadonlySet<AddressKey>;
};

/** Operations that a step decides, those that wait, and those that it decides without what no node has shown. */
type Decided = {
  readonly settlement: Settlement;
  readonly decided: readonly MinedOperation[];
  readonly failed: readonly Omit<Failure, 'counts'>[];
  readonly passedOver: readonly MinedOperation[];
};

/** Settles the operations that were mined, by the promises for their nonces. `corrected`: what earlier settlements are taken back by it. */
export async function settleMined(
  reading: StepReading,
  mined: readonly MinedOperation[],
): Promise<Decided & { readonly corrected: Corrected }> {
  const { usage, source, unread, ours } = reading;
  const ended = mined.flatMap((operation) => unread.passed(operation)?.ended ?? []);
  const restored = ended.map(({ reservation }) => reservation);
  const names = new Set(restored.map(({ key }) => reservationId(key)));
  const live = mined.length === 0 ? [] : await promisesFor(usage, source, mined);
  const reservations = [...restored, ...live.filter(({ key }) => !names.has(reservationId(key)))];
  const { evidenceOf, ...read } = await decide(reading, mined, reservations, false);
  const corrections = read.decided.flatMap((operation) => unread.passed(operation) ?? []);
  return {
    settlement: settleOperations(read.decided, reservations, evidenceOf, (contract) => ours.has(contract)),
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
type Corrected = {
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
): Promise<Decided> {
  if (mined.length === 0) return { settlement: noEffect, decided: [], failed: [], passedOver: [] };
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

/** Most live reservations whose senders a step looks for: those that expire first. The others wait for their last moment. */
export const maxLookedFor = 2 * sendersAtOnce;
const anyTime = Number.MAX_SAFE_INTEGER as EpochSeconds;

/**
 * Operations of live reservations in `from`…`to`, regardless of who paid for them. When another paymaster or nobody paid for one, it
 * has used up the nonce, so its reservations can end at once. They are found by their senders, with at most two queries per step and
 * none while nothing is live. The EntryPoint must also confirm that the nonce is used. Throws UNAVAILABLE.
 */
export async function minedForSenders(
  source: Source,
  scanner: Scanner,
  usage: Pick<UsageStore, 'reservations'>,
  { from, to }: { readonly from: number; readonly to: Block },
): Promise<readonly MinedOperation[]> {
  if (from > to.number) return [];
  const query = { operations: [], expiredBefore: anyTime, limit: maxLookedFor };
  const live = await usage.reservations(source.chainId, query);
  const keys = live.map(({ key }) => key);
  const found = await scanner.ofSenders(source.chain, keys, from, to.number);
  if (found.length === 0) return [];
  const nonces = await readNonces(source, found, to);
  return found.filter((operation) => (nonces.get(operationId(operation)) ?? 0n) > operation.nonce);
}
