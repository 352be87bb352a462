import { textsOf } from '../../redis/reply.js';
import type { StepDeps } from './advance.js';
import { addAmounts, closeCommits, declaresNames } from './commit-lua.js';
import { kinds } from './keys.js';
import { readRecords } from './listing.js';
import { keysOf, splitMember } from './record.js';
import { closeChain, openChain, replies, script } from './script.js';

/** Commits of one call: this many occupy Redis for a few milliseconds. */
const perCall = 250;
/** The script looks for them among this many: others may have become due meanwhile, or earlier ones were added. */
const mostDue = 2 * perCall;

/**
 * Takes commits that are over from their reservations.
 *
 *     KEYS  1 to 4 head, 5 commits, 6 expiries, 7 accounts, then N operations, then in any order what the records name: c:, p:,
 *           b:, k:, and commits again
 *     ARGV  1 to 5 head, 6 N, then per operation paymasterId and member
 *
 * Commits that are not over, and records that name undeclared keys because they have changed, are left. Replies [done,
 * now, sequence, own writes, number of commits that were taken, number of those that were never finalized].
 */
const dropCommitsScript = script(
  `
${openChain}
local commits = tonumber(ARGV[6])
local keyOf = {}
local prefix = #KEYS[1] - 4
for i = 8 + commits, #KEYS do keyOf[string.sub(KEYS[i], prefix)] = KEYS[i] end
keyOf['commits'] = KEYS[5]
${declaresNames}
${addAmounts('KEYS[7]')}
${closeCommits}
local function lower(kind, held, signed)
  local stays = {}
  for i = 1, #signed, 2 do stays[signed[i]] = signed[i + 1] end
  for i = 1, #held, 2 do add(kind .. held[i], (stays[held[i]] or 0) - held[i + 1]) end
end

local due = {}
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', now, 'LIMIT', 0, ${mostDue})) do due[member] = true end
local dropped, unfinished = 0, 0
for i = 1, commits do
  local operation, paymasterId, member = KEYS[7 + i], ARGV[5 + 2 * i], ARGV[6 + 2 * i]
  if due[member] then
    local text = redis.call('HGET', operation, paymasterId)
    local record = text and cjson.decode(text)
    if not record or not record[11] then
      -- A release that does not know commits has rewritten or ended the reservation.
      redis.call('ZREM', KEYS[5], member)
      dropped = dropped + 1
    elseif keyOf[commitsOf(member)] and declares('c:', record[5]) and declares('p:', record[6])
      and declares('c:', record[8]) then
      local kept = record[11][4]
      local signed = kept ~= '' and cjson.decode(kept)
      if record[11][3] == 0 then unfinished = unfinished + 1 end
      lower('c:', record[5], signed and signed[5] or {})
      lower('c:', record[8], signed and signed[8] or {})
      lower('p:', record[6], signed and signed[6] or {})
      if signed then
        redis.call('HSET', operation, paymasterId, kept)
        redis.call('ZADD', KEYS[6], string.format('%d', signed[1]), member)
      else
        redis.call('HDEL', operation, paymasterId)
        redis.call('ZREM', KEYS[6], member)
      end
      closeCommit(member)
      dropped = dropped + 1
    end
  end
end
if dropped == 0 then return {${replies.done}, now, tonumber(head[3] or 0), 0, 0, 0} end
${closeChain}
return {${replies.done}, now, sequence, own, dropped, unfinished}
`,
  'allow-oom',
);

/** Frees what commits hold that are over by `now`, and answers how many of them were never finalized. */
export async function dropCommits(
  { link, chain, scripts }: Pick<StepDeps, 'link' | 'chain' | 'scripts'>,
  now: number,
): Promise<number> {
  // Also checks that the data are those of the epoch, so that an empty store is not mistaken for one without commits.
  await scripts.read([]);
  for (let unfinished = 0; ;) {
    const range = [chain.commits, '-inf', now, 'LIMIT', 0, perCall];
    const found = textsOf(await link.read('zrangebyscore', range));
    const members = found.filter((member) => member !== undefined);
    if (members.length === 0) return unfinished;
    const records = await readRecords(link, chain, members);
    const names = new Set<string>();
    for (const [i, record] of records.entries())
      if (record !== undefined) for (const name of keysOf(record, members[i]!)) names.add(name);
    const parts = members.map(splitMember);
    const keys = [
      chain.commits,
      chain.expiries,
      chain.accounts,
      ...parts.map(({ operation }) => `${chain.prefix}${kinds.operation}${operation}`),
      ...Array.from(names, (name) => `${chain.prefix}${name}`),
    ];
    const args = [members.length, ...parts.flatMap(({ paymasterId }, i) => [paymasterId, members[i]!])];
    const [, , , , dropped, more] = await scripts.run(dropCommitsScript, keys, args);
    // The rest changed meanwhile, or is over only by our clock.
    if (Number(dropped) === 0) return unfinished;
    unfinished += Number(more);
  }
}
