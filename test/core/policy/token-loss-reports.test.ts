import { describe, expect, test } from '@jest/globals';
import {
  createMemoryTokenLossReports,
  formatTokenLossReport,
  parseTokenLossReport,
} from '../../../core/policy/token-loss-reports.js';
import { tokenLossReportsConformance } from '../../conformance/token-loss-reports.js';
import { startMs } from '../../conformance/usage-requests.js';

tokenLossReportsConformance('in memory', async () => {
  const reports = createMemoryTokenLossReports();
  return { reports, reopen: () => reports };
});

describe('the text of a report', () => {
  const report = {
    stopped: [
      { version: 'b', until: startMs },
      { version: 'a', until: startMs },
    ],
  };

  test('is read back, and is the same whatever the order of versions', () => {
    const text = formatTokenLossReport(report);
    expect(text).toBe(formatTokenLossReport({ stopped: report.stopped.toReversed() }));
    expect(parseTokenLossReport(text)).toEqual({ stopped: report.stopped.toReversed() });
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
    expect(parseTokenLossReport(text)).toBeUndefined();
  });
});
