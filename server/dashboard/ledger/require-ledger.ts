import { DomainError } from '../../../core/errors.js';
import type { Principal } from '../auth.js';
import type { LedgerTools } from './endpoint.js';
import type { Questions } from './fair-ledger.js';

/** Throws LEDGER_OFF, which says what to set. */
export function requireLedger(
  { ledger }: Pick<LedgerTools, 'ledger'>,
  { tenant }: Pick<Principal, 'tenant'>,
): Questions {
  if (ledger !== undefined) return ledger(tenant);
  throw new DomainError(
    'LEDGER_OFF',
    'No ledger is kept here: run the server without PAYMASTER_LEDGER=off (in the chart: ledger.enabled)',
  );
}
