/**
 * Collapses duplicate slashes in the path of a request target; the query is not changed. One documented sample posts to
 * `//api/v2/public/sdk/paymaster`, and base addresses are often configured with a slash at the end.
 */
export function collapseSlashes(target: string): string {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.replace(/\/{2,}/g, '/') + (query === -1 ? '' : target.slice(query));
}
