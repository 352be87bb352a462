import type { ConfigEvent, ConfigStore } from '../../../core/config/config-store.js';
import { systemClock, type Clock, type EpochMs } from '../../../core/units/time.js';
import { until } from '../../support/until.js';

/**
 * Two views of one config store: a write of the first returns when the watch of the second, if it runs, has handed that
 * write over. Tests of served configs then need not wait for the watch themselves.
 */
export function tellWhenServed(stores: {
  readonly written: ConfigStore;
  /** Uses the machine's clock. */
  readonly served: ConfigStore;
  /** The test's clock, moved by hand. */
  readonly clock: Clock;
}): {
  readonly configs: ConfigStore;
  readonly served: ConfigStore;
} {
  const told = new Map<string, number>();
  let watches = 0;

  function note(event: ConfigEvent): void {
    switch (event.type) {
      case 'put-chain':
        told.set(`chain ${event.config.chainId}`, event.config.configGeneration);
        break;
      case 'put-paymaster':
        told.set(`paymaster ${event.config.paymasterId}`, event.config.configGeneration);
        break;
      case 'delete-chain':
        told.delete(`chain ${event.chainId}`);
        break;
      case 'delete-paymaster':
        told.delete(`paymaster ${event.paymasterId}`);
        break;
      case 'put-list':
        told.set(`list ${event.list.hash}`, 0);
        break;
      case 'delete-list':
        told.delete(`list ${event.hash}`);
        break;
    }
  }

  const isTold = (what: string, generation: number): Promise<void> =>
    until(`${what} is served`, () => watches === 0 || (told.get(what) ?? 0) >= generation);
  const isForgotten = (what: string): Promise<void> =>
    until(`${what} is gone`, () => watches === 0 || !told.has(what));

  const { written, served, clock } = stores;
  return {
    configs: {
      ...written,
      async putList(list) {
        await written.putList(list);
        await until('the list is served', () => watches === 0 || told.has(`list ${list.hash}`));
      },
      async putPaymaster(config) {
        const result = await written.putPaymaster(config);
        await isTold(`paymaster ${config.paymasterId}`, result.configGeneration);
        return result;
      },
      async putChain(config) {
        const result = await written.putChain(config);
        await isTold(`chain ${config.chainId}`, result.configGeneration);
        return result;
      },
      async deletePaymaster(paymasterId) {
        await written.deletePaymaster(paymasterId);
        await isForgotten(`paymaster ${paymasterId}`);
      },
      async deleteChain(chainId) {
        await written.deleteChain(chainId);
        await isForgotten(`chain ${chainId}`);
      },
    },
    served: {
      ...served,
      watch(handler) {
        const watch = served.watch((event) => {
          handler(event);
          note(event);
        });
        watches += 1;
        return {
          ...watch,
          // When a test moves its clock by a day, the API server has not been silent for a day.
          confirmedAt: () => (clock.now() - (systemClock.now() - watch.confirmedAt())) as EpochMs,
          stop() {
            watches = 0;
            watch.stop();
          },
        };
      },
    },
  };
}
