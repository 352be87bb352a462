import { expect } from '@jest/globals';
import type { Connection } from '../../../standalone/connection.js';
import { freshUserOp, rpc } from '../../system/support/client.js';

/** What others ask of a process of `make run` while somebody floods it: whether an operation of the quickstart is sponsored, and whether it lives. */
export function asking(connection: () => Required<Connection>) {
  return {
    async sponsored(): Promise<boolean> {
      const { result } = await rpc(connection().rpcUrl, 'pm_sponsorUserOperation', [
        freshUserOp(connection()),
        { mode: 'SPONSORED' },
      ]);
      return typeof result?.['paymasterAndData'] === 'string' && result['paymasterAndData'] !== '0x';
    },
    async isAlive(): Promise<boolean> {
      const response = await fetch(new URL('/healthz', connection().dashboardUrl), {
        headers: { connection: 'close' },
      });
      await response.text();
      return response.ok;
    },
  };
}

/** Milliseconds of each of some calls, in order of length. */
export async function times(call: () => Promise<boolean>, count: number): Promise<readonly number[]> {
  const all: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const begun = performance.now();
    expect(await call()).toBe(true);
    all.push(performance.now() - begun);
  }
  return all.toSorted((a, b) => a - b);
}

export function p95(times: readonly number[]): number {
  return times[Math.floor(times.length * 0.95)] ?? 0;
}
