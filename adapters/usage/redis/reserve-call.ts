import { DomainError } from '../../../core/errors.js';
import { ledgerFull } from '../../../core/ledger/full.js';
import { formatLines } from '../../../core/ledger/record-lines.js';
import { depositUnknown } from '../../../core/usage/decide.js';
import { gwei } from '../../../core/units/wei.js';
import type { EpochMs } from '../../../core/units/time.js';
import type {
  AccountBalance,
  AccountId,
  AddedRecord,
  HoldShare,
  PeekResult,
  ReserveRequest,
  ReserveResult,
} from '../../../core/usage/usage-store.js';
import { accountName, counterName, kinds, operationName, senderName, type ChainKeys } from './keys.js';
import { encodeRecord } from './record.js';
import { listOf } from '../../redis/reply.js';
import { replies } from './script.js';

/** A call of the reserve script or of the peek script. */
export type ScriptCall = {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
};

/** First arguments of a script on a chain; see script.ts. */
export type HeadArgs = readonly [imposedNow: number, epoch: string, seen: number, own: number, isKept: 0 | 1];

/** Keys and terms of one request, for the script that decides it together with others. */
export type RequestPart = {
  readonly request: ReserveRequest;
  /** Key of the operation, and the other keys, without the prefix of the chain: many of them are the same as others'. */
  readonly operation: string;
  readonly keys: readonly string[];
  /** JSON without the brackets. The number of the limit whose usage is lost is put in front. */
  readonly terms: string;
  readonly record: string;
  /** Of the ledger. */
  readonly added: ReserveRequest['record'];
};

/** Room for records of the ledger on a chain. `signs`: without room a promise is made all the same, and counted. */
export type LedgerRoom = { readonly bytes: number; readonly signs: boolean };

type CallTerms = {
  readonly chain: ChainKeys;
  readonly head: HeadArgs;
  readonly lost: readonly number[];
  readonly room: LedgerRoom;
};

/** One call for several requests; see reserve-script.ts. Windows that began before `since` have lost their usage. */
export function reserveCall(
  parts: readonly Omit<RequestPart, 'request'>[],
  { chain, head, lost, room }: CallTerms,
): ScriptCall {
  const keys: string[] = [...chain.head, chain.expiries];
  for (const { operation } of parts) keys.push(chain.prefix + operation);
  const places = new Map<string, number>();
  const args: (string | number)[] = [...head, ''];
  let terms = `[${parts.length}`;
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!;
    args.push(part.record);
    terms += `,${lost[i]},${part.terms}`;
    for (const key of part.keys) {
      let place = places.get(key);
      if (place === undefined) {
        place = places.size + 1;
        places.set(key, place);
        keys.push(chain.prefix + key);
      }
      terms += `,${place}`;
    }
  }
  args[head.length] = `${terms}]`;
  if (parts.some(({ added }) => added !== undefined)) {
    keys.push(...chain.ledger);
    const records: AddedRecord[] = [];
    for (const { added } of parts) if (added !== undefined) records.push({ ...added, reservation: added.id });
    args.push(room.bytes, room.signs ? 1 : 0, formatLines(records));
    for (const { added } of parts) args.push(added?.id ?? '');
  }
  return { keys, args };
}

/** Number (from 1) of the first limit whose window began before `since`, so that its usage is lost; 0: none. */
export function firstLost({ limits }: ReserveRequest, since: EpochMs): number {
  return limits.findIndex(({ enforce, window }) => enforce && window.from < since) + 1;
}

/** `isReal`: for the script that reserves. Throws INTERNAL for a request that names a counter or an account twice. */
export function requestPart(request: ReserveRequest, isReal: boolean): RequestPart {
  const { key, promise, fences, bars, limits, holds, accounts, phase } = request;
  let uses = isReal ? 0 : limits.length;
  for (const { plusUsed } of holds) if (plusUsed !== undefined) uses += plusUsed.length;
  // One list and one text, filled in order, because this runs for every sponsorship.
  const keys: string[] = [];
  let terms = '';

  let from = 0;
  let until = Number.MAX_SAFE_INTEGER;
  for (const { id, generation } of fences) {
    keys.push(kinds.generation + id);
    terms += `,${generation}`;
  }
  for (const bar of bars) {
    if (bar.window.from > from) from = bar.window.from;
    if (bar.window.until < until) until = bar.window.until;
    keys.push(kinds.used + counterName(bar));
    terms += `,${bar.most}`;
  }
  const counters: string[] = [];
  for (let i = 0; i < limits.length; i++) {
    const { window, enforce, threshold, cost } = limits[i]!;
    if (window.from > from) from = window.from;
    if (window.until < until) until = window.until;
    const name = counterName(limits[i]!);
    if (counters.includes(name)) throw listedTwice(name);
    counters.push(name);
    keys.push(kinds.counter + name);
    terms += `,${enforce ? threshold : -1},${cost},${window.until}`;
  }
  const held: string[] = [];
  for (const hold of holds) {
    const name = counterName(hold);
    if (counters.includes(name) || held.includes(name)) throw listedTwice(name);
    held.push(name);
    keys.push(kinds.counter + name);
    terms += `,${hold.cost},${thresholdTerm(hold, accounts.length)},${hold.plusUsed?.length ?? 0},${hold.admitsOneAlone === true ? 1 : 0}`;
  }
  for (const { plusUsed, unit } of holds)
    if (plusUsed !== undefined)
      for (const counter of plusUsed) keys.push(kinds.used + counterName({ counter, unit }));
  if (!isReal) for (const name of counters) keys.push(kinds.used + name);
  const named: string[] = [];
  for (const account of accounts) {
    const name = accountName(account);
    if (named.includes(name)) throw listedTwice(name);
    named.push(name);
    keys.push(kinds.balance + name, kinds.promised + name);
    terms += `,${account.need}`;
  }
  let phaseTerm = '0';
  if (phase !== undefined) {
    keys.push(kinds.senderCommits + senderName(key), 'commits');
    const kind = phase.kind === 'commit' ? 1 : 2;
    phaseTerm = `[${kind},${JSON.stringify(phase.commitment)},"${key.nonce.toString(16)}","${promise.digest}"]`;
  }
  const counts = `${fences.length},${bars.length},${limits.length},${holds.length},${uses},${accounts.length}`;
  return {
    request,
    operation: kinds.operation + operationName(key),
    keys,
    terms: `${from},${until},${request.depositMaxAgeMs},${JSON.stringify(key.paymasterId)},${counts},"${promise.validUntil}",${phaseTerm}${terms}`,
    record: isReal ? encodeRecord(request, { limits: counters, holds: held, accounts: named }) : '',
    added: isReal ? request.record : undefined,
  };
}

