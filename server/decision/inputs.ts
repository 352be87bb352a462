import type { Head } from '../../core/chain/heads.js';
import type { DataFeeReading } from '../../core/chain/data-fee/data-fees.js';
import type { UserOperation } from '../../core/entry-point/user-operation.js';
import type { HostOutcome } from '../../core/policy/policy-hosts.js';
import type { SigningPhase } from '../../core/policy/rules/account-signature.js';
import type { Price } from '../../core/pricing/price-source.js';
import type { Refusal, Verdict } from '../../core/refusal.js';
import type { AddressKey } from '../../core/units/address.js';
import type { EpochMs, EpochSeconds } from '../../core/units/time.js';
import type { Hex } from '../../core/units/hex.js';
import type { Mode } from '../../core/usage/reservation.js';
import type { ReserveResult } from '../../core/usage/reserve-request.js';
import type { Estimate } from '../../core/userop/estimator.js';
import type { Ending } from '../ledger/inputs-records.js';
import type { SponsorRequest } from './request.js';

/**
 * What the `body` of recorded inputs says: see `DecisionInputs` of core/ledger, whose `sequence` orders all of a chain. For the
 * same counters, configuration and inputs the steps of a decision give the same verdict, so a replay decides again with them.
 * No part of it is a secret: data for webhooks, headers, keys and signatures of the paymaster are not in it.
 */
export type Inputs = DecidedInputs | LeftOutInputs | EndingInputs;

/** One verdict, and everything that it depended on apart from the configuration and the counters. */
export type DecidedInputs = {
  readonly kind: 'decided';
  readonly mode: Mode;
  readonly verdict: RecordedVerdict;
  readonly request: RecordedRequest;
  /** Of the configs that decided. */
  readonly generations: { readonly paymaster: number; readonly chain: number };
  readonly entryPoint: AddressKey;
  /** When the facts were gathered, by the clock of the process. */
  readonly now: EpochMs;
  readonly head: Head;
  readonly dataReading?: DataFeeReading | undefined;
  /** Absent: the coin had no price in dollars. */
  readonly usdPerNative?: bigint | undefined;
  /** Limits by simulation; absent: nothing was simulated. */
  readonly estimate?: Estimate | undefined;
  /** By policy. */
  readonly webhooks?: readonly RecordedOutcome[] | undefined;
  /** Mode ERC20. */
  readonly payment?: RecordedPayment | undefined;
  /** The account's validation, and what else was simulated at a finalize. */
  readonly validation?: RecordedVerdict | undefined;
  /** Absent: it was refused before the usage store was asked. */
  readonly usage?: UsageAnswer | undefined;
};

/** A verdict whose inputs are too long to be kept. It cannot be decided again, but its reservation can be counted. */
type LeftOutInputs = {
  readonly kind: 'left-out';
  readonly reason: 'size';
  /** Characters of the text that was not kept. */
  readonly characters: number;
  readonly mode: Mode;
  readonly verdict: RecordedVerdict;
  readonly entryPoint: AddressKey;
  readonly sender: AddressKey;
  readonly nonce: bigint;
  readonly usage?: UsageAnswer | undefined;
};

/** How a reservation of the paymaster ended, at its place among the decisions. */
export type EndingInputs = Ending & { readonly kind: 'ending' };

/** The request without the caller's ids and `webhookData`; `callDataBytes` of the operation are left out. */
export type RecordedRequest = Pick<
  SponsorRequest,
  'calculateGasLimits' | 'expirySeconds' | 'method' | 'campaign'
> & {
  readonly op: UserOperation;
  readonly phase?: SigningPhase | undefined;
  /** Of a finalize: what the commit answered. */
  readonly committed?: Hex | undefined;
  /** Mode ERC20. */
  readonly feeToken?: AddressKey | undefined;
  /** True when the caller asked for a stub: then the steps before the first costly one have decided. */
  readonly isStub?: true | undefined;
};

/** What identifies a refusal; its text is in the decision's record. */
export type RecordedVerdict = { readonly pass: true } | Pick<Refusal, 'pass' | 'reason' | 'policyId'>;

export type RecordedOutcome = {
  readonly policyId: string;
  readonly verdict: HostOutcome['verdict'];
};

type RecordedPayment = {
  /** Absent: refused before it was known. */
  readonly price?: Pick<Price, 'rate'>;
  /** The balance inside the contract that is charged. */
  readonly payer?: AddressKey;
  /** What the contract could take from the account in advance, in base units. */
  readonly takeable?: bigint;
  /** Whether the simulated operation paid. */
  readonly simulated?: RecordedVerdict;
};

/** What the usage store answered last. */
export type UsageAnswer = {
  readonly outcome: ReserveResult['outcome'];
  /** The store's time by which the windows were chosen. */
  readonly plannedAt: EpochMs;
  /** The most that the operation can cost. */
  readonly prefundWei: bigint;
  readonly validUntil: EpochSeconds;
};

export function recordedVerdict(verdict: Verdict): RecordedVerdict {
  if (verdict.pass) return verdict;
  const { reason, policyId } = verdict;
  return { pass: false, reason, ...(policyId === undefined ? {} : { policyId }) };
}
