import type { ConfigStore } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';

/** Follows the compiled objects as a replica does, to know when all of them reflect the applied resources. */
export type CompiledWatch = {
  /** Paymasters whose compiled form has their contract and both limits. */
  count(): number;
  /** Resolves with the moment (of `performance.now`) at which the next compiled form of this paymaster arrives here. */
  next(name: string): Promise<number>;
  /** Names of the paymasters that were completed last, the newest last. */
  newest(count: number): readonly string[];
  stop(): void;
};

export function watchCompiled(configs: Pick<ConfigStore, 'watch'>): CompiledWatch {
  const complete = new Map<string, string>();
  const waiting = new Map<string, (moment: number) => void>();
  const watch = configs.watch((event) => {
    if (event.type !== 'put-paymaster') return;
    waiting.get(event.config.objectName)?.(performance.now());
    waiting.delete(event.config.objectName);
    if (!isComplete(event.config)) return;
    complete.delete(event.config.paymasterId);
    complete.set(event.config.paymasterId, event.config.objectName);
  });
  return {
    count: () => complete.size,
    next: (name) => new Promise((resolve) => waiting.set(name, resolve)),
    newest: (count) => [...complete.values()].slice(-count),
    stop: () => watch.stop(),
  };
}

function isComplete({ namespace, contracts, limits, notReady, invalidPolicies }: PaymasterConfig): boolean {
  const isOurs = namespace.startsWith('bench-');
  const isServed = notReady === undefined && invalidPolicies.length === 0;
  return isOurs && isServed && contracts.length === 1 && limits.length === 2;
}
