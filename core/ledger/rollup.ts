import type { AddressKey } from '../units/address.js';
import type { EpochMs } from '../units/time.js';
import { addToken, noAmounts, type Amounts, type MutableAmounts } from './amounts.js';
import { isPromise } from './outcome.js';
import type { Decision, Gap, MinedFacts, RecordId, Settlement, TokenPayment, DecidedCall } from './record.js';
import {
  decisionShares,
  shareOfAmount,
  separateShares,
  sharesWithoutDecision,
  type RollupDimension,
  type Share,
} from './shares.js';
import { startOf } from './steps.js';

/**
 * Roll-ups: what records add to sums per minute and value. A ledger stores the deltas of a {@link Tally} in the
 * transaction that stores the records.
 *
 * - Decisions count at their own time, a reservation at that of its oldest decision, outcomes at the time of the settlement's block.
 *   A commit counts nowhere.
 * - Only values that the configuration knows have rows, because callers must not be able to make rows; all others
 *   count as `other`. Senders, whom callers choose, have rows per day only.
 * - An operation with several calls counts once for each of its contracts and methods. Its money is divided evenly
 *   among the calls, the remainder to the first, so that money adds up. Each policy gets all of it.
 * - The sums depend on which records are stored, not on the order in which they came.
 */
export type Tally = ReturnType<typeof createTally>;
type Sign = 1 | -1;

/** What sums depend on. */
export type CountedDecision = Pick<
  Decision,
  | 'id'
  | 'at'
  | 'organisation'
  | 'paymasterId'
  | 'chainId'
  | 'contract'
  | 'fundingAddress'
  | 'mode'
  | 'sender'
  | 'calls'
  | 'verdict'
  | 'reason'
  | 'policies'
  | 'maxCostWei'
>;

/** Added to the sums of a value in a minute; negative where a settlement is taken back. */
type RollupDelta = Owner & {
  readonly minute: EpochMs;
  readonly dimension: RollupDimension;
  readonly value: string;
  readonly amounts: Amounts;
};

/** Added to the sums of a sender in a day (UTC). */
type SenderDelta = Owner & {
  readonly day: EpochMs;
  readonly sender: AddressKey;
  readonly amounts: Amounts;
};

type MutableRollup = RollupDelta & { readonly amounts: MutableAmounts };
type MutableSender = SenderDelta & { readonly amounts: MutableAmounts };
/** Decisions of one paymaster and minute that count in the same sums; `senders` are those of the day. */
type Alike = {
  readonly first: CountedDecision;
  readonly minute: EpochMs;
  readonly day: EpochMs;
  readonly shares: readonly Share[];
  readonly deltas: readonly MutableRollup[];
  readonly senders: Map<AddressKey, MutableSender>;
};
/** So many are kept per paymaster, so that decisions that are all different cost little more. */
const maxAlike = 8;
type Owner = { readonly organisation: string; readonly paymasterId: string };
type Counts = Partial<Omit<Amounts, 'tokens'>>;
type Change = Counts & { readonly token?: TokenPayment };

