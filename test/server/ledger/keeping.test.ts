import { expect, test } from '@jest/globals';
import type { LedgerMaintenance } from '../../../core/ledger/ledger.js';
import type { LedgerRecord } from '../../../core/ledger/record.js';
import { silentLogger } from '../../../core/log.js';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createLedgerKeeping } from '../../../server/ledger/keeping.js';
import { at, aRefusal } from '../../conformance/ledger-records.js';
import { until } from '../../support/until.js';

const noon = at('2026-11-22T12:00:00Z');

/** Half of its records are old. */
function aLedger(used: number): LedgerMaintenance & { used: number } {
  let old = used / 2;
  const ledger = {
    used,
    rollUp: async () => false,
    prune: async () => {
      ledger.used -= old;
      old = 0;
      return false;
    },
    size: async () => ({ used: ledger.used, capacity: 1_000_000 }),
  };
  return ledger;
}

async function keep(ledger: LedgerMaintenance) {
  const metrics = createMetrics();
  const keeping = createLedgerKeeping({
    ledger,
    processes: 1,
    clock: { now: () => noon },
    log: silentLogger,
    metrics,
  });
  keeping.start();
  await until('the ledger is measured', async () =>
    (await metrics.render()).body.includes('paymaster_ledger_capacity_bytes 1000000'),
  );
  return keeping;
}

test('a ledger beyond nine tenths of its room loses what is old at once', async () => {
  const ledger = aLedger(910_000);
  const keeping = await keep(ledger);
  await until('the old half is removed', () => ledger.used === 455_000);
  await keeping.stop();
});

test('a ledger with room loses nothing before its time', async () => {
  const ledger = aLedger(890_000);
  const keeping = await keep(ledger);
  await keeping.stop();
  expect(ledger.used).toBe(890_000);
});

test('its room is that of the measured size', async () => {
  const keeping = await keep(aLedger(992_000));
  const added: LedgerRecord[] = [];
  const offers = keeping.room.within({
    add: (record) => added.push(record) > 0,
    waitingBytes: () => 0,
  });
  const refusal = aRefusal('acme', noon);
  expect([offers.add(refusal), offers.add(refusal)]).toEqual([true, false]);
  expect(added).toEqual([refusal]);
  await keeping.stop();
});
