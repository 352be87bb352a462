import type {
  Commit,
  FoldedPromises,
  Mode,
  Reservation,
  SignedPromise,
} from '../../core/usage/reservation.js';
import type { Unit } from '../../core/usage/units.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';

/**
 * What a reservation has promised and holds, as the JSON text of one column:
 *
 *     [validUntil,
 *      promises: [[digest, mode, contract, funding | null, token | null, prefund in wei as text, validUntil, hashes | null, 1 when it is repeated], …],
 *      folded:   [[mode, contract, prefund in wei as text, validUntil], …],
 *      limits:   [[counter, unit, until, cost, rate as text where the unit has one], …],
 *      holds:    [[counter, unit, cost], …],
 *      accounts: [[contract, funding | null, need], …],
 *      commit:   null or [commitment, until, 1 when it is signed, else 0, without it: null or [validUntil, limits, holds, accounts]],
 *      record:   null or the id of its first record of the ledger]
 */
export type Terms = Omit<Reservation, 'key'>;

type TermsJson = readonly [
  number,
  readonly (readonly [
    string,
    Mode,
    string,
    string | null,
    string | null,
    string,
    number,
    (string | null)?,
    1?,
  ])[],
  readonly (readonly [Mode, string, string, number])[],
  readonly (readonly [string, Unit, number, number, string?])[],
  readonly (readonly [string, Unit, number])[],
  readonly (readonly [string, string | null, number])[],
  readonly [string, number, 0 | 1, SignedJson | null] | null,
  string | null,
];
type SignedJson = readonly [number, TermsJson[3], TermsJson[4], TermsJson[5]];

export function formatTerms(terms: Terms): string {
  const { promises, folded, commit, recordId } = terms;
  const [validUntil, ...amounts] = formatAmounts(terms);
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
      ...formatRest(one),
    ]),
    folded.map((one) => [one.mode, one.contract, one.prefundWei.toString(), one.validUntil]),
    ...amounts,
    commit === undefined ? null : formatCommit(commit),
    recordId ?? null,
  ];
  return JSON.stringify(json);
}

function formatRest({ hashes, isRepeated }: SignedPromise): readonly [(string | null)?, 1?] {
  if (isRepeated) return [hashes ?? null, 1];
  return hashes === undefined ? [] : [hashes];
}

function formatCommit({ commitment, until, isSigned, signed }: Commit): NonNullable<TermsJson[6]> {
  return [commitment, until, isSigned ? 1 : 0, signed === undefined ? null : formatAmounts(signed)];
}

function formatAmounts({
  validUntil,
  limits,
  holds,
  accounts,
}: Pick<Reservation, 'validUntil' | 'limits' | 'holds' | 'accounts'>): SignedJson {
  return [
    validUntil,
    limits.map(({ counter, unit, until, cost, rate }) =>
      rate === undefined ? [counter, unit, until, cost] : [counter, unit, until, cost, rate.toString()],
    ),
    holds.map((one) => [one.counter, one.unit, one.cost]),
    accounts.map((one) => [one.contract, one.fundingAddress ?? null, one.need]),
  ];
}

/** Expects text that {@link formatTerms} has written; throws on text that is not JSON of that shape. */
export function parseTerms(text: string): Terms {
  const [validUntil, promises, folded, limits, holds, accounts, commit, recordId] = JSON.parse(
    text,
  ) as TermsJson;
  return {
    ...parseAmounts([validUntil, limits, holds, accounts]),
    ...(commit === null ? {} : { commit: parseCommit(commit) }),
    ...(recordId === null ? {} : { recordId }),
    promises: promises.map(
      ([digest, mode, contract, funding, token, prefund, until, hashes, repeated]): SignedPromise => ({
        digest: digest as Hex,
        mode,
        contract: contract as AddressKey,
        ...(funding === null ? {} : { fundingAddress: funding as AddressKey }),
        ...(token === null ? {} : { token: token as AddressKey }),
        prefundWei: BigInt(prefund),
        validUntil: until as EpochSeconds,
        ...(hashes === undefined || hashes === null ? {} : { hashes: hashes as Hex }),
        ...(repeated === 1 ? { isRepeated: true } : {}),
      }),
    ),
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
    limits: limits.map(([counter, unit, until, cost, rate]) => ({
      counter,
      unit,
      until: until as EpochMs,
      cost,
      ...(rate === undefined ? {} : { rate: BigInt(rate) }),
    })),
    holds: holds.map(([counter, unit, cost]) => ({ counter, unit, cost })),
    accounts: accounts.map(([contract, funding, need]) => ({
      contract: contract as AddressKey,
      ...(funding === null ? {} : { fundingAddress: funding as AddressKey }),
      need: gwei(need),
    })),
  };
}
