import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freshUserOp } from './support/client.js';
import { removeDataDirectory, startStandalone, type RunningStandalone } from './support/standalone.js';
import { until } from '../support/until.js';

// The smallest ledger, in a process as `make run` starts it.

const maxBytes = 10_000_000;

let running: RunningStandalone;
beforeAll(async () => {
  running = await startStandalone({
    environment: {
      PAYMASTER_LEDGER_MAX_BYTES: String(maxBytes),
      PAYMASTER_LEDGER_REFUSALS_PER_SECOND: '1000',
    },
  });
});
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

test('refusals of one organisation end with its share of the ledger, and the rest of them is counted', async () => {
  await until('the ledger is measured', async () => (await metric('capacity_bytes')) === maxBytes);
  const { rpcUrl, ...connection } = running.connection();
  const dropped = () => metric('dropped_total{cause="space"}');
  // More than one share: another one begins with each hour.
  for (let asked = 0; (await dropped()) === 0; asked += 100) {
    expect(asked).toBeLessThan(10_000);
    const calls = Array.from({ length: 100 }, (_, id) => {
      const op = freshUserOp(connection);
      // No method of the contract.
      const callData = op['callData']?.replace('d09de08a', 'ffffffff');
      const mode = { mode: 'SPONSORED', calculateGasLimits: false };
      return { jsonrpc: '2.0', id, method: 'pm_sponsorUserOperation', params: [{ ...op, callData }, mode] };
    });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(rpcUrl, { method: 'POST', headers, body: JSON.stringify(calls) });
    for (const { result } of (await answer.json()) as { result: object }[])
      expect(result).toMatchObject({ paymasterAndData: '0x' });
  }
  expect(await metric('dropped_total{cause="rate"}')).toBe(0);
});

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(new URL('/metrics', running.connection().dashboardUrl))).text();
  const [, value] =
    text
      .split('\n')
      .map((line) => line.split(' '))
      .find(([key]) => key === `paymaster_ledger_${name}`) ?? [];
  return value === undefined ? undefined : Number(value);
}
