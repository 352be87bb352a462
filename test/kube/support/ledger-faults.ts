import type { DevChain } from '../../chain/support/dev-chain.js';
import type { LedgerTraffic } from './ledger-traffic.js';
import { revertTo } from '../../chain/support/revert-to.js';

/** What happens to a chain while operations are sponsored on it. */
export type LedgerFaults = {
  /** Traffic while something happens, and one round at least. */
  during(fault: () => Promise<void>): Promise<void>;
  /** Everything that is mined is final. */
  confirmAll(): Promise<void>;
  /** The chain forgets blocks that are not confirmed yet: some of their operations are mined again, some replaced, some stay out. */
  reorganise(): Promise<void>;
};

export function createLedgerFaults(
  { chain }: DevChain,
  traffic: LedgerTraffic,
  confirmations: number,
): LedgerFaults {
  async function confirmAll(): Promise<void> {
    await chain.request('anvil_mine', [`0x${confirmations.toString(16)}`]);
  }

  return {
    async during(fault) {
      let isOver = false;
      const running = fault().finally(() => {
        isOver = true;
      });
      try {
        do {
          await traffic.round();
          await confirmAll();
        } while (!isOver);
      } finally {
        await running;
      }
    },
    confirmAll,
    async reorganise() {
      const snapshot = await chain.request('evm_snapshot', []);
      const ops = await traffic.signAll();
      for (const op of ops) await traffic.mine(op);
      await revertTo(chain, snapshot);
      for (const [index, op] of ops.entries())
        if (index % 3 === 0) await traffic.mine(op);
        else if (index % 3 === 1) await traffic.replace(op);
    },
  };
}
