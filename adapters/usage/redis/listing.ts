import type { Reservation, ReservationQuery } from '../../../core/usage/usage-store.js';
import { kinds, operationName, type ChainKeys } from './keys.js';
import type { RedisLink } from '../../redis/link.js';
import { listOf, textOf, textsOf } from '../../redis/reply.js';
import { readRecordsScript } from './scripts.js';
import { isFormerHashField, memberOf, parseReservation, splitMember } from './record.js';

/** Reservations that are read together, so that no single command blocks Redis for long. */
const perPage = 500;

/**
 * Live reservations of a chain. They are read piece by piece, not as of one moment: `advance` checks that the
 * reservations it changes have not changed since.
 */
export async function listReservations(
  link: RedisLink,
  chain: ChainKeys,
  chainId: number,
  query: ReservationQuery | undefined,
): Promise<readonly Reservation[]> {
  const members = query === undefined ? await allMembers(link, chain) : await membersOf(link, chain, query);
  const found: Reservation[] = [];
  for (const page of pages(members, perPage)) {
    const records = await readRecords(link, chain, page);
    for (const [i, text] of records.entries())
      // Settled since it was listed.
      if (text !== undefined) found.push(parseReservation(chainId, page[i]!, text));
  }
  return found;
}

/** The records of members of the expiry list, one page at most; undefined for a member without a record. */
export async function readRecords(
  link: RedisLink,
  chain: ChainKeys,
  members: readonly string[],
): Promise<readonly (string | undefined)[]> {
  if (members.length === 0) return [];
  const parts = members.map(splitMember);
  const keys = parts.map(({ operation }) => `${chain.prefix}${kinds.operation}${operation}`);
  const fields = parts.map(({ paymasterId }) => paymasterId);
  return textsOf(await link.run(readRecordsScript, keys, fields, false));
}

export function* pages<T>(list: readonly T[], size: number): Generator<readonly T[]> {
  for (let from = 0; from < list.length; from += size) yield list.slice(from, from + size);
}

export async function allMembers(link: RedisLink, chain: ChainKeys): Promise<readonly string[]> {
  const members = new Set<string>();
  let cursor = '0';
  do {
    const reply = await link.read('zscan', [chain.expiries, cursor, 'COUNT', perPage]);
    const [next, entries] = listOf(reply);
    // Members and scores alternate; a member may occur twice.
    for (const [i, entry] of textsOf(entries).entries())
      if (i % 2 === 0 && entry !== undefined) members.add(entry);
    cursor = textOf(next) ?? '0';
  } while (cursor !== '0');
  return [...members];
}

async function membersOf(
  link: RedisLink,
  chain: ChainKeys,
  { operations, expiredBefore, limit }: ReservationQuery,
): Promise<readonly string[]> {
  const members = new Set<string>();
  if (limit > 0) {
    const range = [chain.expiries, '-inf', `(${expiredBefore}`, 'LIMIT', 0, limit];
    for (const member of textsOf(await link.read('zrangebyscore', range)))
      if (member !== undefined) members.add(member);
  }
  for (const page of pages(operations, perPage)) {
    const names = page.map(operationName);
    const fields = await Promise.all(
      names.map((name) => link.read('hkeys', [`${chain.prefix}${kinds.operation}${name}`])),
    );
    for (const [i, name] of names.entries())
      for (const field of textsOf(fields[i]))
        if (field !== undefined && !isFormerHashField(field)) members.add(memberOf(name, field));
  }
  return [...members];
}
