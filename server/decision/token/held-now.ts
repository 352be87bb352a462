import { isDomainError } from '../../../core/errors.js';
import { decideHoldings } from '../../../core/paymaster/token-payment.js';
import type { TokenPaymentChecker } from '../../../core/paymaster/token-payment-checker.js';
import { pass, type Verdict } from '../../../core/refusal.js';
import { decodeRequestCalls } from '../calls.js';
import type { TokenCase } from './token-case.js';
import { allowanceRequired, readHoldings, type TokenDraft } from './token-draft.js';
import { computeMaxCharge } from './token-terms.js';

/**
 * Whether the account already holds, and allows, the least that the payment can take. Asked before a bundler simulates the
 * operation, whose own text says `AA33` and a selector. Only for contracts that look in validation: to another the account may
 * bring the tokens by its call. The allowance is not looked at where the operation may give it itself. A chain that does not
 * answer refuses nothing here: nothing is promised yet.
 */
export async function decideHeldNow(
  payments: Pick<TokenPaymentChecker, 'holdings'>,
  gathered: TokenCase,
  { op, terms }: Pick<TokenDraft, 'op' | 'terms'>,
): Promise<Verdict> {
  const { mode, token } = gathered;
  const { isSecured, requiresAllowance, codec } = mode;
  if (!isSecured || token === undefined) return pass;
  if (!requiresAllowance && codec.validatesBalance !== true) return pass;
  const most = computeMaxCharge(gathered, op, terms);
  if (most === 0n) return pass;
  const held = await readHoldings(payments, gathered, token, gathered.request.op.sender).catch(
    (error: unknown) => {
      if (isDomainError(error, 'UNAVAILABLE')) return undefined;
      throw error;
    },
  );
  if (held === undefined) return pass;
  const { balance, allowance } = held;
  const figures = { most, terms, token, when: 'before its call' };
  const holds = decideHoldings({ balance }, figures);
  if (!holds.pass) return holds;
  if (requiresAllowance)
    return allowance < most ? allowanceRequired(gathered, terms, { most, takeable: allowance }) : pass;
  return mayAllow(gathered, terms.token) ? pass : decideHoldings({ balance, allowance }, figures);
}

/** By a call of the token, by calls that are not known, or while the account is created. */
function mayAllow(gathered: TokenCase, token: string): boolean {
  const decoded = decodeRequestCalls(gathered);
  if (decoded.outcome === 'refused' || gathered.request.op.initCode !== '0x') return true;
  return decoded.calls.some(({ target }) => target === token.toLowerCase());
}
