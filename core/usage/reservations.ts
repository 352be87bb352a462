import type { EpochSeconds } from '../units/time.js';
import { gwei } from '../units/wei.js';
import type { Account } from './accounts.js';
import { limitHeld, type EntryCommit, type Held, type HeldLimit, type SignedPart } from './held.js';
import type { Counter } from './counters.js';
import type {
  AccountId,
  Commit,
  CounterId,
  FoldedPromises,
  OperationId,
  Reservation,
  ReservationKey,
  SignedPromise,
} from './reservation.js';

/** A turn's copy of a reservation, with the turn's copies of what it holds. */
export type Entry = {
  readonly key: ReservationKey;
  promises: readonly SignedPromise[];
  folded: readonly FoldedPromises[];
  /** The latest `validUntil` of all promises, or the end of the commit. */
  validUntil: EpochSeconds;
  readonly limits: HeldLimit[];
  readonly holds: Held<Counter>[];
  readonly accounts: Held<Account>[];
  commit: EntryCommit | undefined;
  recordId: string | undefined;
  isChanged: boolean;
  isEnded: boolean;
};

/** One text per operation of a chain, from the full nonce, EntryPoint and sender. */
export function operationKey({ entryPoint, sender, nonce }: OperationId): string {
  return `${nonce.toString(16)}/${entryPoint}/${sender}`;
}

/** One text per reservation of a chain. */
export function reservationName(key: ReservationKey): string {
  return `${operationKey(key)}/${key.paymasterId}`;
}

/** One text per paymaster, EntryPoint and sender of a chain. */
export function partyName({ paymasterId, ...operation }: ReservationKey): string {
  return `${operationKey({ ...operation, nonce: 0n })}/${paymasterId}`;
}

type Amounts = Pick<Reservation, 'validUntil' | 'limits' | 'holds' | 'accounts'>;
type Lookup = {
  readonly counters: { of(id: CounterId): Counter };
  readonly accounts: { of(id: AccountId): Account };
};

/** Amounts with the copies of a turn, without holding them. */
export function partFrom({ validUntil, limits, holds, accounts }: Amounts, turn: Lookup): SignedPart {
  return {
    validUntil,
    limits: limits.map((one) => limitHeld(turn.counters.of(one), one)),
    holds: holds.map((one) => ({ of: turn.counters.of(one), amount: one.cost })),
    accounts: accounts.map((one) => ({ of: turn.accounts.of(one), amount: one.need })),
  };
}

export function entryFrom(row: Reservation, turn: Lookup): Entry {
  const { key, promises, folded, commit, recordId } = row;
  return {
    key,
    promises,
    folded,
    ...partFrom(row, turn),
    commit:
      commit === undefined
        ? undefined
        : {
            ...commit,
            signed: commit.signed === undefined ? undefined : partFrom(commit.signed, turn),
          },
    recordId,
    isChanged: false,
    isEnded: false,
  };
}

/** The reservation as a row. */
export function toReservation(entry: Entry): Reservation {
  const { key, promises, folded, commit, recordId } = entry;
  return {
    key,
    promises,
    folded,
    ...toAmounts(entry),
    ...(commit === undefined ? {} : { commit: toCommit(commit) }),
    ...(recordId === undefined ? {} : { recordId }),
  };
}

function toCommit({ commitment, until, isSigned, signed }: EntryCommit): Commit {
  return { commitment, until, isSigned, ...(signed === undefined ? {} : { signed: toAmounts(signed) }) };
}

function toAmounts({
  validUntil,
  ...held
}: Pick<Entry, 'validUntil' | 'limits' | 'holds' | 'accounts'>): Amounts {
  return {
    validUntil,
    limits: held.limits.map(({ of: { counter, unit, until }, amount, rate }) =>
      rate === undefined
        ? { counter, unit, until, cost: amount }
        : { counter, unit, until, cost: amount, rate },
    ),
    holds: held.holds.map(({ of: { counter, unit }, amount }) => ({ counter, unit, cost: amount })),
    accounts: held.accounts.map(({ of: { contract, fundingAddress }, amount }) => ({
      contract,
      ...(fundingAddress === undefined ? {} : { fundingAddress }),
      need: gwei(amount),
    })),
  };
}
