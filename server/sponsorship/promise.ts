import { digestOf } from '../../core/paymaster/digest.js';
import type { SponsorshipTerms } from '../../core/paymaster/layout.js';
import { plusSeconds, toSeconds, type EpochMs } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { nothingSigned, type Promised } from '../decision/reservation.js';
import type { SponsorCase } from './case.js';
import { termsOf } from './terms.js';

/** What will be signed if it is reserved: terms, and the contract's hash of operation and terms. */
export type DraftSponsorship = {
  readonly promised: Promised;
  readonly terms: SponsorshipTerms;
  readonly hash: Uint8Array;
};

/** Hashed before it is reserved: the reserving step records what is signed, and exactly that is signed. */
export function draftSponsorship(facts: SponsorCase, op: FinalUserOperation, now: EpochMs): DraftSponsorship {
  const terms = termsOf(facts, toSeconds(now));
  const hash = facts.profile.layout.sponsorship.hash(op, terms);
  const promised = promiseOf(facts, op, digestOf(hash), now);
  return { promised, terms, hash };
}

/** For a look at usage before the operation is final: takes the same, and nothing is signed. */
export function plannedSponsorship(facts: SponsorCase, op: FinalUserOperation, now: EpochMs): Promised {
  return promiseOf(facts, op, nothingSigned, now);
}

function promiseOf(
  { paymaster, chain, profile, funding, expirySeconds }: SponsorCase,
  op: FinalUserOperation,
  digest: Promised['promise']['digest'],
  now: EpochMs,
): Promised {
  const need = profile.layout.sponsorship.need(op, profile.options);
  return {
    paymaster,
    chain,
    profile,
    op,
    need,
    unsecured: 0n,
    promise: {
      digest,
      mode: 'SPONSORED',
      contract: profile.contractKey,
      ...(profile.keepsBalances && funding !== undefined ? { fundingAddress: funding } : {}),
      prefundWei: need.entryPoint,
      validUntil: plusSeconds(toSeconds(now), expirySeconds),
    },
  };
}
