import { DomainError } from '../../../errors.js';
import type { Cursor, FollowerStep } from '../../../policy/usage-store.js';
import type { EpochMs } from '../../../units/time.js';
import { accountName, kinds, operationName, unitOfCounter, type ChainKeys } from './keys.js';
import type { RedisLink } from './link.js';
import { pages, readRecord } from './listing.js';
import { hashField, memberOf, parseRecord, splitMember } from './record.js';
import { listOf } from './reply.js';
import { advanceScript } from './scripts.js';

/** A reservation may be raised while it is settled; it is then read again. */
const mostAttempts = 5;
const perPage = 500;

type Context = {
  readonly step: FollowerStep;
  readonly epoch: string;
  readonly imposedNow: EpochMs | 0;
  readonly cursorText: (cursor: Cursor | undefined) => string;
  readonly sha1: (text: string) => string;
};

/** A reservation that ends with the step, as it was read. */
type Ended = { readonly member: string; readonly record: string };

/** What the step adds to each counter and to each account's promised sum. */
type Sums = {
  readonly ended: readonly Ended[];
  readonly counters: ReadonlyMap<string, number>;
  readonly promised: ReadonlyMap<string, number>;
};

/**
 * One step of the follower. What it ends is read first, so that every key that the script touches is declared; the
 * script takes the step only if these records still are as they were read. Undefined: another epoch.
 */
export async function advance(
  link: RedisLink,
  chain: ChainKeys,
  context: Context,
): Promise<boolean | undefined> {
  for (let attempt = 1; attempt <= mostAttempts; attempt++) {
    const sums = await gather(link, chain, context.step);
    const { keys, args } = stepCall(chain, context, sums);
    const reply = await link.run(advanceScript, keys, args, true);
    const [code] = listOf(reply);
    if (code === 7) return undefined;
    if (code === 0 || code === 1) return code === 1;
  }
  throw new DomainError('UNAVAILABLE', 'reservations changed faster than they could be settled', {
    reason: 'USAGE_STORE_BUSY',
    retryAfterSeconds: 1,
  });
}

async function gather(link: RedisLink, chain: ChainKeys, step: FollowerStep): Promise<Sums> {
  const members = new Set<string>();
  for (const { key } of [...step.settled, ...step.released])
    members.add(memberOf(operationName(key), key.paymasterId));
  const records = new Map<string, string>();
  for (const page of pages([...members], perPage)) {
    const found = await Promise.all(page.map((member) => readRecord(link, chain, member)));
    for (const [i, [record]] of found.entries()) if (record !== undefined) records.set(page[i]!, record);
  }

  const counters = new Map<string, number>();
  const promised = new Map<string, number>();
  const ended: Ended[] = [];
  const end = (member: string, actualCost: number | undefined): void => {
    const record = records.get(member)!;
    const { costs, needs } = parseRecord(record);
    for (const [name, cost] of costs) {
      // A mined operation counts as one, whatever it cost.
      const stays = actualCost === undefined ? 0 : unitOfCounter(name) === 'COUNT' ? cost : actualCost;
      if (stays !== cost) counters.set(name, (counters.get(name) ?? 0) + stays - cost);
    }
    for (const [name, need] of needs) promised.set(name, (promised.get(name) ?? 0) - need);
    ended.push({ member, record });
    records.delete(member);
  };
  for (const { key, actualCost } of step.settled) {
    const member = memberOf(operationName(key), key.paymasterId);
    if (records.has(member)) end(member, actualCost);
  }
  for (const { key, validUntil } of step.released) {
    const member = memberOf(operationName(key), key.paymasterId);
    const record = records.get(member);
    if (record !== undefined && parseRecord(record).validUntil <= validUntil) end(member, undefined);
  }
  return { ended, counters, promised };
}

function stepCall(
  chain: ChainKeys,
  { step, epoch, imposedNow, cursorText, sha1 }: Context,
  { ended, counters, promised }: Sums,
): { readonly keys: readonly string[]; readonly args: readonly (string | number)[] } {
  const keyOf = (kind: keyof typeof kinds) => (name: string) => `${chain.prefix}${kinds[kind]}${name}`;
  const balances = step.balances.map((account) => ({ ...account, name: accountName(account) }));
  const operations = ended.map(({ member, record }) => ({ ...splitMember(member), member, record }));
  const keys = [
    chain.epoch,
    chain.cursor,
    chain.seen,
    chain.expiries,
    chain.accounts,
    ...balances.map(({ name }) => keyOf('balance')(name)),
    ...Array.from(promised.keys(), keyOf('promised')),
    ...Array.from(counters.keys(), keyOf('counter')),
    ...operations.map(({ operation }) => keyOf('operation')(operation)),
  ];
  const args = [
    imposedNow,
    epoch,
    cursorText(step.expected),
    cursorText(step.next),
    balances.length,
    promised.size,
    counters.size,
    ...balances.flatMap(({ name, balance, readAt }) => [name, `${balance}:${readAt}`]),
    ...promised.values(),
    ...counters.values(),
    ...operations.flatMap(({ paymasterId, member, record }) => [
      paymasterId,
      hashField(paymasterId),
      sha1(record),
      member,
    ]),
  ];
  return { keys, args };
}
