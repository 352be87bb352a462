import { pause } from '../adapters/pause.js';
import { kinds } from '../core/resources/kinds.js';
import type { Server } from '../server/server.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import { stateOf, type ResourceState } from './resource-state.js';

const patienceMs = 15_000;
const pollMs = 100;
/** What is refused for want of something else is looked at again when that arrives: no longer than this is waited for it. */
const standingMs = 1000;

/**
 * The state of every resource, as soon as the operator has decided about all of them, or after `waitMs` (15 seconds). Paused
 * ones are decided, and refused ones once they have stood so for a second: waiting would not change them.
 */
export async function watchReadiness(
  resources: Pick<ResourceStore, 'list'>,
  signal: AbortSignal,
  waitMs = patienceMs,
): Promise<readonly ResourceState[]> {
  const start = Date.now();
  let refused = '';
  let since = start;
  for (;;) {
    const states = await readStates(resources);
    const now = Date.now();
    const present = JSON.stringify(states.filter(({ phase }) => phase === 'refused'));
    if (present !== refused) {
      refused = present;
      since = now;
    }
    const isDecided = states.every(({ phase }) => phase !== 'waiting');
    const isStanding = states.every(({ phase }) => phase !== 'refused') || now - since >= standingMs;
    if ((isDecided && isStanding) || now - start > waitMs) return states;
    signal.throwIfAborted();
    await pause(pollMs);
  }
}

/** Waits until the server is ready for traffic, 15 seconds at most; resolves with what to do about each check that fails. */
export async function waitUntilReady(
  server: Pick<Server, 'ready'>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const { ready, checks } = await server.ready();
    const failing = checks.flatMap((check) => (check.ready ? [] : [`${check.name}: ${check.action}`]));
    if (ready || Date.now() > deadline) return failing;
    signal.throwIfAborted();
    await pause(pollMs);
  }
}

export async function readStates(resources: Pick<ResourceStore, 'list'>): Promise<readonly ResourceState[]> {
  const lists = await Promise.all(kinds.map((kind) => resources.list(kind)));
  return lists.flat().map(stateOf);
}
