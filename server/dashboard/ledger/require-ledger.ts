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
    'No ledger is kept here: set PAYMASTER_LEDGER_URL to a PostgreSQL database (in the chart ledger.enabled=true), or run the standalone server without PAYMASTER_LEDGER=off',
  );
}
