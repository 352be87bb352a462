import type { DecidedCall, DecidedPolicy, Decision } from './record.js';
import type { UsageGroup } from './query.js';

/**
 * What sums are kept of. `account`: each balance that pays, over all organisations, see {@link accountValue}.
 * `operation`: paymaster, chain, mode and reason in one, for a ledger that keeps one sum instead of four.
 */
export type RollupDimension = Exclude<UsageGroup, 'sender'> | 'account' | 'operation';

/** Value of an operation that has none. */
export const noValue = '(none)';
/** Stands for all values that the configuration does not know. */
const otherValue = 'other';

/** In characters. Names of methods come from tenants' ABIs, and keys of databases are bounded. */
const maxValueLength = 200;

/** The part that a value has in an operation: it counts there once, with `calls` of `of` parts of the money. */
export type Share = {
  readonly dimension: RollupDimension;
  readonly value: string;
  readonly calls: number;
  readonly of: number;
  /** The share with the first call also gets the remainder of the division. */
  readonly hasFirst: boolean;
};

/** What every record of usage has. */
export type Operation = {
  readonly paymasterId: string;
  readonly chainId: number;
  readonly mode: Decision['mode'];
  readonly reason: string | undefined;
};

/** A sum for each of paymaster, chain, mode and reason. */
export function separateShares({ paymasterId, chainId, mode, reason }: Operation): readonly Share[] {
  return [
    wholeShare('paymaster', paymasterId),
    wholeShare('chain', String(chainId)),
    wholeShare('mode', mode ?? noValue),
    wholeShare('reason', reason ?? noValue),
  ];
}

/** The values of a decision and its outcome that are not those of every operation. */
export function decisionShares(
  decision: Pick<Decision, 'policies' | 'calls' | 'chainId' | 'contract' | 'fundingAddress'>,
): readonly Share[] {
  const { policies, calls } = decision;
  const policyIds = listPolicyIds(policies, (effect) => effect === 'counted' || effect === 'refused');
  const wouldRefuse = listPolicyIds(policies, (effect) => effect === 'would_refuse');
  const campaigns = listPolicyIds(policies, (effect) => effect === 'campaign');
  const keys = listPolicyIds(policies, (effect) => effect === 'key');
  // A wallet pays from its balance in the contract, and the contract from its deposit.
  const accounts = new Set([
    accountValue(decision),
    accountValue({ ...decision, fundingAddress: undefined }),
  ]);
  return [
    ...(policyIds.size === 0 ? [noValue] : [...policyIds]).map((id) => wholeShare('policy', id)),
    ...[...wouldRefuse].map((id) => wholeShare('wouldRefuse', id)),
    ...[...campaigns].map((name) => wholeShare('campaign', name)),
    ...[...keys].map((name) => wholeShare('key', name)),
    ...byCall('contract', calls, ({ contractId }) => contractId ?? otherValue),
    ...byCall('method', calls, methodValue),
    ...[...accounts].flatMap((account) => (account === undefined ? [] : [wholeShare('account', account)])),
  ];
}

function listPolicyIds(
  policies: readonly DecidedPolicy[],
  isMeant: (effect: DecidedPolicy['effect']) => boolean,
): ReadonlySet<string> {
  return new Set(policies.filter(({ effect }) => isMeant(effect)).map(({ policyId }) => policyId));
}

/** The same for an operation without a decision. */
export const sharesWithoutDecision: readonly Share[] = (['policy', 'contract', 'method'] as const).map(
  (dimension) => wholeShare(dimension, noValue),
);

/** Its part of an amount; the parts of all values of a dimension add up to it, policies aside. */
export function shareOfAmount(amount: bigint, { calls, of, hasFirst }: Share): bigint {
  if (of === 1) return amount;
  const [parts, all] = [BigInt(calls), BigInt(of)];
  return (amount / all) * parts + (hasFirst ? amount % all : 0n);
}

/** Names a balance: chain, paymaster contract, and the sponsor's balance in it where the contract keeps balances. */
export function accountValue(
  account: Pick<Decision, 'chainId' | 'contract' | 'fundingAddress'>,
): string | undefined {
  const { chainId, contract, fundingAddress } = account;
  return contract === undefined ? undefined : `${chainId}:${contract}:${fundingAddress ?? ''}`;
}

/**
 * A method has a value if its contract is registered and knows its name, or if the call is a plain transfer. Selectors
 * are chosen by callers, so that all others are one value.
 */
function methodValue({ contractId, name, selector }: DecidedCall): string {
  const method = name ?? (selector === '0x' ? selector : undefined);
  if (contractId === undefined || method === undefined) return otherValue;
  return `${contractId}:${method}`.slice(0, maxValueLength);
}

function wholeShare(dimension: RollupDimension, value: string): Share {
  return { dimension, value, calls: 1, of: 1, hasFirst: true };
}

function byCall(
  dimension: RollupDimension,
  calls: readonly DecidedCall[],
  valueOf: (call: DecidedCall) => string,
): readonly Share[] {
  const [first] = calls;
  if (first === undefined) return [wholeShare(dimension, noValue)];
  if (calls.length === 1) return [wholeShare(dimension, valueOf(first))];
  const counts = new Map<string, number>();
  for (const call of calls) counts.set(valueOf(call), (counts.get(valueOf(call)) ?? 0) + 1);
  return [...counts].map(([value, count]) => ({
    dimension,
    value,
    calls: count,
    of: calls.length,
    hasFirst: value === valueOf(first),
  }));
}
