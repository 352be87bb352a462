import { defaultRetention, usualLedgerBytes } from '../core/ledger/ledger.js';
import { either, integer, type Settings } from '../core/settings.js';
import { usualRefusalsPerSecond } from './ledger/refusal-records.js';

/** What a process records, and how long it is kept. The ledger is in the database of the usage store. */
export type LedgerSettings = Readonly<ReturnType<typeof readLedgerSettings>>;

const days = { min: 1, max: 3_660 };

const kept = {
  isOn: either(
    'PAYMASTER_LEDGER',
    'Whether a ledger keeps what was decided, mined and paid.',
    ['on', 'off'],
    true,
  ),
  refusalsPerSecond: integer(
    'PAYMASTER_LEDGER_REFUSALS_PER_SECOND',
    'Refusals of a paymaster and reason that are recorded; the others are counted.',
    { min: 1, max: 1_000 },
    usualRefusalsPerSecond,
  ),
  maxBytes: integer(
    'PAYMASTER_LEDGER_MAX_BYTES',
    'Bytes of its rows, beyond which the oldest are removed.',
    { min: 10_000_000, max: 1e15 - 1 },
    usualLedgerBytes,
  ),
};

const retention = {
  decisions: integer(
    'PAYMASTER_LEDGER_RETENTION_DAYS',
    'Days for which decisions, settlements and usage are kept.',
    days,
    defaultRetention.decisions,
  ),
  funds: integer(
    'PAYMASTER_LEDGER_FUNDS_RETENTION_DAYS',
    'Days for which the balances of minutes are kept.',
    days,
    defaultRetention.funds,
  ),
};

export const ledgerSettings = {
  ...kept,
  decisionDays: retention.decisions,
  fundDays: retention.funds,
};

export function readLedgerSettings(settings: Settings) {
  return { ...settings.read(kept), retention: settings.read(retention) };
}
