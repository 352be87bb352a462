import type { Entry } from '../../../core/usage/reservations.js';
import type {
  Commit,
  FoldedPromises,
  Mode,
  Reservation,
  SignedPromise,
  Unit,
} from '../../../core/usage/usage-store.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';

/**
 * What a reservation has promised and holds, as the JSON text of one column:
 *
 *     [validUntil,
 *      promises: [[digest, mode, contract, funding | null, token | null, prefund in wei as text, validUntil], …],
 *      folded:   [[mode, contract, prefund in wei as text, validUntil], …],
 *      limits:   [[counter, unit, until, cost], …],
 *      holds:    [[counter, unit, cost], …],
 *      accounts: [[contract, funding | null, need], …],
 *      commit:   [commitment, until, 1 when it is signed, else 0, without it: null or [validUntil, limits, holds, accounts]],
 *      record:   id of its first record of the ledger]
 *
 * The last two elements are only there if the reservation has a commit, or null and a record. Releases that do not know
 * them ignore them: they hold what the commit holds until the reservation expires, and sign nothing for it.
 */
export type Terms = Omit<Reservation, 'key'>;

type TermsJson = readonly [
  number,
  readonly (readonly [string, Mode, string, string | null, string | null, string, number])[],
  readonly (readonly [Mode, string, string, number])[],
  readonly (readonly [string, Unit, number, number])[],
  readonly (readonly [string, Unit, number])[],
  readonly (readonly [string, string | null, number])[],
  (readonly [string, number, 0 | 1, SignedJson | null] | null)?,
  string?,
];
type SignedJson = readonly [number, TermsJson[3], TermsJson[4], TermsJson[5]];

export function formatTerms(entry: Entry): string {
  const { promises, folded, commit, recordId } = entry;
  const [validUntil, ...amounts] = formatAmounts(entry);
  const json: TermsJson = [
    validUntil,
    promises.map((one) => [
      one.digest,
      one.mode,
      one.contract,
      one.fundingAddress ?? null,
      one.token ?? null,
      one.prefundWei.toString(),
      one.validUntil,
    ]),
    folded.map((one) => [one.mode, one.contract, one.prefundWei.toString(), one.validUntil]),
    ...amounts,
  ];
  if (commit === undefined) return JSON.stringify(recordId === undefined ? json : [...json, null, recordId]);
  const { commitment, until, isSigned, signed } = commit;
  const kept = signed === undefined ? null : formatAmounts(signed);
  const record = recordId === undefined ? [] : [recordId];
  return JSON.stringify([...json, [commitment, until, isSigned ? 1 : 0, kept], ...record]);
}

function formatAmounts({
  validUntil,
  limits,
  holds,
  accounts,
}: Pick<Entry, 'validUntil' | 'limits' | 'holds' | 'accounts'>): SignedJson {
  return [
    validUntil,
    limits.map(({ of, amount }) => [of.counter, of.unit, of.until, amount]),
    holds.map(({ of, amount }) => [of.counter, of.unit, amount]),
    accounts.map(({ of, amount }) => [of.contract, of.fundingAddress ?? null, amount]),
  ];
}

/** Expects text that {@link formatTerms} has written; throws on text that is not JSON of that shape. */
export function parseTerms(text: string): Terms {
  const [validUntil, promises, folded, limits, holds, accounts, commit, recordId] = JSON.parse(
    text,
  ) as TermsJson;
  return {
    ...parseAmounts([validUntil, limits, holds, accounts]),
    ...(commit === undefined || commit === null ? {} : { commit: parseCommit(commit) }),
    ...(recordId === undefined ? {} : { recordId }),
    promises: promises.map(([digest, mode, contract, funding, token, prefund, until]): SignedPromise => ({
      digest: digest as Hex,
      mode,
      contract: contract as AddressKey,
      ...(funding === null ? {} : { fundingAddress: funding as AddressKey }),
      ...(token === null ? {} : { token: token as AddressKey }),
      prefundWei: BigInt(prefund),
      validUntil: until as EpochSeconds,
    })),
    folded: folded.map(([mode, contract, prefund, until]): FoldedPromises => ({
      mode,
      contract: contract as AddressKey,
      prefundWei: BigInt(prefund),
      validUntil: until as EpochSeconds,
    })),
  };
}

function parseCommit([commitment, until, isSigned, signed]: NonNullable<TermsJson[6]>): Commit {
  return {
    commitment: commitment as Hex,
    until: until as EpochMs,
    isSigned: isSigned === 1,
    ...(signed === null ? {} : { signed: parseAmounts(signed) }),
  };
}

function parseAmounts([validUntil, limits, holds, accounts]: SignedJson): NonNullable<Commit['signed']> {
  return {
    validUntil: validUntil as EpochSeconds,
    limits: limits.map(([counter, unit, until, cost]) => ({ counter, unit, until: until as EpochMs, cost })),
    holds: holds.map(([counter, unit, cost]) => ({ counter, unit, cost })),
    accounts: accounts.map(([contract, funding, need]) => ({
      contract: contract as AddressKey,
      ...(funding === null ? {} : { fundingAddress: funding as AddressKey }),
      need: gwei(need),
    })),
  };
}
