import { randomBytes } from 'node:crypto';
import { createMetrics } from '../adapters/metrics/prometheus.js';
import type { Running } from '../adapters/process/run-process.js';
import { startAll, type Stops } from '../adapters/process/stops.js';
import type { Logger } from '../core/log.js';
import { systemClock } from '../core/units/time.js';
import { createHttpServer } from './http/http-server.js';
import { createLedgerKeeping } from './ledger/keeping.js';
import type { LedgerConfig } from './ledger-config.js';
import { openLedger } from './ledger-store.js';
import { createInstruments } from './ops/instruments.js';
import { createOps } from './ops/ops.js';
import { createUsageStore } from './usage-store.js';

export type RunningLedgerProcess = Running & {
  /** Of health and metrics. */
  readonly port: number;
};

const drainMs = 1_000;

/**
 * Starts a process of the role ledger: moves records from the usage store to the ledger, and removes old ones. Several
 * may run; each takes what no other works on. `failed` never resolves: outages of both sides pass.
 */
export async function startLedgerProcess(config: LedgerConfig, log: Logger): Promise<RunningLedgerProcess> {
  return startAll((onStop) => startParts(config, log, onStop));
}

async function startParts(config: LedgerConfig, log: Logger, onStop: Stops['add']) {
  const clock = systemClock;
  const metrics = createMetrics();
  const { usage, feed } = createUsageStore(config.usage, {
    identity: `${config.podName}_${randomBytes(4).toString('hex')}`,
    ledger: config.room,
    clock,
    log: log.child({ part: 'usage' }),
    metrics,
  });
  onStop(() => usage.stop());
  const ledger = await openLedger(config.ledger);
  onStop(() => ledger.stop());

  const ops = createOps({
    checks: [
      {
        name: 'ledger',
        action:
          'Check that the ledger answers; records wait meanwhile, and signing goes on until they take all room.',
        isReady: () => ledger.ping().then(() => true),
      },
      {
        name: 'usage-store',
        action: 'Check that the usage store answers: records come from it.',
        isReady: () => feed.state().then(() => true),
      },
    ],
    metrics,
    instruments: createInstruments(metrics),
    log,
  });
  const http = createHttpServer((request, response) => {
    if (!ops.handle(request, response)) response.writeHead(404).end();
  });
  onStop(() => ops.stop());
  onStop(() => http.stop(drainMs));
  const { port } = await http.listen(config.port, config.host);

  const keeping = createLedgerKeeping({ feed, ledger, clock, log, metrics });
  keeping.start();
  onStop(() => keeping.stop());
  log.info('ledger is kept', { port });
  return { port, failed: new Promise<never>(() => {}) };
}
