import { kinds, type AnyResource } from '../../core/resources/kinds.js';
import { formatKey, keyOf } from '../../core/resources/meta.js';
import type { Server } from '../server.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';

/** One line of the state of the resources. */
export type ResourceState = {
  readonly kind: string;
  readonly key: string;
  readonly ready: boolean;
  /** `Ready`, or the reason why not. */
  readonly reason: string;
  readonly message: string;
};

const patienceMs = 15_000;
const pollMs = 100;

/** The state of every resource, as soon as all are ready or after `waitMs` (15 seconds), whichever comes first. */
export async function watchReadiness(
  resources: ResourceStore,
  signal: AbortSignal,
  waitMs = patienceMs,
): Promise<readonly ResourceState[]> {
  const deadline = Date.now() + waitMs;
  for (;;) {
    const states = await readStates(resources);
    if (states.every(({ ready }) => ready) || Date.now() > deadline) return states;
    signal.throwIfAborted();
    await new Promise((resolve) => setTimeout(resolve, pollMs));
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
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function readStates(resources: ResourceStore): Promise<readonly ResourceState[]> {
  const lists = await Promise.all(kinds.map((kind) => resources.list(kind)));
  return lists.flat().map(stateOf);
}

function stateOf(resource: AnyResource): ResourceState {
  const condition = resource.status?.conditions?.find(({ type }) => type === 'Ready');
  const isCurrent = condition?.observedGeneration === resource.metadata.generation;
  return {
    kind: resource.kind,
    key: formatKey(keyOf(resource)),
    ready: isCurrent && condition.status === 'True',
    reason: isCurrent ? condition.reason : 'NotSeen',
    message: isCurrent ? condition.message : 'the operator has not seen this version yet',
  };
}
