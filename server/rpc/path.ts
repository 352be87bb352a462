/** Chain and key from the path of a request. `apiKey` is absent in paths without a key, for which a header carries it. */
type RpcPath = { readonly chainId: number; readonly apiKey: string | undefined };

// `/api/v2/` is also the prefix of the dashboard (`/api/v2/public/sdk`), whose next segment is never a number.
const rpcPrefix = /^\/+api\/+v(?:1(?:\/|$)|2\/+[0-9])/;
const rpcPath = /^\/+api\/+v[12]\/+([0-9]{1,15})(?:\/+([^/]+))?\/*$/;

/** True for every path that the JSON-RPC edge answers, well formed or not. */
export function isRpcPath(url: string): boolean {
  return rpcPrefix.test(url);
}

/** `/api/v1/{chainId}/{apiKey}`, `/api/v2/…` alike, with or without the key; undefined when malformed. */
export function parseRpcPath(url: string): RpcPath | undefined {
  const query = url.indexOf('?');
  const match = rpcPath.exec(query === -1 ? url : url.slice(0, query));
  if (match === null) return undefined;
  const apiKey = match[2];
  if (apiKey === undefined || !apiKey.includes('%')) return { chainId: Number(match[1]), apiKey };
  try {
    return { chainId: Number(match[1]), apiKey: decodeURIComponent(apiKey) };
  } catch {
    return undefined;
  }
}
