import { pause } from '../adapters/timers.js';
import { reconciledKinds } from '../core/resources/kinds.js';
import type { FailedCheck } from '../server/ops/readiness.js';
import type { Server } from '../server/server.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import { toResourceState, type ResourceState } from './resource-state.js';

const patienceMs = 15_000;
const pollMs = 100;
/** A resource that is refused because another one is missing is checked again when that one arrives. We wait this long for it. */
const standingMs = 1000;

/**
 * The state of every resource, as soon as the operator has decided about all of them, or after `waitMs` (15 seconds). Only the
 * pauses between two looks count: a process that is too busy to look is also too busy to decide. Paused resources count as
 * decided; refused ones count once they have been refused for a second: waiting would not change them. With `expected` one must
 * have this reason: the operator reads every 15 seconds whether usage is lost, and shows earlier states until then.
 */
export async function watchReadiness(
  resources: Pick<ResourceStore, 'list'>,
  signal: AbortSignal,
  {
    waitMs = patienceMs,
    expected,
  }: { readonly waitMs?: number | undefined; readonly expected?: string } = {},
): Promise<readonly ResourceState[]> {
  let refused = '';
  let since = 0;
  for (let now = 0; ; now += pollMs) {
    const states = await readStates(resources);
    const present = JSON.stringify(states.filter(({ phase }) => phase === 'refused'));
    if (present !== refused) {
      refused = present;
      since = now;
    }
    const isDecided =
      states.every(({ phase }) => phase !== 'waiting') &&
      (expected === undefined || states.some(({ reason }) => reason === expected));
    const isStanding = states.every(({ phase }) => phase !== 'refused') || now - since >= standingMs;
    if ((isDecided && isStanding) || now > waitMs) return states;
    signal.throwIfAborted();
    await pause(pollMs);
  }
}

/** Waits at most 15 seconds until the server is ready for traffic; resolves with the failing checks. */
export async function waitUntilReady(
  server: Pick<Server, 'ready'>,
  signal: AbortSignal,
): Promise<readonly FailedCheck[]> {
  for (let waited = 0; ; waited += pollMs) {
    const { ready, checks } = await server.ready();
    const failing = checks.filter((check) => !check.ready);
    if (ready || waited > patienceMs) return failing;
    signal.throwIfAborted();
    await pause(pollMs);
  }
}

export async function readStates(resources: Pick<ResourceStore, 'list'>): Promise<readonly ResourceState[]> {
  const lists = await Promise.all(reconciledKinds.map((kind) => resources.list(kind)));
  return lists.flat().map(toResourceState);
}
