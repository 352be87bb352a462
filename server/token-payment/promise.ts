import { digestOf } from '../../core/paymaster/digest.js';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import type { AddressKey } from '../../core/units/address.js';
import { plusSeconds, toSeconds, type EpochMs } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { nothingSigned, type Promised } from '../decision/reservation.js';
import type { TokenCase } from './case.js';

/** What the platform puts at stake for a payment: the balance that is charged, for which token, and what may be lost. */
export type Stake = {
  /** What the platform loses if the account pays nothing after its call, in wei. */
  readonly unsecured: bigint;
  /** Balance inside the contract that is charged, where there is one. */
  readonly payer: AddressKey | undefined;
  readonly token?: AddressKey;
};

/** What will be signed if it is reserved: terms, and the contract's hash of operation and terms. */
export type DraftPayment = { readonly promised: Promised; readonly hash: Uint8Array };

/** Hashed before it is reserved: the reserving step records what is signed, and exactly that is signed. */
export function draftPayment(
  facts: TokenCase,
  op: FinalUserOperation,
  terms: TokenTerms,
  { stake, now }: { readonly stake: Stake; readonly now: EpochMs },
): DraftPayment {
  const hash = facts.mode.codec.hash(op, terms);
  return { promised: promiseOf(facts, op, stake, digestOf(hash), now), hash };
}

/** For a look at usage before the operation is final: takes the same, and nothing is signed. */
export function plannedPayment(
  facts: TokenCase,
  op: FinalUserOperation,
  stake: Stake,
  now: EpochMs,
): Promised {
  return promiseOf(facts, op, stake, nothingSigned, now);
}

function promiseOf(
  { paymaster, chain, profile, mode, expirySeconds }: TokenCase,
  op: FinalUserOperation,
  { payer, token, unsecured }: Stake,
  digest: Promised['promise']['digest'],
  now: EpochMs,
): Promised {
  const need = mode.codec.need(op, mode.options);
  return {
    paymaster,
    chain,
    profile,
    op,
    need,
    unsecured,
    promise: {
      digest,
      mode: 'ERC20',
      contract: mode.contractKey,
      ...(payer === undefined ? {} : { fundingAddress: payer }),
      ...(token === undefined ? {} : { token }),
      prefundWei: need.entryPoint,
      validUntil: plusSeconds(toSeconds(now), expirySeconds),
    },
  };
}
