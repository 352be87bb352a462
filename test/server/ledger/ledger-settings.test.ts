import { expect, test } from '@jest/globals';
import { defaultRetention, usualLedgerBytes } from '../../../core/ledger/ledger.js';
import { Settings, SettingsError } from '../../../core/settings.js';
import { readLedgerSettings } from '../../../server/ledger-settings.js';

function read(values: Readonly<Record<string, string>>) {
  const settings = new Settings(values);
  const ledger = readLedgerSettings(settings);
  return settings.finish(ledger);
}

test('the ledger is on unless a setting says otherwise', () => {
  expect(read({})).toEqual({
    isOn: true,
    refusalsPerSecond: 20,
    retention: defaultRetention,
    maxBytes: usualLedgerBytes,
  });
  expect(
    read({
      PAYMASTER_LEDGER: 'off',
      PAYMASTER_LEDGER_REFUSALS_PER_SECOND: '3',
      PAYMASTER_LEDGER_RETENTION_DAYS: '30',
      PAYMASTER_LEDGER_MAX_BYTES: '20000000',
    }),
  ).toEqual({
    isOn: false,
    refusalsPerSecond: 3,
    retention: { ...defaultRetention, decisions: 30 },
    maxBytes: 20_000_000,
  });
});

test('all mistakes are reported at once, with what is expected', () => {
  const wrong = {
    PAYMASTER_LEDGER: 'yes',
    PAYMASTER_LEDGER_RETENTION_DAYS: 'forever',
    PAYMASTER_LEDGER_REFUSALS_PER_SECOND: '0',
    PAYMASTER_LEDGER_MAX_BYTES: '5',
  };
  let problems: readonly string[] = [];
  try {
    read(wrong);
  } catch (error) {
    problems = error instanceof SettingsError ? error.message.split('\n') : [];
  }
  const text = problems.join('\n');
  expect(text).toContain('PAYMASTER_LEDGER must be one of on, off, got "yes"');
  expect(text).toContain(
    'PAYMASTER_LEDGER_RETENTION_DAYS must be a whole number from 1 to 3660, got "forever"',
  );
  expect(text).toContain(
    'PAYMASTER_LEDGER_REFUSALS_PER_SECOND must be a whole number from 1 to 1000, got "0"',
  );
  expect(text).toMatch(/PAYMASTER_LEDGER_MAX_BYTES must be a whole number from 10000000/);
});
