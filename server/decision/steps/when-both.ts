/** Goes on with two values: at once if both are known, else when both promises have resolved. */
export function whenBoth<A, B, T>(
  a: A | Promise<A>,
  b: B | Promise<B>,
  then: (a: A, b: B) => T,
): T | Promise<T> {
  if (!(a instanceof Promise) && !(b instanceof Promise)) return then(a, b);
  return Promise.all([a, b]).then(([first, second]) => then(first, second));
}
