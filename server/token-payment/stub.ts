import { refusedError } from '../../core/refusal.js';
import type { PaymasterGas } from '../../core/entry-point/user-operation.js';
import { requirePrice, type Prices } from '../../core/pricing/price-source.js';
import { peek } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Hex } from '../../core/units/hex.js';
import { toSeconds } from '../../core/units/time.js';
import { describeRefusal } from '../decision/refusal.js';
import { planReservation } from '../decision/reservation.js';
import type { CaseDeps } from '../sponsorship/case.js';
import { noLimits, withLimits } from '../sponsorship/gas-limits.js';
import { rulesOfTokenStub } from '../sponsorship/rules.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { gatherTokenCase, tokenStubData, tokenTermsOf } from './case.js';
import { requireFeeToken } from './pay.js';
import { plannedPayment } from './promise.js';
import { type TokenPaymentRequest } from './request.js';
import type { TokenAccounts } from './token-accounts.js';

export type TokenStubDeps = CaseDeps & {
  readonly usage: Pick<UsageStore, 'now' | 'peek' | 'capacity'>;
  readonly prices: Prices;
  readonly tokenAccounts: TokenAccounts;
};

/** Data of the length and shape that the signed data will have, for a wallet's own gas estimate. */
export type TokenStub = {
  readonly profile: ServedProfile;
  readonly paymasterGas: PaymasterGas;
  readonly paymasterAndData: Hex;
};

export type TokenPaymentStub = (
  paymaster: ServedPaymaster,
  request: TokenPaymentRequest,
) => Promise<TokenStub>;

/**
 * The stub stage of ERC-7677 in mode ERC20: everything that can be refused without a simulation is refused here, before
 * the wallet asks its user. Whether the account can pay is seen when its final operation comes. Reserves and signs nothing.
 */
export function createTokenPaymentStub(deps: TokenStubDeps): TokenPaymentStub {
  const { clock, prices, tokenAccounts, usage } = deps;
  return async (paymaster, request) => {
    // Whatever limits the wallet sends are placeholders: it estimates with what it gets here.
    const placeholders = { ...request, calculateGasLimits: true };
    const facts = gatherTokenCase(deps, paymaster, placeholders, rulesOfTokenStub);
    const { profile, mode } = facts;
    const token = requireFeeToken(facts, request.feeToken);
    const [answer, payer] = await Promise.all([prices.get(token), tokenAccounts.payer(facts.chain, mode)]);
    const price = requirePrice(token, answer);
    const least = withLimits(request.op, noLimits);
    // The account may be able to pay in advance when its final operation comes: nothing unsecured is asked for yet.
    const unsecured = mode.isSecured ? 0n : mode.codec.need(least, mode.options).entryPoint;
    const planned = plannedPayment(facts, least, { payer, unsecured }, clock.now());
    const { request: asked, result } = await peek(usage, planReservation(planned, usage.capacity()));
    if (result.outcome !== 'reserved' && result.outcome !== 'stale')
      throw refusedError(describeRefusal(paymaster, asked, result), { isPayer: true });
    const plain = tokenTermsOf(facts, token, price, toSeconds(clock.now()));
    // As long as the data can become.
    const terms = mode.isSecured ? ({ ...plain, inAdvance: true } as const) : plain;
    return {
      profile,
      paymasterGas: mode.gas,
      paymasterAndData: tokenStubData(facts, request.op, terms),
    };
  };
}