function thresholdTerm({ threshold }: HoldShare, accounts: number): string | number {
  if (typeof threshold === 'number') return threshold;
  if (threshold.account >= accounts)
    throw new DomainError('INTERNAL', `a hold is a share of account ${threshold.account} of ${accounts}`);
  return `[${threshold.account + 1},${threshold.percent}]`;
}

/** Two shares of one counter would each be checked without the other. */
function listedTwice(name: string): DomainError {
  return new DomainError('INTERNAL', `a reservation names ${name} twice`);
}

/** Throws UNAVAILABLE when a request could not be decided; then nothing was reserved. */
export function requireDecided(reply: readonly unknown[]): void {
  if (reply[0] !== replies.failed) return;
  throw new DomainError('UNAVAILABLE', 'the usage store cannot decide this request', {
    reason: 'USAGE_STORE_DOWN',
    retryAfterSeconds: 1,
    cause: new Error(String(reply[1])),
  });
}

/**
 * The script's decision. Throws UNAVAILABLE when a deposit is not known well enough, or the ledger has no room. Undefined when the answer is not a
 * verdict of the script.
 */
export function readVerdict(
  request: ReserveRequest,
  { verdict, now }: { readonly verdict: readonly unknown[]; readonly now: EpochMs },
): ReserveResult | undefined {
  const index = Number(verdict[1]);
  switch (Number(verdict[0])) {
    case replies.done:
      return reservedWith(request, verdict);
    case replies.turned:
      return { outcome: 'turned', now };
    case replies.suspended:
      return { outcome: 'suspended', id: request.fences[index]!.id };
    case replies.stale:
      return { outcome: 'stale', id: request.fences[index]!.id };
    case replies.barred:
      return { outcome: 'barred', index, used: Number(verdict[2]) };
    case replies.limit:
      return { outcome: 'limit', index, used: Number(verdict[2]) };
    case replies.usageLost:
      return { outcome: 'usage-lost', index };
    case replies.held:
      return { outcome: 'held', index, taken: Number(verdict[2]), most: Number(verdict[3]) };
    case replies.deposit:
      return { outcome: 'deposit', index, balance: Number(verdict[2]), reserved: Number(verdict[3]) };
    case replies.ledgerFull:
      throw ledgerFull();
    case replies.notCommitted:
      return { outcome: 'not-committed' };
    case replies.depositUnknown:
      throw depositUnknown(
        request.accounts[index]!,
        verdict[2] === 1 ? 'was read too long ago' : 'was never read',
      );
    default:
      return undefined;
  }
}

/** The reply to a peek, whose first element has been read already. */
export function readPeek(
  request: ReserveRequest,
  result: ReserveResult,
  [, limits, holds, accounts]: readonly unknown[],
): PeekResult {
  const [ofLimits, ofHolds, ofAccounts] = [limits, holds, accounts].map(listOf);
  return {
    result,
    limits: request.limits.map((_, i) => ({
      used: Number(ofLimits![2 * i]),
      reserved: Number(ofLimits![2 * i + 1]),
    })),
    holds: request.holds.map((_, i) => ({
      taken: Number(ofHolds![2 * i]),
      most: Number(ofHolds![2 * i + 1]),
    })),
    accounts: request.accounts.map(({ contract, fundingAddress }, i) =>
      balanceOf(
        fundingAddress === undefined ? { contract } : { contract, fundingAddress },
        ofAccounts![2 * i],
        ofAccounts![2 * i + 1],
      ),
    ),
  };
}

/** An account from its texts in Redis: "balance:readAt" or nothing, and the promised sum. */
export function balanceOf(account: AccountId, balance: unknown, promised: unknown): AccountBalance {
  const [amount, readAt] = typeof balance === 'string' && balance !== '' ? balance.split(':') : [];
  return {
    ...account,
    balance: amount === undefined ? undefined : gwei(Number(amount)),
    reserved: gwei(Number(promised ?? 0)),
    readAt: readAt === undefined ? undefined : (Number(readAt) as EpochMs),
  };
}

/** The amount taken of a limit after a reservation, including this one. */
export function takenOf(verdict: readonly unknown[], limit: number): number {
  return Number(verdict[1 + limit]);
}

function reservedWith({ limits }: ReserveRequest, verdict: readonly unknown[]): ReserveResult {
  let over: number[] | undefined;
  for (let i = 0; i < limits.length; i++)
    if (!limits[i]!.enforce && takenOf(verdict, i) > limits[i]!.threshold) (over ??= []).push(i);
  return over === undefined ? reserved : { outcome: 'reserved', over };
}

const reserved: ReserveResult = Object.freeze({ outcome: 'reserved' });
