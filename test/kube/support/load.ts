import type { Installation } from './installation.js';
import { freshUserOp, rpc } from '../../system/support/client.js';

/** Sends requests to all replicas in turn, without pauses, until it is stopped. */
export type Load = {
  /** Number of requests sent so far. */
  sent(): number;
  stop(): Promise<{ readonly failures: readonly string[] }>;
};

export function startLoad(installation: Installation, callers = 3): Load {
  const failures: string[] = [];
  let sent = 0;
  let isStopped = false;

  async function call(): Promise<void> {
    for (; !isStopped;) {
      const replica = installation.replicas[sent % installation.replicas.length];
      if (replica === undefined) throw new Error('there is no replica');
      sent += 1;
      try {
        const answer = await rpc(installation.rpcUrl(replica), 'pm_sponsorUserOperation', [
          freshUserOp(installation.connection),
          { mode: 'SPONSORED', calculateGasLimits: false },
        ]);
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
