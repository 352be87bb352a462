import type { Entry } from '../../../core/usage/reservations.js';
import type {
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
 *      accounts: [[contract, funding | null, need], …]]
 */
export type Terms = Omit<Reservation, 'key'>;

type TermsJson = readonly [
  number,
  readonly (readonly [string, Mode, string, string | null, string | null, string, number])[],
  readonly (readonly [Mode, string, string, number])[],
  readonly (readonly [string, Unit, number, number])[],
  readonly (readonly [string, Unit, number])[],
  readonly (readonly [string, string | null, number])[],
];

export function formatTerms({ validUntil, promises, folded, limits, holds, accounts }: Entry): string {
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
    limits.map(({ of, amount }) => [of.counter, of.unit, of.until, amount]),
    holds.map(({ of, amount }) => [of.counter, of.unit, amount]),
    accounts.map(({ of, amount }) => [of.contract, of.fundingAddress ?? null, amount]),
  ];
  return JSON.stringify(json);
}

/** Expects text that {@link formatTerms} has written; throws on text that is not JSON of that shape. */
export function parseTerms(text: string): Terms {
  const [validUntil, promises, folded, limits, holds, accounts] = JSON.parse(text) as TermsJson;
  return {
    validUntil: validUntil as EpochSeconds,
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
    limits: limits.map(([counter, unit, until, cost]) => ({ counter, unit, until: until as EpochMs, cost })),
    holds: holds.map(([counter, unit, cost]) => ({ counter, unit, cost })),
    accounts: accounts.map(([contract, funding, need]) => ({
      contract: contract as AddressKey,
      ...(funding === null ? {} : { fundingAddress: funding as AddressKey }),
      need: gwei(need),
    })),
  };
}
