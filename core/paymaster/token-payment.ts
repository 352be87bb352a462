import { pass, refuse, type Verdict } from '../refusal.js';
import { preVerificationGas } from '../userop/pre-verification-gas.js';
import type { FinalUserOperation, GasLimits, UserOperation } from '../entry-point/user-operation.js';
import { formatDecimal, divideUp } from '../units/wei.js';
import type { AddressKey } from '../units/address.js';
import type { Hex } from '../units/hex.js';
import type { DepositNeed, TokenCodec, TokenOptions, TokenTerms } from './layout.js';
import { markupUnit, tokensFor } from './token-price.js';

/**
 * What an additional `approve` in front of the other calls may add to an operation. Clients insert it after the
 * quote, because they take its amount from the quote. So the quote has to cover it.
 *
 * - callGasLimit: 22,100 for the first write of the allowance, 4,700 for touching token and account, 3,000 for the event, as
 *   much again for a token behind a proxy that checks lists, the batch's own loop, and an estimate's margin of a tenth.
 * - verificationGasLimit: hashing and copying some 500 bytes more; on 0.6 it counts three times.
 * - preVerificationGas: those 500 bytes as calldata, 80 of them not zero. Where a roll-up charges for them, its data fee
 *   for {@link approvalBytes} comes on top.
 */
export const approvalAllowance: GasLimits = {
  callGasLimit: 60_000n,
  verificationGasLimit: 5_000n,
  preVerificationGas: 5_000n,
};

/** What those 500 bytes count after compression: addresses, amount, selectors, and the words that place them. */
export const approvalBytes = 160;

/**
 * The quoted operation as it may come back, with an `approve` in front. `maxGasFee` is computed for this one. `dataGas`:
 * what the roll-up charges for posting the `approve`, as gas.
 */
export function withApproval(op: FinalUserOperation, dataGas = 0n): FinalUserOperation {
  return {
    ...op,
    callGasLimit: op.callGasLimit + approvalAllowance.callGasLimit,
    verificationGasLimit: op.verificationGasLimit + approvalAllowance.verificationGasLimit,
    preVerificationGas: op.preVerificationGas + approvalAllowance.preVerificationGas + dataGas,
  };
}

/**
 * Limits in mode ERC20, computed from limits that were estimated without a paymaster; so an account that cannot pay
 * yet still gets a quote. Adds the cost of the paymaster's validation and of its `paymasterAndData` (of the final
 * length). Without the data fee of roll-ups.
 */
export function limitsWithPayment(
  estimated: GasLimits,
  op: UserOperation,
  codec: Pick<TokenCodec, 'minVerificationGasLimit' | 'validationGas'>,
  paymasterAndData: Hex,
  options: TokenOptions = {},
): GasLimits {
  const verification = estimated.verificationGasLimit + codec.validationGas(options);
  const least = codec.minVerificationGasLimit;
  const own = preVerificationGas(op, paymasterAndData);
  // A bundler's figure knows a data fee that ours does not. The paymaster's data raise both in the same proportion.
  const proportional = divideUp(estimated.preVerificationGas * own, preVerificationGas(op, '0x'));
  return {
    callGasLimit: estimated.callGasLimit,
    verificationGasLimit: verification > least ? verification : least,
    preVerificationGas: proportional > own ? proportional : own,
  };
}

/**
 * The most that the platform can lose by a payment, in wei: what a payment in advance leaves open, else all that the operation may
 * take, its `need`. `payer`: the balance inside the contract that is charged, if there is one; a contract whose postOp fails keeps
 * all of it.
 */
export function maxLost(
  { residual }: Pick<TokenCodec, 'residual'>,
  op: FinalUserOperation,
  terms: TokenTerms,
  { need, payer }: { readonly need: DepositNeed; readonly payer: AddressKey | undefined },
): bigint {
  if (terms.inAdvance === true) return residual(op, terms);
  const { entryPoint, funding = 0n } = need;
  return payer !== undefined && funding > entryPoint ? funding : entryPoint;
}

/** The operation and terms that are simulated instead of the ones that will be signed. */
type Trial = { readonly op: FinalUserOperation; readonly terms: TokenTerms };

