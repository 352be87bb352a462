import { expect, test } from '@jest/globals';
import {
  createMemoryServingReports,
  formatServingReport,
  parseServingReport,
} from '../../../core/policy/serving-reports.js';
import type { EpochMs } from '../../../core/units/time.js';
import { servingReportsConformance } from '../../conformance/serving-reports.js';

servingReportsConformance('memory', async (clock) => {
  const reports = createMemoryServingReports(clock);
  return { reports, reopen: () => reports };
});

test('a report survives as text, and other text is not a report', () => {
  const report = { trouble: 'WebhookFailing', until: 1_760_000_000_000 as EpochMs } as const;
  expect(parseServingReport(formatServingReport(report))).toEqual(report);
  for (const text of ['', 'LimitFull', 'LimitFull x', 'Other 1', '{"trouble":"LimitFull"}', 'LimitFull 1e99'])
    expect(parseServingReport(text)).toBeUndefined();
});
