import type { ConfigStore } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';

/** Follows the compiled objects as a replica does, to know when all of them say what was applied. */
export type CompiledWatch = {
  /** Paymasters whose compiled form has their contract and both limits. */
  count(): number;
  /** Names of the paymasters that were completed last, the newest last. */
  newest(count: number): readonly string[];
  stop(): void;
};

export function watchCompiled(configs: Pick<ConfigStore, 'watch'>): CompiledWatch {
  const complete = new Map<string, string>();
  const watch = configs.watch((event) => {
    if (event.type !== 'put-paymaster' || !isComplete(event.config)) return;
    complete.delete(event.config.paymasterId);
    complete.set(event.config.paymasterId, event.config.objectName);
  });
  return {
    count: () => complete.size,
    newest: (count) => [...complete.values()].slice(-count),
    stop: () => watch.stop(),
  };
}

function isComplete({ namespace, contracts, limits, notReady, invalidPolicies }: PaymasterConfig): boolean {
  const isOurs = namespace.startsWith('bench-');
  const isServed = notReady === undefined && invalidPolicies.length === 0;
  return isOurs && isServed && contracts.length === 1 && limits.length === 2;
}
