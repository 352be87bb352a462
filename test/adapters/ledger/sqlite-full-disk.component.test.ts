import { execFileSync, fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { createSqliteLedger } from '../../../adapters/ledger/sqlite/ledger.js';
import { at } from '../../conformance/ledger-records.js';
import type { Said, Told } from './full-disk-child.js';

// The operating system refuses to make the ledger's files larger, as on a full disk, and allows it again later. Needs `prlimit` of
// Linux, which changes the bound of a process that runs.

const child = fileURLToPath(new URL('./full-disk-child.js', import.meta.url));
const roomBytes = 1_500_000;

test('a full disk is UNAVAILABLE; once there is room, the same process stores the batch exactly once', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'ledger-'));
  const running = fork(child, [directory], { stdio: 'inherit' });
  await once(running, 'message');
  execFileSync('prlimit', [`--pid=${running.pid}`, `--fsize=${roomBytes}:unlimited`]);
  let batches = 0;
  try {
    let said: Said;
    do {
      said = await ask(running, { again: false });
      batches += 1;
    } while (said.error === undefined);
    expect(said.error).toBe('UNAVAILABLE');
    expect(batches).toBeGreaterThan(1);
    expect((await ask(running, { again: true })).error).toBe('UNAVAILABLE');
    execFileSync('prlimit', [`--pid=${running.pid}`, '--fsize=unlimited']);
    expect(await ask(running, { again: true })).toEqual({ ids: said.ids });
    expect(await ask(running, { again: true })).toEqual({ ids: said.ids });
  } finally {
    running.disconnect();
    await once(running, 'exit');
  }
  const ledger = await createSqliteLedger({ directory, durability: 'process' });
  const rows = await ledger.usage({
    organisation: 'acme',
    paymasterId: undefined,
    from: at('2026-01-01T00:00:00Z'),
    to: at('2026-02-01T00:00:00Z'),
    step: 'month',
    groupBy: undefined,
    senders: false,
    limit: 10,
  });
  await ledger.stop();
  rmSync(directory, { recursive: true, force: true });
  expect(rows).toMatchObject([{ sponsored: 100 * batches, mined: 100 * batches }]);
}, 300_000);

async function ask(running: ChildProcess, told: Told): Promise<Said> {
  running.send(told);
  const [said] = (await once(running, 'message')) as [Said];
  return said;
}
