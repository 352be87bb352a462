/**
 * Runs one call per key at a time: callers that ask meanwhile get the same answer. Answers are not kept. `call` gets
 * the key before the arguments.
 */
export function shareInFlight<A extends readonly unknown[], T>(
  keyOf: (...args: A) => string,
  call: (key: string, ...args: A) => Promise<T>,
): (...args: A) => Promise<T> {
  const inFlight = new Map<string, Promise<T>>();
  return (...args) => {
    const key = keyOf(...args);
    const present = inFlight.get(key);
    if (present !== undefined) return present;
    const started = call(key, ...args).finally(() => inFlight.delete(key));
    inFlight.set(key, started);
    return started;
  };
}
