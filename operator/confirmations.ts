import { reaches, type ConfigRevisions } from '../core/reports/config-revisions.js';
import type { ServedFacts } from './facts/reported-facts.js';

/** Which paymasters wait until a replica serves what was compiled of them. */
export type Confirmations = ReturnType<typeof createConfirmations>;

/**
 * One replica is enough: of those that are dead or behind nobody waits for. A replica that reports more than it serves only lets a
 * Paymaster be Ready early.
 */
export function createConfirmations(served: () => Pick<ServedFacts, 'values'> | undefined) {
  const chains = new Map<number, number>();
  const waiting = new Map<string, { readonly chainId: number; readonly paymasters: number }>();

  function isReached({ chainId, paymasters }: { chainId: number; paymasters: number }): boolean {
    const wanted: ConfigRevisions = { paymasters, chains: chains.get(chainId) ?? 0 };
    return [...(served()?.values() ?? [])].some((report) => reaches(report, wanted));
  }

  return {
    /** The config of a chain was stored. */
    storedChain(chainId: number, revision: number | undefined): void {
      if (revision !== undefined) chains.set(chainId, revision);
    },
    /** Whether a paymaster whose config was stored is served; if not, `served` has it once it is. */
    isServed(key: string, chainId: number, revision: number | undefined): boolean {
      waiting.delete(key);
      if (revision === undefined || served() === undefined) return true;
      const wanted = { chainId, paymasters: revision };
      if (isReached(wanted)) return true;
      waiting.set(key, wanted);
      return false;
    },
    /** A paymaster that is gone, or need not wait. */
    forget(key: string): void {
      waiting.delete(key);
    },
    /** Those that have waited until now. */
    served(): readonly string[] {
      return [...waiting].filter(([, wanted]) => isReached(wanted)).map(([key]) => key);
    },
  };
}
