import { defaultRetention, usualLedgerBytes, type Retention } from '../core/ledger/ledger.js';
import type { Settings } from '../core/settings.js';
import { usualRefusalsPerSecond } from './ledger/refusal-records.js';

/** What a process records, and how long it is kept. The ledger is in the database of the usage store. */
export type LedgerSettings = Readonly<ReturnType<typeof readLedgerSettings>>;

const prefix = 'PAYMASTER_LEDGER';

export function readLedgerSettings(settings: Settings) {
  return {
    isOn: settings.oneOf(prefix, ['on', 'off'], 'on') === 'on',
    /** Whether also what each decision was based on, for replays. */
    inputs: settings.oneOf(`${prefix}_INPUTS`, ['on', 'off'], 'on') === 'on',
    /** Refusals that are recorded of a paymaster and reason; the others are counted. */
    refusalsPerSecond: settings.integer(
      `${prefix}_REFUSALS_PER_SECOND`,
      { min: 1, max: 1_000 },
      usualRefusalsPerSecond,
    ),
    retention: readRetention(settings),
    maxBytes: settings.integer(`${prefix}_MAX_BYTES`, { min: 10_000_000, max: 1e15 - 1 }, usualLedgerBytes),
  };
}

function readRetention(settings: Settings): Retention {
  const days = (name: string, usual: number): number =>
    settings.integer(`${prefix}_${name}_DAYS`, { min: 1, max: 3_660 }, usual);
  return {
    decisions: days('RETENTION', defaultRetention.decisions),
    inputs: days('INPUTS_RETENTION', defaultRetention.inputs),
    funds: days('FUNDS_RETENTION', defaultRetention.funds),
  };
}
