import type { Clock, EpochMs } from '../../../core/units/time.js';
import type { DevChain } from './dev-chain.js';

/** The clock of a service that keeps step with a dev chain, and lets time pass on both. */
export type ChainClock = Clock & {
  /** Blocks are a second apart at least: a chain that mines quickly is ahead of the clock of this machine. */
  keepUp(devChain: Pick<DevChain, 'time'>): Promise<void>;
  /** Time passes on the chain and on this clock, and a block is mined. */
  pass(devChain: Pick<DevChain, 'chain'>, seconds: number): Promise<void>;
};

export function createChainClock(): ChainClock {
  let ahead = 0;
  return {
    now: () => (Date.now() + ahead) as EpochMs,
    async keepUp(devChain) {
      ahead = Math.max(ahead, (await devChain.time()) * 1_000 - Date.now());
    },
    async pass({ chain }, seconds) {
      ahead += seconds * 1_000;
      await chain.request('evm_increaseTime', [seconds]);
      await chain.request('evm_mine', []);
    },
  };
}
