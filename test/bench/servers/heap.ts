import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import type { ConfigEvent, ConfigStore } from '../../../core/config/config-store.js';
import { silentLogger } from '../../../core/log.js';
import { systemClock } from '../../../core/units/time.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createConfigView } from '../../../server/view/config-view.js';
import { benchChainConfig, benchPaymasterConfig } from '../configs.js';

/** Fills the view that serves requests with so many paymasters, and reports the heap that each of them took. */
const count = Number(process.argv[2]);
const clock = systemClock;
const instruments = createInstruments(createMetrics({ process: false }));
const feed: { handler: (event: ConfigEvent) => void } = { handler: () => {} };
const view = createConfigView({
  configs: fedByHand(),
  signers: { get: () => undefined, recover: () => undefined },
  clock,
  log: silentLogger,
  instruments,
});
await view.start();

feed.handler({ type: 'put-chain', config: benchChainConfig() });
put(0);
const before = heapBytes();
for (let index = 1; index <= count; index += 1) put(index);
const after = heapBytes();
process.send?.({ bytesPerPaymaster: (after - before) / count });
process.on('disconnect', () => {
  view.stop();
  process.exit(0);
});

function put(index: number): void {
  const config = benchPaymasterConfig(index, { limits: 2, wallets: 'own' }, clock.now());
  // As a store delivers it: parsed from text, so that no parts are shared by accident.
  const parsed = JSON.parse(JSON.stringify(config)) as typeof config;
  feed.handler({ type: 'put-paymaster', config: parsed });
}

function heapBytes(): number {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function fedByHand(): Pick<ConfigStore, 'watch' | 'findByKey' | 'getPaymaster' | 'getChain'> {
  return {
    watch: (handler) => {
      feed.handler = handler;
      return { synced: Promise.resolve(), confirmedAt: () => clock.now(), stop: () => {} };
    },
    findByKey: () => Promise.resolve(undefined),
    getPaymaster: () => Promise.resolve(undefined),
    getChain: () => Promise.resolve(undefined),
  };
}
