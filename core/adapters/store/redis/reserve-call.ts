import { DomainError } from '../../../errors.js';
import { gwei } from '../../../units/wei.js';
import type { EpochMs } from '../../../units/time.js';
import type {
  AccountBalance,
  AccountId,
  HoldShare,
  PeekResult,
  ReserveRequest,
  ReserveResult,
} from '../../../usage/usage-store.js';
import { accountName, counterName, kinds, operationName, type ChainKeys } from './keys.js';
import { encodeRecord, memberOf } from './record.js';
import { listOf } from './reply.js';
import { replies } from './script.js';

/** A call of the reserve script, or of the one that peeks. */
export type ScriptCall = {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
};

/** First arguments of a script on a chain; see script.ts. */
export type HeadArgs = readonly [imposedNow: number, epoch: string, seen: number, own: number, isKept: 0 | 1];

export function reserveCall(
  request: ReserveRequest,
  context: {
    readonly chain: ChainKeys;
    readonly head: HeadArgs;
    /** Windows that began before this moment have lost their usage. */
    readonly since: EpochMs;
  },
  isReal: boolean,
): ScriptCall {
  const { chain, head } = context;
  const { prefix } = chain;
  const { key, promise, fences, bars, limits, holds, accounts } = request;
  const operation = operationName(key);
  // One list each, filled in order: this is done for every sponsorship.
  const keys: string[] = [chain.head[0], chain.head[1], chain.head[2], chain.head[3]];
  const args: (string | number)[] = [head[0], head[1], head[2], head[3], head[4], 0, 0, 0];
  args.push(request.depositMaxAgeMs, key.paymasterId, fences.length, bars.length, limits.length);
  let uses = isReal ? 0 : limits.length;
  for (const { plusUsed } of holds) if (plusUsed !== undefined) uses += plusUsed.length;
  args.push(holds.length, uses);

  let from = 0;
  let until = Number.MAX_SAFE_INTEGER;
  let lost = 0;
  for (const { id, generation } of fences) {
    keys.push(`${prefix}${kinds.generation}${id}`);
    args.push(generation);
  }
  for (const bar of bars) {
    if (bar.window.from > from) from = bar.window.from;
    if (bar.window.until < until) until = bar.window.until;
    keys.push(`${prefix}${kinds.used}${counterName(bar)}`);
    args.push(bar.most);
  }
  const counters: string[] = [];
  for (let i = 0; i < limits.length; i++) {
    const { window, enforce, threshold, cost } = limits[i]!;
    if (window.from > from) from = window.from;
    if (window.until < until) until = window.until;
    if (lost === 0 && enforce && window.from < context.since) lost = i + 1;
    const name = counterName(limits[i]!);
    if (counters.includes(name)) throw listedTwice(name);
    counters.push(name);
    keys.push(`${prefix}${kinds.counter}${name}`);
    args.push(enforce ? threshold : -1, cost, window.until);
  }
  const held: string[] = [];
  for (const hold of holds) {
    const name = counterName(hold);
    if (counters.includes(name) || held.includes(name)) throw listedTwice(name);
    held.push(name);
    keys.push(`${prefix}${kinds.counter}${name}`);
    args.push(hold.cost, thresholdTerm(hold, accounts.length), hold.plusUsed?.length ?? 0);
    args.push(hold.admitsOneAlone === true ? 1 : 0);
  }
  for (const { plusUsed, unit } of holds)
    if (plusUsed !== undefined)
      for (const counter of plusUsed) keys.push(`${prefix}${kinds.used}${counterName({ counter, unit })}`);
  if (!isReal) for (const name of counters) keys.push(`${prefix}${kinds.used}${name}`);
  const named: string[] = [];
  for (const account of accounts) {
    const name = accountName(account);
    if (named.includes(name)) throw listedTwice(name);
    named.push(name);
    keys.push(`${prefix}${kinds.balance}${name}`, `${prefix}${kinds.promised}${name}`);
    args.push(account.need);
  }
  keys.push(`${prefix}${kinds.operation}${operation}`, chain.expiries);
  args[5] = from;
  args[6] = until;
  args[7] = lost;
  if (isReal) {
    const record = encodeRecord(request, { counters, held });
    args.push(promise.validUntil, memberOf(operation, key.paymasterId), record);
  }
  return { keys, args };
}

