import { createHash } from 'node:crypto';

/** A Lua script and the name by which Redis knows it once it was sent. */
export type Script = { readonly lua: string; readonly sha: string };

/**
 * Every script starts with `#!lua`: Redis then refuses to start it when memory, disk or role do not allow a write, so
 * that none of them can stop half-way.
 */
export function script(body: string): Script {
  const lua = `#!lua\n${body.trim()}\n`;
  return { lua, sha: createHash('sha1').update(lua).digest('hex') };
}

/**
 * Sets `now`, in milliseconds: the time of Redis, so that replicas need not agree on theirs; ARGV[1] where it is not 0.
 */
export const readClock = `
local now = tonumber(ARGV[1])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
`;
