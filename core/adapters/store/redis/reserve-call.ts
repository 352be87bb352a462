import { DomainError } from '../../../errors.js';
import { windowAt, windowEnd } from '../../../policy/spending-limit/cycle.js';
import type {
  AccountBalance,
  AccountShare,
  PeekResult,
  ReserveRequest,
  ReserveResult,
} from '../../../policy/usage-store.js';
import type { EpochMs } from '../../../units/time.js';
import { gwei } from '../../../units/wei.js';
import { accountName, counterName, kinds, operationName, type ChainKeys } from './keys.js';
import { encodeRecord, memberOf } from './record.js';
import { listOf } from './reply.js';
import { replies } from './reserve-script.js';

/** A call of the reserve script, and what is needed to read its answer. */
export type ReserveCall = {
  readonly keys: readonly string[];
  readonly args: readonly (string | number)[];
  /** Ends of the windows that the plan is about, by limit. */
  readonly windows: readonly { readonly window: number; readonly resetsAt: EpochMs }[];
};

export type CallContext = {
  readonly keys: ChainKeys;
  readonly epoch: string;
  /** Windows that began before this moment have lost their usage. */
  readonly since: EpochMs;
  /** The server's time as far as it is known here; the script checks the windows that follow from it. */
  readonly now: EpochMs;
  /** Time that the script shall take for now; 0: the server's. */
  readonly imposedNow: EpochMs | 0;
};

export function reserveCall(request: ReserveRequest, context: CallContext, isReal: boolean): ReserveCall {
  const { keys: chain, now } = context;
  const { limits, accounts, key } = request;
  const operation = operationName(key);
  const keys = [
    `${chain.prefix}${kinds.operation}${operation}`,
    chain.expiries,
    chain.epoch,
    chain.seen,
    `${chain.prefix}${kinds.generation}${key.paymasterId}`,
  ];
  const counters: string[] = [];
  const windows: { window: number; resetsAt: EpochMs }[] = [];
  const terms: number[] = [];
  let from = 0;
  let until = Number.MAX_SAFE_INTEGER;
  let lost = 0;
  for (let i = 0; i < limits.length; i++) {
    const limit = limits[i]!;
    const window = windowAt(limit, now);
    const resetsAt = windowEnd(limit, window);
    const name = counterName(limit, window);
    // Two shares of one counter would each be judged without the other.
    if (counters.includes(name)) throw listedTwice(`limit ${limit.policyId}`);
    const begin = resetsAt - limit.durationMs;
    // Everything before the start of the cycle belongs to window 0.
    if (window > 0 && begin > from) from = begin;
    if (resetsAt < until) until = resetsAt;
    if (lost === 0 && begin < context.since && limit.startsOverWhenLost !== true) lost = i + 1;
    counters.push(name);
    windows.push({ window, resetsAt });
    keys.push(`${chain.prefix}${kinds.counter}${name}`);
    terms.push(resetsAt, limit.threshold, limit.cost);
  }
  const named = new Set<string>();
  for (const account of accounts) {
    const name = accountName(account);
    if (named.has(name)) throw listedTwice(`account ${account.contract}`);
    named.add(name);
    keys.push(`${chain.prefix}${kinds.balance}${name}`, `${chain.prefix}${kinds.promised}${name}`);
    terms.push(account.need);
  }
  const args = [
    context.imposedNow,
    context.epoch,
    isReal ? 1 : 0,
    request.configGeneration,
    key.paymasterId,
    request.validUntil,
    memberOf(operation, key.paymasterId),
    encodeRecord(request, counters),
    request.depositMaxAgeMs,
    from,
    until,
    lost,
    limits.length,
    ...terms,
  ];
  return { keys, args, windows };
}

/**
 * What the script decided. Throws UNAVAILABLE where a deposit is not known well enough; undefined when the windows
 * have turned, or what it says is about the store and not about the request.
 */
export function readVerdict(
  request: ReserveRequest,
  call: ReserveCall,
  reply: readonly unknown[],
): ReserveResult | undefined {
  const index = Number(reply[2]);
  switch (Number(reply[0])) {
    case replies.reserved:
      return reserved;
    case replies.stale:
      return stale;
    case replies.limit:
      return { outcome: 'limit', index, used: Number(reply[3]), resetsAt: call.windows[index]!.resetsAt };
    case replies.usageLost:
      return { outcome: 'usage-lost', index, resetsAt: call.windows[index]!.resetsAt };
    case replies.deposit:
      return { outcome: 'deposit', index, balance: Number(reply[3]), reserved: Number(reply[4]) };
    case replies.depositUnknown:
      throw depositUnknown(
        request.accounts[index]!,
        reply[3] === 1 ? 'was read too long ago' : 'was never read',
      );
    default:
      return undefined;
  }
}

/** The reply to a peek, of which the first element was read already. */
export function readPeek(
  request: ReserveRequest,
  call: ReserveCall,
  result: ReserveResult,
  [, used, shown]: readonly unknown[],
): PeekResult {
  const amounts = listOf(used);
  const balances = listOf(shown);
  return {
    result,
    limits: call.windows.map((window, i) => ({ used: Number(amounts[i]), ...window })),
    accounts: request.accounts.map(({ contract, fundingAddress }, i) =>
      balanceOf(
        fundingAddress === undefined ? { contract } : { contract, fundingAddress },
        balances[2 * i],
        balances[2 * i + 1],
      ),
    ),
  };
}

/** An account as Redis keeps it: "balance:readAt", or nothing, and what is promised. */
export function balanceOf(
  account: Pick<AccountBalance, 'contract' | 'fundingAddress'>,
  balance: unknown,
  promised: unknown,
): AccountBalance {
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
  return Number(reply[2 + limit]);
}

const reserved: ReserveResult = Object.freeze({ outcome: 'reserved' });
const stale: ReserveResult = Object.freeze({ outcome: 'stale' });

function listedTwice(what: string): DomainError {
  return new DomainError('INTERNAL', `a reservation names ${what} twice`);
}

function depositUnknown(share: AccountShare, why: string): DomainError {
  const account = share.fundingAddress === undefined ? 'deposit' : `balance of ${share.fundingAddress}`;
  return new DomainError('UNAVAILABLE', `the ${account} in contract ${share.contract} ${why}`, {
    reason: 'DEPOSIT_UNKNOWN',
    retryAfterSeconds: 1,
  });
}
