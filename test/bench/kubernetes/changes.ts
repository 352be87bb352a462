import type { Change } from './fleet.js';
import type { BenchInstallation } from './installation.js';
import { servedAt } from './replica-client.js';

/** Milliseconds until an answer of every replica followed a change. */
export type Propagation = {
  /** Milliseconds since the API server answered. */
  readonly sinceAnswer: readonly number[];
  /** Milliseconds since the change was sent. */
  readonly sinceSending: readonly number[];
  /** The part of the latter until the compiled object has been written and reached a watcher. */
  readonly untilCompiled: readonly number[];
};

/**
 * Changes one paymaster after the other, each drawn at random, and polls all replicas until each answer reflects the change:
 * the called method is removed from a whitelist, or a limit is set to zero; then the change is reverted.
 */
export async function measureChanges(
  { fleet, replicas, compiled }: BenchInstallation,
  paymasters: number,
  changes: number,
): Promise<Propagation> {
  const sinceAnswer: number[] = [];
  const sinceSending: number[] = [];
  const untilCompiled: number[] = [];
  const draw = randomIndexes(paymasters);
  async function measure(index: number, change: Change): Promise<void> {
    const compiling = compiled.next(fleet.nameOf(index));
    const sentAt = performance.now();
    await fleet.change(index, change);
    const answeredAt = performance.now();
    const moments = await Promise.all(
      replicas.map((replica) => servedAt(replica, fleet, { index, isOpen: change.isOpen })),
    );
    const last = Math.max(...moments);
    sinceAnswer.push(last - answeredAt);
    sinceSending.push(last - sentAt);
    untilCompiled.push((await compiling) - sentAt);
  }
  for (let pair = 0; pair < changes / 2; pair += 1) {
    const index = draw();
    const of = pair % 2 === 0 ? 'whitelist' : 'limit';
    await measure(index, { of, isOpen: false });
    await measure(index, { of, isOpen: true });
  }
  return { sinceAnswer, sinceSending, untilCompiled };
}

/** The same sequence in every run (a linear congruential generator), so that runs differ only in the measured values. */
function randomIndexes(below: number): () => number {
  let state = 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}
