import type { Logger } from '../../../log.js';
import type { AddressKey } from '../../../units/address.js';
import type { EpochMs, EpochSeconds } from '../../../units/time.js';
import { gwei } from '../../../units/wei.js';
import { exposureCounter, liveCounter } from '../../../usage/counter-names.js';
import type { Mode, Reservation } from '../../../usage/usage-store.js';
import { never } from '../../../usage/window.js';
import { convertedOf, convertingOf } from './data-format.js';
import { counterName, kinds, parseAccountName, parseCounterName, type ChainKeys } from './keys.js';
import type { RedisLink } from './link.js';
import { allMembers, pages, readRecords } from './listing.js';
import { encodeReservation, pairs, parseReservation, splitMember } from './record.js';
import { listOf } from './reply.js';
import { graceMs } from './reserve-script.js';
import { convertRecordsScript, setCountersScript, writeEpochScript } from './scripts.js';

type Deps = {
  readonly link: RedisLink;
  readonly chain: ChainKeys;
  readonly imposedNow: () => EpochMs | 0;
  readonly log: Logger;
};
type Reading = Pick<Deps, 'link' | 'chain'> & { readonly now: number };
/** What live reservations have of each counter. */
type Sums = { readonly limits: Map<string, number>; readonly holds: Map<string, number> };

const perPage = 500;
/** Paymasters of token promises had a name of their own. */
const formerTokenOwner = '+ERC20';
const holdPrefixes = ['live:', 'share:', 'token-exposure:'];

/**
 * Converts the data of a chain from the first format, beside whose epoch `kept` stands. From its first step on versions of
 * that format refuse to sign, and those of this one wait; so the data stand still. Every step may be repeated and carried out
 * by several processes at once: what is written is what is, not what is added, and only while the conversion is under way.
 * It is also run after a roll-back, on data of both formats.
 *
 * - Reservations: what was signed is known by mode and contract only, and each holds one of the paymaster's live
 *   reservations; a token promise counts against the loss budget.
 * - Limits keep their counters. What of them is settled is what no live reservation holds.
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
  for (const [i, text] of texts.entries()) {
    if (text === undefined) continue;
    const member = members[i]!;
    const { operation, paymasterId } = splitMember(member);
    const isFormer = listOf(JSON.parse(text)).length === 6;
    const reservation = isFormer
      ? await formerReservation(reading, paymasterId, text)
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

/** [validUntil, contract, mode, funding wallet or "", [counter, cost, …], [account, need, …]] */
async function formerReservation(
  reading: Reading,
  paymasterId: string,
  text: string,
): Promise<Omit<Reservation, 'key'>> {
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
  const ends = await endsOf(
    reading,
    limits.map(([name]) => `${reading.chain.prefix}${kinds.counter}${name}`),
  );
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
    limits: limits.map(([name, cost], i) => ({ ...parseCounterName(name), until: ends[i]!, cost })),
    holds: [{ counter: liveCounter(owner), unit: 'COUNT', cost: 1 }, ...(mode === 'ERC20' ? [exposure] : [])],
    accounts: accounts.map(([name, need]) => ({ ...parseAccountName(name), need: gwei(need) })),
  };
}

/** Ends of the windows of counters, from how long Redis keeps them yet; 0 where one is gone. */
async function endsOf({ link, now }: Reading, keys: readonly string[]): Promise<readonly EpochMs[]> {
  const ttls = await Promise.all(keys.map(async (key) => Number(await link.read('pttl', [key]))));
  return ttls.map((ttl) => {
    if (ttl === -1) return never;
    return Math.max(0, ttl < 0 ? 0 : now + ttl - graceMs) as EpochMs;
  });
}

async function convertCounters(
  { link, chain }: Pick<Deps, 'link' | 'chain'>,
  converting: string,
  found: readonly string[],
  { limits, holds }: Sums,
): Promise<void> {
  for (const keys of pages(found, perPage)) {
    const values = listOf(await link.read('mget', keys));
    const ttls = await Promise.all(keys.map((key) => link.read('pttl', [key])));
    const written: string[] = [];
    const args: number[] = [];
    for (const [i, key] of keys.entries()) {
      const name = key.slice(chain.prefix.length + kinds.counter.length);
      if (holdPrefixes.some((prefix) => name.startsWith(prefix))) {
        // Left behind by a roll-back.
        if (!holds.has(name)) written.push(key);
        if (!holds.has(name)) args.push(0, 0);
        continue;
      }
      written.push(`${chain.prefix}${kinds.used}${name}`);
      args.push(Math.max(0, Number(values[i] ?? 0) - (limits.get(name) ?? 0)), Math.max(0, Number(ttls[i])));
    }
    if (written.length > 0)
      await link.run(setCountersScript, [chain.epoch, ...written], [converting, ...args], true);
  }
}

function add(sums: Map<string, number>, name: string, amount: number): void {
  sums.set(name, (sums.get(name) ?? 0) + amount);
}
