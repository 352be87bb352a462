import type { Block } from '../../core/chain/chain.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochSeconds } from '../../core/units/time.js';
import type { AccountId, Reservation, UsageStore } from '../../core/usage/usage-store.js';
import { charges } from './balances.js';
import { readEvidence } from './evidence-reader.js';
import type { History } from './history.js';
import { nothingLate, settleLate, type LateSettlement } from './late.js';
import { operationId, type MinedOperation } from './mined.js';
import type { Scanner } from './scan.js';
import { nothingSettled, settle, type Settlement } from './settlement.js';
import { readUsable, type Source } from './source.js';

// What a step of the follower reads: promises for mined operations, evidence about them, and balances.

type Promises = Pick<UsageStore, 'reservations'>;

/** Most operations that one step settles. A single block with more operations is settled whole. */
const operationsPerStep = 2_000;

/** Settles the operations that were mined, by the promises for their nonces. */
export async function settleMined(
  usage: Promises,
  source: Source,
  mined: readonly MinedOperation[],
  ours: ReadonlySet<AddressKey>,
): Promise<Settlement> {
  if (mined.length === 0) return nothingSettled;
  const reservations = await promisesFor(usage, source, mined);
  const evidenceOf = await readEvidence(source, mined, reservations, { ours });
  return settle(mined, reservations, evidenceOf, (contract) => ours.has(contract));
}

/**
 * Settles operations that may have been settled when they were mined. `only`: the reservations that may end; default:
 * all of these operations.
 */
export async function settleAgain(
  usage: Promises,
  history: Pick<History, 'hasSettled'>,
  source: Source,
  mined: readonly MinedOperation[],
  ours: ReadonlySet<AddressKey>,
  only?: readonly Reservation[],
): Promise<LateSettlement> {
  if (mined.length === 0) return nothingLate;
  const promised = await promisesFor(usage, source, mined);
  const spent = only ?? promised;
  const evidenceOf = await readEvidence(source, mined, spent, { ours, asProof: true });
  return settleLate(mined, spent, promised, evidenceOf, (operation) =>
    history.hasSettled(operationId(operation)),
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

function promisesFor(
  usage: Promises,
  { chainId }: Source,
  operations: readonly MinedOperation[],
): Promise<readonly Reservation[]> {
  return usage.reservations(chainId, { operations, expiredBefore: 0 as EpochSeconds, limit: 0 });
}
