import { expect, test } from '@jest/globals';
import { describeEndpoint } from '../../cli/api/endpoints.js';
import { renderAnswer } from '../../cli/api/render-answer.js';
import { statementsEndpoint } from '../../server/dashboard/ledger/statements.js';

test('a statement is shown with a row for each line, which names its account', () => {
  const line = { paymaster: null, usd: null, count: 0, note: null };
  const shown = renderAnswer(describeEndpoint(statementsEndpoint), {
    month: '2026-11',
    items: [
      {
        account: '0xa',
        chainId: 1,
        lines: [
          { ...line, line: 'opening', amount: '11' },
          { ...line, line: 'mined', amount: '-0.5', paymaster: 'shop', count: 3 },
        ],
      },
    ],
  });
  expect(shown.split('\n').map((row) => row.trim().split(/\s{2,}/))).toEqual([
    ['ACCOUNT', 'CHAIN', 'LINE', 'PAYMASTER', 'AMOUNT', 'COUNT'],
    ['0xa', '1', 'opening', '-', '11', '0'],
    ['0xa', '1', 'mined', 'shop', '-0.5', '3'],
  ]);
});