/**
 * What is signed for a simulation. Its validity window closed in 1970, so that no EntryPoint accepts the signature if
 * it ever gets out; simulations ignore the window. The tip is raised to maxFeePerGas, so the operation pays the
 * highest possible gas price, also on nodes whose `eth_call` has no base fee.
 */
export function toTrial(op: FinalUserOperation, terms: TokenTerms): Trial {
  return {
    op: { ...op, maxPriorityFeePerGas: op.maxFeePerGas },
    terms: { ...terms, validUntil: 1, validAfter: 0 },
  };
}

/** What an account holds of a token, and what it allows a contract to take, in base units. */
export type Holdings = { readonly balance: bigint; readonly allowance: bigint };

/**
 * The results of simulating an operation in mode ERC20. The holdings are those before the payment: after the call, or now if tokens are
 * taken in advance.
 */
export type ObservedPayment = Holdings & { readonly payment: SimulatedPayment };

/** The EntryPoint's reason, or the gains of the receivers and the cost of the operation. */
export type SimulatedPayment =
  | {
      readonly outcome: 'refused';
      readonly reason: string;
      /** What the caller can do about it, if that is known. */
      readonly remedy?: string;
    }
  | { readonly outcome: 'executed'; readonly received: bigint; readonly costWei: bigint };

type CheckedPayment = {
  readonly codec: Pick<TokenCodec, 'maxTokenCharge' | 'unpricedGas'>;
  readonly op: FinalUserOperation;
  readonly terms: TokenTerms;
  /** For amounts in messages. Absent: they are in base units. */
  readonly token?: ShownToken;
};

export type ShownToken = { readonly symbol: string; readonly decimals: number };

/**
 * Whether the operation pays for itself, however much gas it uses. After its call (before it, if tokens are taken in
 * advance) the account must hold and allow the most that the contract can take, and the simulated payment must arrive
 * and be worth its cost. The check forgives one base unit to contracts that round down.
 */
export function decidePayment(
  observed: ObservedPayment,
  { codec, op, terms, token }: CheckedPayment,
): Verdict {
  const { payment } = observed;
  const most = codec.maxTokenCharge(op, terms);
  const when = terms.inAdvance === true ? 'before its call' : 'after its call';
  const held = decideHoldings(observed, { most, terms, when, ...(token === undefined ? {} : { token }) });
  if (!held.pass) return held;
  if (payment.outcome === 'refused') {
    const { reason, remedy } = payment;
    const refusal = refuse('TOKEN_PAYMENT_FAILS', reason);
    return remedy === undefined ? refusal : { ...refusal, remedy };
  }
  const { received, costWei } = payment;
  const unpriced = codec.unpricedGas * op.maxFeePerGas;
  const least = tokensFor(costWei > unpriced ? costWei - unpriced : 0n, terms.exchangeRate, markupUnit);
  if (received > 0n && received + 1n >= least) return pass;
  return refuse(
    'TOKEN_PAYMENT_FAILS',
    `a simulated cost of ${costWei} wei brought ${received} base units of ${terms.token}`,
  );
}

type CheckedHoldings = Pick<CheckedPayment, 'token'> & {
  readonly terms: Pick<TokenTerms, 'token' | 'paymaster'>;
  /** In base units. */
  readonly most: bigint;
  /** In relation to the account's call, as text. */
  readonly when: string;
};

/** Whether the account holds and allows so much; an absent allowance is not looked at. */
export function decideHoldings(
  { balance, allowance }: Pick<Holdings, 'balance'> & { readonly allowance?: bigint },
  { most, terms, when, token }: CheckedHoldings,
): Verdict {
  const shown = (units: bigint): string =>
    token === undefined ? `${units} base units` : `${formatDecimal(units, token.decimals)} ${token.symbol}`;
  const lacking = (units: bigint): string =>
    `it may be charged ${shown(most)}: ${shown(most - units)} missing`;
  if (balance < most)
    return refuse(
      'TOKEN_BALANCE',
      `${when} the account holds ${shown(balance)} of token ${terms.token}, ${lacking(balance)}`,
    );
  if (allowance !== undefined && allowance < most)
    return refuse(
      'TOKEN_ALLOWANCE',
      `${when} the account allows ${terms.paymaster} ${shown(allowance)} of token ${terms.token}, ${lacking(allowance)}`,
    );
  return pass;
}
