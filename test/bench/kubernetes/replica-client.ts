import { setTimeout as pause } from 'node:timers/promises';
import type { Component } from '../../support/cluster/component.js';
import { freshUserOp, rpc } from '../../system/support/client.js';
import type { Fleet } from './fleet.js';

const pollMs = 3;

/** True when this replica sponsors an operation of the paymaster now; throws when it answers neither yes nor no. */
export async function isSponsored({ origin }: Component, fleet: Fleet, index: number): Promise<boolean> {
  const url = `${origin}/api/v1/${fleet.chainId}/${fleet.apiKey(index)}`;
  const operation = freshUserOp({
    sponsoredContract: { address: fleet.sponsoredContract.address, method: 'increment()' },
  });
  const answer = await rpc(url, 'pm_sponsorUserOperation', [
    operation,
    { mode: 'SPONSORED', calculateGasLimits: false },
  ]);
  const data = answer.result?.['paymasterAndData'];
  if (typeof data !== 'string') throw new Error(`a replica does not answer: ${JSON.stringify(answer)}`);
  return data !== '0x';
}

/** Resolves with the moment (of `performance.now`) at which an answer of the replica was the wanted one. */
export async function servedAt(
  replica: Component,
  fleet: Fleet,
  wanted: { readonly index: number; readonly isOpen: boolean },
): Promise<number> {
  const deadline = performance.now() + 60_000;
  while ((await isSponsored(replica, fleet, wanted.index)) !== wanted.isOpen) {
    if (performance.now() > deadline)
      throw new Error(`${replica.name} did not serve a change within a minute`);
    await pause(pollMs);
  }
  return performance.now();
}
