import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { freshUserOp, rpc } from './support/client.js';
import { removeDataDirectory, startStandalone, type RunningStandalone } from './support/standalone.js';
import { until } from '../support/until.js';

// The smallest ledger, in a process as `make run` starts it.

const maxBytes = 10_000_000;

let running: RunningStandalone;
beforeAll(async () => {
  running = await startStandalone({ environment: { PAYMASTER_LEDGER_MAX_BYTES: String(maxBytes) } });
}, 300_000);
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  if (running !== undefined) removeDataDirectory(running.dataDirectory);
});

test('long refusals of one organisation end with its share of the ledger, and the rest of their inputs is counted', async () => {
  await until('the ledger is measured', async () => (await metric('capacity_bytes')) === maxBytes);
  const { rpcUrl, ...connection } = running.connection();
  expect(await metric('inputs_dropped_total')).toBe(0);
  // Recorded with their inputs: no reason has more than 200 at once.
  for (let asked = 0; asked < 200; asked += 20)
    await Promise.all(
      Array.from({ length: 20 }, async () => {
        const op = freshUserOp(connection);
        // No method of the contract, and more data behind the call than a caller needs.
        const callData = `${op['callData']?.replace('d09de08a', 'ffffffff')}${randomBytes(6_000).toString('hex')}`;
        const { result } = await rpc(rpcUrl, 'pm_sponsorUserOperation', [
          { ...op, callData },
          { mode: 'SPONSORED', calculateGasLimits: false },
        ]);
        expect(result).toMatchObject({ paymasterAndData: '0x' });
      }),
    );
  expect(await metric('inputs_dropped_total')).toBeGreaterThan(0);
  expect(await metric('inputs_dropped_total')).toBeLessThan(100);
});

async function metric(name: string): Promise<number | undefined> {
  const text = await (await fetch(new URL('/metrics', running.connection().dashboardUrl))).text();
  const [, value] = new RegExp(`^paymaster_ledger_${name} (\\d+)`, 'm').exec(text) ?? [];
  return value === undefined ? undefined : Number(value);
}
