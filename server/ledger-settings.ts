import type { Retention } from '../core/ledger/ledger.js';
import { defaultRetention } from '../core/ledger/ledger.js';
import type { Settings } from '../core/settings.js';

/** Records that wait for the ledger, as every process that makes or moves them sees it. */
export type LedgerRoom = {
  /** Bytes of all chains together. Absent: the usage store's default. */
  readonly budgetBytes?: number;
  /** What happens without room: nothing is signed, or signing goes on and is counted. */
  readonly onFull: 'Stop' | 'Sign';
};

/** Where the ledger is. */
export type LedgerStoreSettings = {
  readonly kind: 'sqlite';
  readonly directory: string;
  readonly retention: Retention;
};

const prefix = 'PAYMASTER_LEDGER';
const mebibyte = 1_048_576;

/** Undefined: this process makes no records. They need a process of the role ledger, which moves them. */
export function readRecording(settings: Settings): LedgerRoom | undefined {
  const isOn = settings.oneOf(prefix, ['on', 'off'], 'off') === 'on';
  const room = readRoom(settings);
  return isOn ? room : undefined;
}

export function readRoom(settings: Settings): LedgerRoom {
  const budget = settings.optional(`${prefix}_BUDGET_MIB`);
  return {
    ...(budget === undefined
      ? {}
      : {
          budgetBytes: settings.integer(`${prefix}_BUDGET_MIB`, { min: 1, max: 1_048_576 }, 0) * mebibyte,
        }),
    onFull: settings.oneOf(`${prefix}_ON_FULL`, ['Stop', 'Sign'], 'Stop'),
  };
}

/** `file:/DIRECTORY`. */
export function readLedgerStore(settings: Settings): LedgerStoreSettings {
  const url = settings.text(`${prefix}_URL`, 'file:/DIRECTORY, on a volume of this process alone');
  const directory = url.slice('file:'.length).replace(/^\/\/\//, '/');
  // Not quoted: an address of another kind may hold a password.
  if (url !== '' && !(url.startsWith('file:') && directory.startsWith('/')))
    settings.mistake(`${prefix}_URL`, 'file: and an absolute path');
  return { kind: 'sqlite', directory, retention: readRetention(settings) };
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
