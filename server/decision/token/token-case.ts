import type { Price } from '../../../core/pricing/price-source.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { PaymentGround } from '../../../core/paymaster/token-payment-checker.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import type { FactDeps } from '../facts.js';
import type { ExplainedPayment, SponsorRequest, TokenMaximum } from '../request.js';
import type { Case } from '../step.js';
import type { EarlyPayments } from './early-payment.js';
import type { TokenDraft } from './token-draft.js';
import { requireTokenGas } from '../paymaster-gas.js';
import { gatherTokenFacts, type TokenFacts } from './token-terms.js';

/** A request to sign names the token; a request to explain may leave it out. */
export type TokenRequest = SponsorRequest & Pick<ExplainedPayment, 'feeToken'> & TokenMaximum;

/** Everything that the steps of mode ERC20 need. */
export type TokenCase = Case &
  TokenFacts & {
    readonly maxTokenAmount: bigint | undefined;
    readonly feeToken: AddressKey | undefined;
    token: FeeTokenSpec | undefined;
    price: Price | undefined;
    /** The balance inside the contract that is charged, if there is one. */
    payer: AddressKey | undefined;
    /** The draft with the least amount that the payment can take. */
    minDraft: TokenDraft | undefined;
    draft: TokenDraft | undefined;
    /** What the account holds and allows; read while limits are estimated. */
    ground: Promise<PaymentGround> | undefined;
    /** Payments that are simulated while limits are confirmed, one for each candidate. */
    early: EarlyPayments | undefined;
    /** The most that the contract can take, in token base units. */
    charge: bigint | undefined;
  };

/** Throws as `gatherFacts`. */
export function gatherTokenCase(
  deps: FactDeps,
  paymaster: ServedPaymaster,
  request: TokenRequest,
): TokenCase {
  const facts = gatherTokenFacts(deps, paymaster, request);
  requireTokenGas(facts.mode, request);
  return {
    ...facts,
    feeToken: request.feeToken,
    maxTokenAmount: request.maxTokenAmount,
    op: undefined,
    usage: undefined,
    estimate: undefined,
    token: undefined,
    price: undefined,
    payer: undefined,
    minDraft: undefined,
    draft: undefined,
    ground: undefined,
    early: undefined,
    charge: undefined,
  };
}
