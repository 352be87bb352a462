import type { Logger } from '../../../core/log.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { exposureCounter, liveCounter } from '../../../core/usage/counter-names.js';
import type { Mode, Reservation } from '../../../core/usage/usage-store.js';
import { never } from '../../../core/usage/window.js';
import { convertedOf, convertingOf } from './data-format.js';
import { counterName, kinds, parseAccountName, parseCounterName, type ChainKeys } from './keys.js';
import type { RedisLink } from '../../redis/link.js';
import { allMembers, pages, readRecords } from './listing.js';
import { encodeReservation, namesOf, pairs, parseReservation, splitMember } from './record.js';
import { listOf } from '../../redis/reply.js';
import { graceMs } from './reserve-script.js';
import { convertRecordsScript, readTtlsScript, setCountersScript, writeEpochScript } from './scripts.js';

type Deps = {
  readonly link: RedisLink;
  readonly chain: ChainKeys;
  readonly imposedNow: () => EpochMs | 0;
  readonly log: Logger;
};
type Reading = Pick<Deps, 'link' | 'chain'> & { readonly now: number };
/** The sum of the live reservations by counter. */
type Sums = { readonly limits: Map<string, number>; readonly holds: Map<string, number> };

const perPage = 500;
/** Elements of a record of the first format. */
const formerLength = 6;
/** Paymasters of token promises had a special name. */
const formerTokenOwner = '+ERC20';
const holdPrefixes = ['live:', 'share:', 'token-exposure:'];

/**
 * Converts the data of a chain from the first format; `kept` is the stored text of its epoch. From the first step on,
 * versions of that format refuse to sign and versions of this format wait, so the data do not change. Several processes
 * may run every step, also repeatedly: a step writes values, never differences, and only while the conversion runs. The
 * conversion also runs after a roll-back, on data of both formats.
 *
 * - Reservations: of each promise only mode and contract are known, and each reservation counts as one live reservation
 *   of its paymaster. A token promise counts against the loss budget.
 * - Limits keep their counters. The part that no live reservation holds counts as settled.
 */
export async function convertChain({ link, chain, imposedNow, log }: Deps, kept: string): Promise<void> {
  const converting = convertingOf(kept);
  const epochKeys = [chain.epoch, chain.head[2], chain.longestExpiry];
  const begun = listOf(await link.run(writeEpochScript, epochKeys, [imposedNow(), kept, converting], true));
  const now = Number(begun[3]);
  log.info('converting usage data', { chain: chain.prefix });
  const sums: Sums = { limits: new Map(), holds: new Map() };
  const members = await allMembers(link, chain);
  for (const page of pages(members, perPage))
    await convertRecords({ link, chain, now }, converting, page, sums);
  for await (const names of link.scan(`${chain.prefix}${kinds.counter}`))
    await convertCounters({ link, chain }, converting, names, sums);
  const holds = Array.from(sums.holds, ([name, sum]) => ({
    key: `${chain.prefix}${kinds.counter}${name}`,
    sum,
  }));
  for (const page of pages(holds, perPage)) {
    const keys = page.map(({ key }) => key);
    const values = page.flatMap(({ sum }) => [sum, 0]);
    await link.run(setCountersScript, [chain.epoch, ...keys], [converting, ...values], true);
  }
  await link.run(writeEpochScript, epochKeys, [now, converting, convertedOf(converting)], true);
  log.info('usage data are converted', { chain: chain.prefix, reservations: members.length });
}

async function convertRecords(
  reading: Reading,
  converting: string,
  members: readonly string[],
  sums: Sums,
): Promise<void> {
  const { link, chain } = reading;
  const texts = await readRecords(link, chain, members);
  const keys: string[] = [];
  const args: string[] = [];
  const ends = await formerEnds(reading, texts);
  for (const [i, text] of texts.entries()) {
    if (text === undefined) continue;
    const member = members[i]!;
    const { operation, paymasterId } = splitMember(member);
    const isFormer = isOfFirstFormat(text);
    const reservation = isFormer
      ? formerReservation(paymasterId, text, ends)
      : parseReservation(0, member, text);
    for (const limit of reservation.limits) add(sums.limits, counterName(limit), limit.cost);
    for (const hold of reservation.holds) add(sums.holds, counterName(hold), hold.cost);
    if (!isFormer) continue;
    keys.push(`${chain.prefix}${kinds.operation}${operation}`);
    args.push(paymasterId, encodeReservation(reservation));
  }
  if (keys.length > 0)
    await link.run(convertRecordsScript, [chain.epoch, ...keys], [converting, ...args], true);
}

