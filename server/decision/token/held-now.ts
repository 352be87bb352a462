import { isDomainError } from '../../../core/errors.js';
import { decideHoldings } from '../../../core/paymaster/token-payment.js';
import type { TokenPaymentChecker } from '../../../core/paymaster/token-payment-checker.js';
import { pass, type Verdict } from '../../../core/refusal.js';
import { callsOf } from '../calls.js';
import type { TokenCase } from './token-case.js';
import { allowanceRequired, holdingsOf, type TokenDraft } from './token-draft.js';
import { maxChargeOf } from './token-terms.js';

/**
 * Whether the account already holds, and allows, the least that the payment can take. Asked before a bundler simulates the
 * operation, whose own text says `AA33` and a selector. Only for contracts that look in validation: to another the account may
 * bring the tokens by its call. The allowance is not looked at where the operation may give it itself. A chain that does not
 * answer refuses nothing here: nothing is promised yet.
 */
export async function decideHeldNow(
  payments: Pick<TokenPaymentChecker, 'holdings'>,
  on: TokenCase,
  { op, terms }: Pick<TokenDraft, 'op' | 'terms'>,
): Promise<Verdict> {
  const { mode, token } = on;
  const { isSecured, requiresAllowance, codec } = mode;
  if (!isSecured || token === undefined) return pass;
  if (!requiresAllowance && codec.validatesBalance !== true) return pass;
  const most = maxChargeOf(on, op, terms);
  if (most === 0n) return pass;
  const held = await holdingsOf(payments, on, token, on.request.op.sender).catch((error: unknown) => {
    if (isDomainError(error, 'UNAVAILABLE')) return undefined;
    throw error;
  });
  if (held === undefined) return pass;
  const { balance, allowance } = held;
  const figures = { most, terms, token, when: 'before its call' };
  const holds = decideHoldings({ balance }, figures);
  if (!holds.pass) return holds;
  if (requiresAllowance)
    return allowance < most ? allowanceRequired(on, terms, { most, takeable: allowance }) : pass;
  return mayAllow(on, terms.token) ? pass : decideHoldings({ balance, allowance }, figures);
}

/** By a call of the token, by calls that are not known, or while the account is created. */
function mayAllow(on: TokenCase, token: string): boolean {
  const decoded = callsOf(on);
  if (decoded.outcome === 'refused' || on.request.op.initCode !== '0x') return true;
  return decoded.calls.some(({ target }) => target === token.toLowerCase());
}
