import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../core/adapters/store/sqlite/usage.js';
import { silentLogger } from '../../core/log.js';
import { systemClock } from '../../core/units/time.js';
import { aLimit, aRequest, chainId } from '../conformance/usage-requests.js';
import { aDirectory } from './sqlite-usage.js';

const child = fileURLToPath(new URL('./crash-child.js', import.meta.url));
const kills = 6;

test('whatever a process has acknowledged before kill -9 is there afterwards, and nothing twice', async () => {
  const directory = aDirectory();
  const path = join(directory.path, 'usage.db');
  /** Cost by operation: acknowledged as promised, and as settled. */
  const promised = new Map<number, number>();
  const settled = new Set<number>();
  let next = 0;
  try {
    for (let kill = 1; kill <= kills; kill++) {
      const lines = await runUntil(path, next, 2_500 * kill);
      for (const line of lines) {
        const [name = '', cost = ''] = line.slice(1).split(' ');
        if (line.startsWith('+')) promised.set(Number(name), Number(cost));
        else settled.add(Number(name));
      }
      const store = createSqliteUsageStore({
        path,
        clock: systemClock,
        log: silentLogger,
        durability: 'process',
      });
      const found = new Map(
        (await store.reservations(chainId)).map(({ key, limits }) => [Number(key.nonce), limits[0]!.cost]),
      );
      const limit = aLimit({ policyId: 'spend', unit: 'NATIVE_ASSET', threshold: 2 ** 50, durationMs: 1e12 });
      const { limits } = await store.peek(aRequest({ key: { nonce: 1n << 200n }, limits: [limit] }));
      await store.stop();

      // Acknowledged: still promised at its cost, or settled (the last step may have been killed before its answer).
      const missing = [...promised].filter(([n, cost]) => found.get(n) !== cost).map(([n]) => n);
      expect(missing.filter((n) => found.has(n))).toEqual([]);
      expect(missing.filter((n) => !settled.has(n)).length).toBeLessThanOrEqual(9 * kill);
      expect([...settled].filter((n) => found.has(n))).toEqual([]);
      // Not acknowledged: at most the last turn of each process.
      const extra = [...found.keys()].filter((n) => !promised.has(n));
      expect(extra.length).toBeLessThanOrEqual(17 * kill);
      const live = [...found.values()].reduce((sum, cost) => sum + cost, 0);
      const gone = limits[0]!.used - live;
      expect(gone).toBeGreaterThanOrEqual(settled.size);
      expect(gone).toBeLessThanOrEqual(settled.size + 9 * kill);
      next = Math.max(...promised.keys(), ...found.keys()) + 1;
    }
    expect(promised.size).toBeGreaterThan(kills * 100);
    expect(settled.size).toBeGreaterThan(kills);
  } finally {
    directory.remove();
  }
}, 240_000);

/** Runs the child until it has written `bytes` of answers, kills it in the midst, and gives the whole lines it wrote. */
async function runUntil(path: string, first: number, bytes: number): Promise<readonly string[]> {
  const outputPath = `${path}.lines`;
  const output = openSync(outputPath, 'w');
  const running = spawn(process.execPath, ['--no-warnings', child, path, String(first)], {
    stdio: ['ignore', output, 'inherit'],
  });
  const ended = once(running, 'exit');
  const lines = () => readFileSync(outputPath, 'utf8').split('\n').slice(0, -1);
  while (running.exitCode === null && statSync(outputPath).size < bytes) await setTimeout(2);
  running.kill('SIGKILL');
  const [, signal] = await ended;
  closeSync(output);
  expect(signal).toBe('SIGKILL');
  return lines();
}