function isOfFirstFormat(text: string): boolean {
  return listOf(JSON.parse(text)).length === formerLength;
}

/** The end of the window of each counter: limits of records of the first format do not contain it. */
async function formerEnds(
  { link, chain, now }: Reading,
  texts: readonly (string | undefined)[],
): Promise<ReadonlyMap<string, EpochMs>> {
  const formers = texts.filter((text) => text !== undefined && isOfFirstFormat(text));
  const names = [...new Set(formers.flatMap((text) => namesOf(text!).limits))];
  const ends = new Map<string, EpochMs>();
  for (const page of pages(names, perPage)) {
    const ttls = await ttlsOf(
      link,
      page.map((name) => `${chain.prefix}${kinds.counter}${name}`),
    );
    for (const [i, name] of page.entries()) ends.set(name, endOf(now, ttls[i]!));
  }
  return ends;
}

/** A record of the first format: [validUntil, contract, mode, funding wallet or "", [counter, cost, …], [account, need, …]] */
function formerReservation(
  paymasterId: string,
  text: string,
  ends: ReadonlyMap<string, EpochMs>,
): Omit<Reservation, 'key'> {
  const [validUntil, contract, mode, , costs, needs] = JSON.parse(text) as [
    EpochSeconds,
    AddressKey,
    Mode,
    string,
    unknown,
    unknown,
  ];
  // Counters of losses were limits of which nothing was reserved.
  const limits = pairs(costs).filter(([, cost]) => cost > 0);
  const accounts = pairs(needs);
  const prefund = Math.max(
    ...accounts.filter(([name]) => name === `${contract}/`).map(([, need]) => need),
    ...(accounts.some(([name]) => name === `${contract}/`) ? [] : accounts.map(([, need]) => need)),
    0,
  );
  const owner = paymasterId.endsWith(formerTokenOwner)
    ? paymasterId.slice(0, -formerTokenOwner.length)
    : paymasterId;
  const exposure = {
    counter: exposureCounter(contract, 'all'),
    unit: 'NATIVE_ASSET',
    cost: prefund,
  } as const;
  return {
    promises: [],
    folded: [{ mode, contract, prefundWei: BigInt(prefund) * 1_000_000_000n, validUntil }],
    validUntil,
    limits: limits.map(([name, cost]) => ({ ...parseCounterName(name), until: ends.get(name)!, cost })),
    holds: [{ counter: liveCounter(owner), unit: 'COUNT', cost: 1 }, ...(mode === 'ERC20' ? [exposure] : [])],
    accounts: accounts.map(([name, need]) => ({ ...parseAccountName(name), need: gwei(need) })),
  };
}

/** The end of a counter's window, computed from its remaining lifetime in Redis; 0 when the counter is gone. */
function endOf(now: number, ttl: number): EpochMs {
  if (ttl === -1) return never;
  return Math.max(0, ttl < 0 ? 0 : now + ttl - graceMs) as EpochMs;
}

async function ttlsOf(link: RedisLink, keys: readonly string[]): Promise<readonly number[]> {
  if (keys.length === 0) return [];
  return listOf(await link.run(readTtlsScript, keys, [], false)).map(Number);
}

async function convertCounters(
  { link, chain }: Pick<Deps, 'link' | 'chain'>,
  converting: string,
  found: readonly string[],
  { limits, holds }: Sums,
): Promise<void> {
  for (const keys of pages(found, perPage)) {
    const values = listOf(await link.read('mget', keys));
    const ttls = await ttlsOf(link, keys);
    const written: string[] = [];
    const args: number[] = [];
    for (const [i, key] of keys.entries()) {
      const name = key.slice(chain.prefix.length + kinds.counter.length);
      if (holdPrefixes.some((prefix) => name.startsWith(prefix))) {
        // Left over from a roll-back.
        if (!holds.has(name)) written.push(key);
        if (!holds.has(name)) args.push(0, 0);
        continue;
      }
      written.push(`${chain.prefix}${kinds.used}${name}`);
      args.push(Math.max(0, Number(values[i] ?? 0) - (limits.get(name) ?? 0)), Math.max(0, ttls[i]!));
    }
    if (written.length > 0)
      await link.run(setCountersScript, [chain.epoch, ...written], [converting, ...args], true);
  }
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}
