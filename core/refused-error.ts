import { asReason } from './error-reasons.js';
import { DomainError } from './errors.js';
import { refusals, type Refusal, type RefusalRow } from './refusal.js';

/**
 * A refusal for clients that understand only errors. `isPayer`: mode ERC20, where the wallet pays, so it gets the
 * figures, because it can act on them.
 */
export function refusedError(refusal: Refusal, { isPayer }: { readonly isPayer: boolean }): DomainError {
  const { reason, detail, webhookReason, call, remedy } = refusal;
  const { text, isForCaller, namesHost, error }: RefusalRow = refusals[reason];
  const isShown = (isPayer && namesHost !== true) || isForCaller === true;
  const message = isShown ? `${text} (${detail})` : text;
  return new DomainError(error?.code ?? 'SPONSORSHIP_REFUSED', message, {
    reason: asReason(reason),
    detail,
    ...(webhookReason === undefined ? {} : { webhookReason }),
    ...(call === undefined ? {} : { call }),
    ...(isShown && remedy !== undefined ? { remedy } : {}),
    ...(error?.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: error.retryAfterSeconds }),
  });
}