function thresholdTerm({ threshold }: HoldShare, accounts: number): string | number {
  if (typeof threshold === 'number') return threshold;
  if (threshold.account >= accounts)
    throw new DomainError('INTERNAL', `a hold is a share of account ${threshold.account} of ${accounts}`);
  return `${threshold.account + 1}@${threshold.percent}`;
}

/** Two shares of one counter would each be judged without the other. */
function listedTwice(name: string): DomainError {
  return new DomainError('INTERNAL', `a reservation names ${name} twice`);
}

/**
 * What the script decided. Throws UNAVAILABLE where a deposit is not known well enough; undefined where the answer is
 * about the store, or not one of its own.
 */
export function readVerdict(request: ReserveRequest, reply: readonly unknown[]): ReserveResult | undefined {
  const index = Number(reply[3]);
  switch (Number(reply[0])) {
    case replies.done:
      return reservedWith(request, reply);
    case replies.turned:
      return { outcome: 'turned', now: Number(reply[1]) as EpochMs };
    case replies.suspended:
      return { outcome: 'suspended', id: request.fences[index]!.id };
    case replies.stale:
      return { outcome: 'stale', id: request.fences[index]!.id };
    case replies.barred:
      return { outcome: 'barred', index, used: Number(reply[4]) };
    case replies.limit:
      return { outcome: 'limit', index, used: Number(reply[4]) };
    case replies.usageLost:
      return { outcome: 'usage-lost', index };
    case replies.held:
      return { outcome: 'held', index, taken: Number(reply[4]), most: Number(reply[5]) };
    case replies.deposit:
      return { outcome: 'deposit', index, balance: Number(reply[4]), reserved: Number(reply[5]) };
    case replies.depositUnknown:
      throw depositUnknown(
        request.accounts[index]!,
        reply[4] === 1 ? 'was read too long ago' : 'was never read',
      );
    default:
      return undefined;
  }
}

/** The reply to a peek, of which the first element was read already. */
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

/** An account as Redis keeps it: "balance:readAt", or nothing, and what is promised. */
export function balanceOf(account: AccountId, balance: unknown, promised: unknown): AccountBalance {
  const [amount, readAt] = typeof balance === 'string' && balance !== '' ? balance.split(':') : [];
  return {
    ...account,
    balance: amount === undefined ? undefined : gwei(Number(amount)),
    reserved: gwei(Number(promised ?? 0)),
    readAt: readAt === undefined ? undefined : (Number(readAt) as EpochMs),
  };
}

/** What a limit has taken after a reservation, this one included. */
export function takenOf(reply: readonly unknown[], limit: number): number {
  return Number(reply[4 + limit]);
}

function reservedWith({ limits }: ReserveRequest, reply: readonly unknown[]): ReserveResult {
  let over: number[] | undefined;
  for (let i = 0; i < limits.length; i++)
    if (!limits[i]!.enforce && takenOf(reply, i) > limits[i]!.threshold) (over ??= []).push(i);
  return over === undefined ? reserved : { outcome: 'reserved', over };
}

const reserved: ReserveResult = Object.freeze({ outcome: 'reserved' });

function depositUnknown(share: AccountId, why: string): DomainError {
  const account = share.fundingAddress === undefined ? 'deposit' : `balance of ${share.fundingAddress}`;
  return new DomainError('UNAVAILABLE', `the ${account} in contract ${share.contract} ${why}`, {
    reason: 'DEPOSIT_UNKNOWN',
    retryAfterSeconds: 1,
  });
}
