import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from '@jest/globals';
import { createSqliteConfigStore } from '../../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../../adapters/resources/sqlite/resources.js';
import { systemClock as clock } from '../../../core/units/time.js';
import { aDatabase } from './sqlite-harness.js';

type Acknowledged = { name: string; version: string; round: number; generation: number };

const database = aDatabase();
afterEach(() => database.stop());

/** Starts the writer with round `first`, kills it after this many acknowledged rounds, and answers the last one of each object. */
async function writeUntilKilled(first: number, rounds: number): Promise<Map<string, Acknowledged>> {
  const script = fileURLToPath(new URL('./crash-writer.js', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', script, database.path, String(first)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = once(child, 'exit');
  const last = new Map<string, Acknowledged>();
  let count = 0;
  for await (const line of createInterface({ input: child.stdout })) {
    const said = JSON.parse(line) as Acknowledged;
    last.set(said.name, said);
    if (++count === rounds) child.kill('SIGKILL');
  }
  await exit;
  return last;
}

test('what was acknowledged before kill -9 is there afterwards, whole, and the file can be claimed at once', async () => {
  for (const [first, rounds] of [
    [1, 35],
    [10_000, 140],
    [20_000, 300],
  ] as const) {
    const acknowledged = await writeUntilKilled(first, rounds);
    expect(acknowledged.size).toBe(20);

    const db = openDatabase(database.path, { durability: 'process', exclusive: true });
    expect(db.sql.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    const resources = createSqliteResourceStore({ db, clock });
    const configs = createSqliteConfigStore({ db, clock });
    for (const { name, version, round, generation } of acknowledged.values()) {
      const object = await resources.get('Paymaster', { namespace: 'acme', name });
      // The write after the last acknowledged one may have been committed too, but never half of it.
      expect(Number(object?.metadata.resourceVersion)).toBeGreaterThanOrEqual(Number(version));
      expect(object?.spec.keyGeneration).toBeGreaterThanOrEqual(round);
      expect(object?.metadata.labels).toEqual({ round: String(object?.spec.keyGeneration) });
      const selected = await resources.list('Paymaster', { fields: { 'spec.name': name } });
      expect(selected).toEqual([object]);
      const stored = await configs.getPaymaster(name);
      expect(stored?.config.configGeneration).toBeGreaterThanOrEqual(generation);
      expect(stored?.config.maxExpirySeconds).toBeGreaterThanOrEqual(round);
    }
    db.close();
  }
});
