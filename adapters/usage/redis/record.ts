import { gwei } from '../../../core/units/wei.js';
import type { AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import type {
  Commit,
  FoldedPromises,
  Mode,
  Reservation,
  ReserveRequest,
  SignedPromise,
} from '../../../core/usage/usage-store.js';
import {
  accountName,
  counterName,
  kinds,
  parseAccountName,
  parseCounterName,
  parseOperationName,
  senderName,
} from './keys.js';

/**
 * A reservation as Redis keeps it, in JSON:
 *
 *     [0 validUntil, 1 contract, 2 mode, 3 funding wallet or "" (of its first promise),
 *      4 [counter, cost, …] of limits, 5 [account, need, …], 6 [until of each limit, …, id of its first record for the
 *      ledger, if there is one], 7 [counter, cost, …] of holds,
 *      8 [promise, …] the newest first, 9 [[mode, contract, prefundWei, validUntil], …] folded,
 *      10 [commitment, until, 1 when it is signed, else 0, the record without the commit as a text, or ""]]
 *
 * A promise is [digest, prefundWei, validUntil] if the rest equals elements 1 to 3 and it has no token, else [digest,
 * prefundWei, validUntil, mode, contract, funding wallet or "", token or "", operation hashes if there are any]. Amounts of wei are
 * texts.
 *
 * Elements 0 to 5 are those of the first data format, so that its versions can read the records after a roll-back.
 * Element 10 is there only while the reservation has a commit; element 0 is then at least the end of the commit. Versions that do
 * not know it leave it out when they write: the commit can then not be finalized, and what it held is held until the
 * reservation expires. The id is at the end of element 6 because versions that do not know it read only as many ends as
 * there are limits. The scripts read and write the same form, see merge.ts.
 */
export function encodeRecord(
  { promise, limits, holds, accounts, phase, record }: ReserveRequest,
  { limits: counters, holds: held, accounts: named }: Names,
): string {
  // Built by hand because it is written for every sponsorship.
  const { validUntil, contract, mode, fundingAddress = '', digest, token, prefundWei, hashes } = promise;
  let costs = '';
  let untils = '';
  for (let i = 0; i < limits.length; i++) {
    const comma = i === 0 ? '' : ',';
    costs += `${comma}${JSON.stringify(counters[i])},${limits[i]!.cost}`;
    untils += `${comma}${limits[i]!.window.until}`;
  }
  if (record !== undefined) untils += `${untils === '' ? '' : ','}${JSON.stringify(record.id)}`;
  let needs = '';
  for (let i = 0; i < accounts.length; i++)
    needs += `${i === 0 ? '' : ','}"${named[i]}",${accounts[i]!.need}`;
  let holdings = '';
  for (let i = 0; i < holds.length; i++)
    holdings += `${i === 0 ? '' : ','}${JSON.stringify(held[i])},${holds[i]!.cost}`;
  const isLong = token !== undefined || hashes !== undefined;
  const last = hashes === undefined ? '' : `,"${hashes}"`;
  const rest = isLong ? `,"${mode}","${contract}","${fundingAddress}","${token ?? ''}"${last}` : '';
  const isCommit = phase?.kind === 'commit';
  const signed = isCommit ? '' : `["${digest}","${prefundWei}",${validUntil}${rest}]`;
  return `[${validUntil},"${contract}","${mode}","${fundingAddress}",[${costs}],[${needs}],[${untils}],[${holdings}],[${signed}],[]]`;
}

/** A whole reservation in the same form. */
export function encodeReservation(reservation: Omit<Reservation, 'key'>): string {
  const { validUntil, limits, accounts, holds, promises, folded, recordId } = reservation;
  const first = promises.at(-1) ?? folded[0];
  return JSON.stringify([
    validUntil,
    first?.contract ?? '',
    first?.mode ?? 'SPONSORED',
    '',
    limits.flatMap((limit) => [counterName(limit), limit.cost]),
    accounts.flatMap((account) => [accountName(account), account.need]),
    [...limits.map(({ until }) => until), ...(recordId === undefined ? [] : [recordId])],
    holds.flatMap((hold) => [counterName(hold), hold.cost]),
    promises.map((one) => [
      one.digest,
      String(one.prefundWei),
      one.validUntil,
      one.mode,
      one.contract,
      one.fundingAddress ?? '',
      one.token ?? '',
      ...(one.hashes === undefined ? [] : [one.hashes]),
    ]),
    folded.map((one) => [one.mode, one.contract, String(one.prefundWei), one.validUntil]),
  ]);
}

/**
 * Parses a record to the port's reservation; `member` is its name in the expiry list. Throws RangeError for any other
 * text.
 */
export function parseReservation(chainId: number, member: string, text: string): Reservation {
  const { operation, paymasterId } = splitMember(member);
  const [validUntil, contract, mode, funding, limits, needs, untils, holds, promises, folded, commit] =
    listOf(JSON.parse(text));
  const ends = listOf(untils);
  const header = [modeOf(mode), textOf(contract), textOf(funding), ''];
  const costs = pairs(limits);
  const recordId = ends[costs.length];
  return {
    key: { chainId, paymasterId, ...parseOperationName(operation) },
    promises: listOf(promises).map((one) => parsePromise(listOf(one), header)),
    folded: listOf(folded).map((one) => parseFolded(listOf(one))),
    validUntil: numberOf(validUntil) as EpochSeconds,
    limits: costs.map(([name, cost], i) => ({
      ...parseCounterName(name),
      until: numberOf(ends[i]) as EpochMs,
      cost,
    })),
    holds: pairs(holds).map(([name, cost]) => ({ ...parseCounterName(name), cost })),
    accounts: pairs(needs).map(([name, need]) => ({ ...parseAccountName(name), need: gwei(need) })),
    ...(commit === undefined ? {} : { commit: parseCommit(chainId, member, listOf(commit)) }),
    ...(recordId === undefined ? {} : { recordId: textOf(recordId) }),
  };
}

function parseCommit(chainId: number, member: string, parts: readonly unknown[]): Commit {
  const [commitment, until, isSigned, without] = parts;
  const commit = {
    commitment: textOf(commitment) as Hex,
    until: numberOf(until) as EpochMs,
    isSigned: isSigned === 1,
  };
  if (textOf(without) === '') return commit;
  const { validUntil, limits, holds, accounts } = parseReservation(chainId, member, textOf(without));
  return { ...commit, signed: { validUntil, limits, holds, accounts } };
}

function parsePromise(one: readonly unknown[], header: readonly string[]): SignedPromise {
  const [digest, prefundWei, validUntil, ...own] = one;
  const [mode, contract, funding, token, hashes] = own.length > 0 ? own : header;
  return {
    digest: textOf(digest) as Hex,
    mode: modeOf(mode),
    contract: textOf(contract) as AddressKey,
    ...(textOf(funding) === '' ? {} : { fundingAddress: textOf(funding) as AddressKey }),
    ...(textOf(token) === '' ? {} : { token: textOf(token) as AddressKey }),
    prefundWei: BigInt(textOf(prefundWei)),
    validUntil: numberOf(validUntil) as EpochSeconds,
    ...(hashes === undefined ? {} : { hashes: textOf(hashes) as Hex }),
  };
}

function parseFolded([mode, contract, prefundWei, validUntil]: readonly unknown[]): FoldedPromises {
  return {
    mode: modeOf(mode),
    contract: textOf(contract) as AddressKey,
    prefundWei: BigInt(textOf(prefundWei)),
    validUntil: numberOf(validUntil) as EpochSeconds,
  };
}

/** Names of all keys that must be declared for a record to end, or to lose its commit. */
export function keysOf(text: string, member: string): readonly string[] {
  const { limits, holds, accounts } = namesOf(text);
  const [commit] = listOf(JSON.parse(text)).slice(10);
  const { operation, paymasterId } = splitMember(member);
  const sender = senderName({ chainId: 0, paymasterId, ...parseOperationName(operation) });
  return [
    ...limits.flatMap((name) => [`${kinds.counter}${name}`, `${kinds.used}${name}`]),
    ...holds.map((name) => `${kinds.counter}${name}`),
    ...accounts.flatMap((name) => [`${kinds.promised}${name}`, `${kinds.balance}${name}`]),
    ...(commit === undefined ? [] : ['commits', `${kinds.senderCommits}${sender}`]),
  ];
}

type Names = {
  readonly limits: readonly string[];
  readonly holds: readonly string[];
  readonly accounts: readonly string[];
};

/** Names of the keys in which a record holds an amount, by kind. */
export function namesOf(text: string): Names {
  // The first format has no holds.
  const [, , , , limits, needs, , holds = []] = listOf(JSON.parse(text));
  const firsts = (list: unknown) => pairs(list).map(([name]) => name);
  return { limits: firsts(limits), holds: firsts(holds), accounts: firsts(needs) };
}

/** Name of a reservation in the expiry list: OPERATION/PM. */
export function memberOf(operation: string, paymasterId: string): string {
  return `${operation}/${paymasterId}`;
}

/** The three parts of an operation's name contain no slash. */
export function splitMember(member: string): { readonly operation: string; readonly paymasterId: string } {
  let end = -1;
  for (let part = 0; part < 3; part++) end = member.indexOf('/', end + 1);
  return { operation: member.slice(0, end), paymasterId: member.slice(end + 1) };
}

/** Field of an operation's hash in which the first data format kept a signed hash. */
export function isFormerHashField(field: string): boolean {
  return field.endsWith('/hash');
}

export function pairs(list: unknown): (readonly [string, number])[] {
  const values = listOf(list);
  const found: (readonly [string, number])[] = [];
  for (let i = 0; i + 1 < values.length; i += 2) found.push([textOf(values[i]), numberOf(values[i + 1])]);
  return found;
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  throw foreign();
}

function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  throw foreign();
}

function numberOf(value: unknown): number {
  if (typeof value === 'number') return value;
  throw foreign();
}

function modeOf(value: unknown): Mode {
  if (value === 'SPONSORED' || value === 'ERC20') return value;
  throw foreign();
}

function foreign(): RangeError {
  return new RangeError('a reservation in Redis is not one of this service');
}
