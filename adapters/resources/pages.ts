import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { ListOptions, ResourceStore } from '../../core/resources/resource-store.js';
import { given } from '../../core/units/given.js';
import { turn } from '../timers.js';

/** All objects of a list, without holding more than a page of them. */
export async function* eachObject<K extends Kind>(
  store: Pick<ResourceStore, 'page'>,
  kind: K,
  options: ListOptions,
): AsyncGenerator<Resources[K]> {
  for (let after: string | undefined; ;) {
    const page = await store.page(kind, { ...options, limit: choosePageSize(kind), ...given({ after }) });
    yield* page.items;
    after = page.next;
    if (after === undefined) return;
    await turn();
  }
}

/** Reading a page, or rendering a large object, takes some milliseconds. */
export function choosePageSize(kind: Kind): number {
  return isLarge(kind) ? 4 : 200;
}

/** A contract may have an ABI of 200 kB, other objects have some kilobytes. */
export function isLarge(kind: Kind): boolean {
  return kind === 'SmartContract';
}