export function createTally() {
  /** By minute, organisation and paymaster; within each by dimension and value. */
  const rollups = new Map<string, Map<RollupDimension, Map<string, MutableRollup>>>();
  /** By day, organisation and paymaster; within each by sender. */
  const senders = new Map<string, Map<AddressKey, MutableSender>>();
  /** By paymaster. Thousands of decisions differ only in what they do not count by. */
  const alike = new Map<string, Alike[]>();

  function ensureDeltas(
    { organisation, paymasterId }: Owner,
    minute: EpochMs,
    shares: readonly Share[],
  ): readonly MutableRollup[] {
    const sums = ensureEntry(rollups, `${minute}\n${organisation}\n${paymasterId}`, () => new Map());
    return shares.map(({ dimension, value }) => {
      const values = ensureEntry(sums, dimension, () => new Map<string, MutableRollup>());
      return ensureEntry(values, value, () => ({
        minute,
        organisation,
        paymasterId,
        dimension,
        value,
        amounts: noAmounts(),
      }));
    });
  }

  function add(owner: Owner, at: EpochMs, shares: readonly Share[], change: Change): void {
    const deltas = ensureDeltas(owner, startOf(at, 'minute'), shares);
    for (const [i, share] of shares.entries()) addChange(deltas[i]!.amounts, change, share);
  }

  function ensureAlike(decision: CountedDecision, minute: EpochMs): Alike {
    const { organisation, paymasterId } = decision;
    const known = ensureEntry(alike, paymasterId, (): Alike[] => []);
    for (const one of known) if (one.minute === minute && countsAlike(one.first, decision)) return one;
    const shares = listShares(decision);
    const deltas = ensureDeltas(decision, minute, shares);
    const day = startOf(minute, 'day');
    const ofDay = ensureEntry(
      senders,
      `${day}\n${organisation}\n${paymasterId}`,
      () => new Map<AddressKey, MutableSender>(),
    );
    const made: Alike = { first: decision, minute, day, shares, deltas, senders: ofDay };
    if (known.length === maxAlike) known.shift();
    known.push(made);
    return made;
  }

  function addOperation(decision: CountedDecision, at: EpochMs, change: Change): void {
    const { shares, deltas, day, senders: ofDay } = ensureAlike(decision, startOf(at, 'minute'));
    for (let i = 0; i < shares.length; i += 1) addChange(deltas[i]!.amounts, change, shares[i]);
    const { organisation, paymasterId, sender } = decision;
    let delta = ofDay.get(sender);
    if (delta === undefined) {
      delta = { day, organisation, paymasterId, sender, amounts: noAmounts() };
      ofDay.set(sender, delta);
    }
    addChange(delta.amounts, change);
  }

  function listShares(decision: CountedDecision): readonly Share[] {
    return [...separateShares(decision), ...decisionShares(decision)];
  }

  function sharesOfPaymaster(
    { paymasterId, chainId }: Settlement | Gap,
    reason: string | undefined,
  ): readonly Share[] {
    return [...separateShares({ paymasterId, chainId, mode: undefined, reason }), ...sharesWithoutDecision];
  }

  return {
    /** A decision that was not stored before. */
    addDecision: (decision: CountedDecision): void => {
      const { verdict, at } = decision;
      if (verdict === 'committed') return;
      addOperation(decision, at, isPromise(decision) ? { asks: 1 } : { refused: 1 });
    },
    /**
     * A reservation counts once, however often it was asked for, with the most that any of its promises can cost, as its limits do.
     * `decision` stands for it: its oldest. `sign` -1: another one does from now on, or the amount is another.
     */
    addReservation: (decision: CountedDecision, promisedWei: bigint, sign: Sign): void =>
      addOperation(decision, decision.at, { sponsored: sign, promisedWei: BigInt(sign) * promisedWei }),
    /**
     * For the decision of a reservation that was mined, or else its oldest, if its settlement stands from now on (`sign` 1), or no
     * longer (-1). `mined`: see `minedDecision`.
     */
    addOutcome: (
      decision: CountedDecision,
      settlement: Settlement,
      mined: RecordId | undefined,
      sign: Sign,
    ): void => {
      if (!isPromise(decision)) return;
      const change =
        settlement.mined !== undefined && decision.id === mined
          ? minedChange(settlement.mined, sign)
          : { expired: sign };
      addOperation(decision, settlement.at, change);
    },
    /** A mined operation whose decision is not stored: its cost belongs to the paymaster alone. */
    addUnmatched: (settlement: Settlement, sign: Sign): void => {
      if (settlement.mined === undefined) return;
      const change = minedChange(settlement.mined, sign);
      add(settlement, settlement.at, sharesOfPaymaster(settlement, undefined), change);
    },
    /** Records that were left out count as what they would have said. */
    addGap: (gap: Gap): void => {
      const change =
        gap.cause === 'signed' ? { asks: gap.count, sponsored: gap.count } : { refused: gap.count };
      add(gap, gap.at, sharesOfPaymaster(gap, gap.reason), change);
    },
    *rollups(): Iterable<RollupDelta> {
      for (const sums of rollups.values()) for (const values of sums.values()) yield* values.values();
    },
    *senders(): Iterable<SenderDelta> {
      for (const ofDay of senders.values()) yield* ofDay.values();
    },
  };
}

function minedChange({ success, actualGasCostWei, token }: MinedFacts, sign: Sign): Change {
  const counts = { mined: sign, reverted: success ? 0 : sign, spentWei: BigInt(sign) * actualGasCostWei };
  return token === undefined
    ? counts
    : { ...counts, token: { ...token, amount: BigInt(sign) * token.amount } };
}

function addChange(sum: MutableAmounts, change: Change, share?: Share): void {
  const part = (amount: bigint): bigint => (share === undefined ? amount : shareOfAmount(amount, share));
  sum.asks += change.asks ?? 0;
  sum.sponsored += change.sponsored ?? 0;
  sum.refused += change.refused ?? 0;
  sum.mined += change.mined ?? 0;
  sum.reverted += change.reverted ?? 0;
  sum.expired += change.expired ?? 0;
  if (change.promisedWei !== undefined) sum.promisedWei += part(change.promisedWei);
  if (change.spentWei !== undefined) sum.spentWei += part(change.spentWei);
  const { token } = change;
  if (token !== undefined) addToken(sum, token.address, { ...token, amount: part(token.amount) });
}

function ensureEntry<Key, Value>(map: Map<Key, Value>, key: Key, make: () => Value): Value {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}

/** True for decisions that count in the same sums with the same parts. */
function countsAlike(a: CountedDecision, b: CountedDecision): boolean {
  return (
    a.organisation === b.organisation &&
    a.paymasterId === b.paymasterId &&
    a.chainId === b.chainId &&
    a.mode === b.mode &&
    a.reason === b.reason &&
    a.contract === b.contract &&
    a.fundingAddress === b.fundingAddress &&
    a.policies.length === b.policies.length &&
    a.calls.length === b.calls.length &&
    a.policies.every(
      ({ policyId, effect }, i) => policyId === b.policies[i]?.policyId && effect === b.policies[i].effect,
    ) &&
    a.calls.every((call, i) => isSameMethod(call, b.calls[i]))
  );
}

function isSameMethod(a: DecidedCall, b: DecidedCall | undefined): boolean {
  return a.contractId === b?.contractId && a.name === b?.name && a.selector === b?.selector;
}
