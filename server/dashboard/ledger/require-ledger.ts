import { DomainError } from '../../../core/errors.js';
import type { Principal } from '../auth.js';
import type { Tools } from '../deps.js';
import type { Questions } from './fair-ledger.js';

/** Throws LEDGER_OFF. */
export function requireLedger(
  { ledger }: Pick<Tools, 'ledger'>,
  { tenant }: Pick<Principal, 'tenant'>,
): Questions {
  if (ledger === undefined) throw ledgerOff();
  return ledger(tenant);
}

/** Says what to set. */
export function ledgerOff(): DomainError {
  return new DomainError(
    'LEDGER_OFF',
    'No ledger is kept here: run the server without PAYMASTER_LEDGER=off (in the chart: ledger.enabled)',
  );
}
