import { DomainError } from '../errors.js';

/** Records wait for the ledger, and there is no room for another one. Nothing was added. */
export function ledgerFull(): DomainError {
  return new DomainError(
    'UNAVAILABLE',
    'the records that wait for the ledger have used up their room: nothing is signed until they are stored',
    { reason: 'LEDGER_FULL', retryAfterSeconds: 10 },
  );
}
