import { given } from '../../core/units/given.js';
import { isStatus } from './api-error.js';
import type { KubeList } from './objects.js';
import type { KubeRequest, KubeTransport } from './transport.js';

const pageSize = '500';

/** The object at a path; undefined on a 404. Any other failure is thrown as it came. */
export async function readObject<T>(
  transport: Pick<KubeTransport, 'request'>,
  path: string,
  options: Pick<KubeRequest, 'signal' | 'timeoutMs'> = {},
): Promise<T | undefined> {
  try {
    return (await transport.request({ method: 'GET', path, ...options })) as T;
  } catch (error) {
    if (isStatus(error, 404)) return undefined;
    throw error;
  }
}

/** All items of a list, read in pages. */
export async function readList<T>(
  transport: Pick<KubeTransport, 'request'>,
  path: string,
  selectors: Readonly<Record<string, string>> = {},
): Promise<readonly T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const query = { limit: pageSize, ...selectors, ...given({ continue: next }) };
    const page = (await transport.request({ method: 'GET', path, query })) as KubeList<T>;
    items.push(...page.items);
    next = page.metadata.continue || undefined;
  } while (next !== undefined);
  return items;
}

/** Deletes an object, if it is still the one with this uid, in this version. */
export function deleteObject(
  transport: Pick<KubeTransport, 'request'>,
  path: string,
  preconditions: { readonly uid?: string; readonly resourceVersion?: string },
): Promise<unknown> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions };
  return transport.request({ method: 'DELETE', path, body });
}
