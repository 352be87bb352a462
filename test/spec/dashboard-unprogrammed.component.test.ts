import { expect, test } from '@jest/globals';
import { acmeToken, chainId } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// A write that no operator programs answers all the same.

const host = useDashboard({ programmedTimeoutMs: 30, operator: false });

test('X-Programmed is false when no operator runs, and the write has succeeded', async () => {
  const body = { name: 'Alone', type: 'HYBRID', chainId, version: '1.1.0' };
  const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
  expect({ status: answer.status, programmed: answer.headers.get('x-programmed') }).toEqual({
    status: 200,
    programmed: 'false',
  });
});
