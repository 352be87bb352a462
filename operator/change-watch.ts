import type { Ambient } from '../core/ambient.js';
import { tenantOf, tenantOfOrganisation } from '../core/config/tenant.js';
import type { ChangeLog, ObjectVersion } from '../core/ledger/change.js';
import { isDomainError } from '../core/errors.js';
import { knownOf, writeOf } from '../core/resources/object-change.js';
import { keyOf } from '../core/meta/meta.js';
import { kinds } from '../core/resources/kinds.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import type { Timers } from '../adapters/timers.js';
import type { Cache, Change } from './cache.js';
import { organisationOf } from './reconcilers/organisation.js';
import { createRepetition } from './runtime/repeat.js';

/** What somebody wrote by REST is recorded there with the token, sooner than it is looked at here. */
const everyMs = 5_000;

/**
 * Records changes of specs that were not made by REST, with the field manager that made them, and those that were made while no operator
 * ran. It delays nothing: what cannot be recorded is tried again.
 */
export function createChangeWatch(
  deps: Pick<Ambient, 'clock' | 'log'> & {
    readonly changes: ChangeLog;
    /** Watched objects do not say who owns their fields. */
    readonly resources: Pick<ResourceStore, 'get'>;
    readonly cache: Pick<Cache, 'all' | 'organisationsOf'>;
    readonly timers: Timers;
  },
) {
  const { changes, resources, cache, clock, log, timers } = deps;
  /** Undefined until it is read. */
  let recorded: Map<string, ObjectVersion> | undefined;
  let waiting = new Map<string, () => Promise<void>>();
  const ripe = new Map<string, () => Promise<void>>();

  function see(change: Change): void {
    const object = change.after ?? change.before;
    if (object === undefined) return;
    const name = nameOf(knownOf(object));
    waiting.set(name, () => record(name, change));
  }

  async function look(): Promise<number> {
    try {
      if (recorded === undefined) await begin();
      for (const [name, recordOne] of ripe) {
        // One that cannot be recorded stops no other.
        const error = await failureOf(recordOne);
        if (error === undefined) ripe.delete(name);
        else if (isDomainError(error, 'UNAVAILABLE')) throw error;
        else log.warn('change not recorded', { object: name, error });
      }
    } catch (error) {
      log.warn('changes not recorded', { waiting: ripe.size, error });
    }
    // What was seen a moment ago waits for one more round.
    for (const [name, recordOne] of waiting) ripe.set(name, recordOne);
    waiting = new Map();
    return everyMs;
  }

  /** Everything that differs from what was known when the last operator stopped. */
  async function begin(): Promise<void> {
    const known = new Map((await changes.known()).map((each) => [nameOf(each), each]));
    const present = new Map(
      kinds.flatMap((kind) => cache.all(kind)).map((each) => [nameOf(knownOf(each)), each]),
    );
    for (const [name, after] of present) ripe.set(name, () => record(name, { after }));
    for (const [name, gone] of known) if (!present.has(name)) ripe.set(name, () => forget(gone));
    recorded = known;
  }

  async function record(name: string, { after, before }: Change): Promise<void> {
    if (after === undefined) {
      if (before !== undefined) await forget(knownOf(before));
      recorded?.delete(name);
      return;
    }
    const last = recorded?.get(name);
    const { uid, generation } = after.metadata;
    if (last?.uid === uid && last.generation >= generation) return;
    const object = await resources.get(after.kind, keyOf(after));
    if (object === undefined) return;
    await changes.record(
      writeOf(object, { at: clock.now(), organisation: tenantIn(cache, after.metadata.namespace ?? '') }),
    );
    recorded?.set(name, knownOf(object));
  }

  async function forget(object: ObjectVersion): Promise<void> {
    const organisation = tenantIn(cache, object.namespace);
    const author = { source: 'manager', name: undefined } as const;
    await changes.record({ at: clock.now(), organisation, object, fields: undefined, author });
  }

  const repetition = createRepetition(timers, look);
  return { see, start: () => repetition.start(0), stop: () => repetition.stop() };
}

async function failureOf(work: () => Promise<void>): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

function nameOf({ kind, namespace, name }: ObjectVersion): string {
  return `${kind} ${namespace}/${name}`;
}

/** Objects of the platform have no namespace, and belong to no organisation. */
function tenantIn(cache: Pick<Cache, 'organisationsOf'>, namespace: string): string {
  if (namespace === '') return '';
  const organisation = organisationOf(cache, namespace);
  return organisation === undefined ? tenantOf(namespace) : tenantOfOrganisation(organisation);
}
