import type { Installation } from './installation.js';
import { freshUserOp, rpc, unlessBusy } from '../../system/support/client.js';
import { pause } from '../../../adapters/timers.js';
import { isSoak } from '../../support/soak-seconds.js';

/**
 * Sends requests to all replicas in turn until it is stopped: without pauses in `make soak`; in `make test` hundreds in an outage,
 * which leave the processor to the tests beside it.
 */
export type Load = {
  /** Number of requests sent so far. */
  sent(): number;
  stop(): Promise<{ readonly failures: readonly string[] }>;
};

const pauseMs = isSoak ? 0 : 25;

export function startLoad(installation: Installation, callers = 3): Load {
  const failures: string[] = [];
  let sent = 0;
  let isStopped = false;

  async function call(): Promise<void> {
    for (; !isStopped; await pause(pauseMs)) {
      const replica = installation.replicas[sent % installation.replicas.length];
      if (replica === undefined) throw new Error('no replica runs');
      sent += 1;
      try {
        const asked = [
          freshUserOp(installation.connection),
          { mode: 'SPONSORED', calculateGasLimits: false },
        ];
        const url = installation.rpcUrl(replica);
        const answer = await unlessBusy(() => rpc(url, 'pm_sponsorUserOperation', asked));
        const data = answer.result?.['paymasterAndData'];
        if (answer.status !== 200 || typeof data !== 'string' || data === '0x')
          failures.push(`${replica.name}: ${JSON.stringify(answer)}`);
      } catch (error) {
        failures.push(`${replica.name}: ${String(error)}`);
      }
    }
  }

  const running = Promise.all(Array.from({ length: callers }, call));
  return {
    sent: () => sent,
    async stop() {
      isStopped = true;
      await running;
      return { failures };
    },
  };
}
