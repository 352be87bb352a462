import { afterAll, beforeAll } from '@jest/globals';

/**
 * Starts something before the tests of a file, or of a `describe`, and stops it after them. The answer can be passed
 * on at once; its members can be read as soon as the tests run. `timeoutMs` bounds the start and the stop; default: Jest's.
 */
export function useStarted<T extends { stop(): Promise<void> }>(
  start: () => Promise<T>,
  timeoutMs?: number,
): T {
  const started: { host?: T } = {};
  beforeAll(async () => {
    started.host = await start();
  }, timeoutMs);
  afterAll(() => started.host?.stop(), timeoutMs);
  const read = (_: object, name: string | symbol): unknown => {
    if (started.host === undefined) throw new Error(`${String(name)} is read before the tests run`);
    return Reflect.get(started.host, name);
  };
  // Every member is that of the host: the proxy has no others.
  return new Proxy(started, { get: read }) as T;
}
