import { describe, expect, test } from '@jest/globals';
import { silentLogger } from '../../../core/log.js';
import { createMemoryReports, createReports, tokenLossReports } from '../../../core/reports/reports.js';
import { servingReports } from '../../../core/reports/serving-reports.js';
import type { EpochMs } from '../../../core/units/time.js';
import { reportsConformance } from '../../conformance/reports.js';
import { startMs } from '../../conformance/usage-requests.js';

reportsConformance('memory', async (clock) => {
  let texts: Readonly<Record<string, string>> = {};
  const reports = createReports(
    { read: async () => texts, update: async (change) => void (texts = change(texts)) },
    { clock, log: silentLogger },
  );
  return { reports, reopen: () => reports, spoil: async (more) => void (texts = { ...texts, ...more }) };
});

test('an operator in the same process hears of a report when it is stored', async () => {
  const reports = createMemoryReports({ clock: { now: () => startMs }, log: silentLogger });
  const entries = new Map([['a', { trouble: 'LimitFull', until: (startMs + 1) as EpochMs }]] as const);
  const heard = new Promise((resolve) => {
    reports.onChange(() => resolve(reports.all('serving')));
  });
  await reports.merge('serving', entries);
  expect(await heard).toEqual(entries);
});

test('a report of policies that do not serve survives as text, and other text is not a report', () => {
  const report = { trouble: 'WebhookFailing', until: 1_760_000_000_000 as EpochMs } as const;
  expect(servingReports.parse(servingReports.format(report))).toEqual(report);
  for (const text of ['', 'LimitFull', 'LimitFull x', 'Other 1', '{"trouble":"LimitFull"}', 'LimitFull 1e99'])
    expect(servingReports.parse(text)).toBeUndefined();
});

describe('the text of a report of losses', () => {
  const report = {
    stopped: [
      { version: 'b', until: startMs },
      { version: 'a', until: startMs },
    ],
  };

  test('is read back, and is the same whatever the order of versions', () => {
    const text = tokenLossReports.format(report);
    expect(text).toBe(tokenLossReports.format({ stopped: report.stopped.toReversed() }));
    expect(tokenLossReports.parse(text)).toEqual({ stopped: report.stopped.toReversed() });
  });

  test.each([
    '',
    'null',
    '[]',
    '{}',
    '{"stopped":1}',
    '{"stopped":[null]}',
    '{"stopped":[{"version":1,"until":1}]}',
    '{"stopped":[{"version":"a","until":"soon"}]}',
    '{"stopped":[{"version":"a","until":0.5}]}',
  ])('that is not a report is not taken for one: %s', (text) => {
    expect(tokenLossReports.parse(text)).toBeUndefined();
  });
});
