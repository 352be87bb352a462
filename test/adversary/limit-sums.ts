import { BrokenRule } from './broken-rule.js';
import type { ModelChain } from './chain/model-chain.js';
import type { BundledOperation } from './chain/operations.js';
import type { Bounded } from './excess.js';
import { countIn, highestPrice, type Bound } from './limit-kinds.js';
import { ceilGwei, operationOf, type Grant, type NeverSigned } from './grant.js';

// Rule 1, by signatures and mined operations alone.

type Granted = {
  readonly grants: readonly Grant[];
  readonly neverSigned: readonly NeverSigned[];
  /** Those that an operation may carry. */
  grantsOf(operation: BundledOperation): readonly Grant[];
};
type Mined = ReturnType<ModelChain['operationsAfter']>;

/** What was spent of each limit: never more than this, if nobody can tell which signature an operation carried. */
export function spentOf(truth: Granted, mined: Mined): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { limit, amount } of spentLimits(truth, mined))
    sums.set(limit.name, (sums.get(limit.name) ?? 0) + amount);
  return sums;
}

/** What was spent of each limit at most: all that any signature of the same paymasters for the operation may have counted. */
export function spentAtMostOf(truth: Granted, mined: Mined): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const { result, delivery } of mined) {
    const { operation, cost } = result;
    const signers = new Set(truth.grantsOf(operation).map(({ paymaster }) => paymaster));
    // Nobody can read the bytes of an operation that a contract has relayed: any promise of its nonce counts that may have paid.
    const maySign = (one: Grant): boolean =>
      signers.has(one.paymaster) || (delivery.way === 'relay' && one.contract === operation.contract);
    const most = new Map<string, number>();
    const isOf = (one: Pick<Grant, 'op' | 'contract'>): boolean =>
      operationOf(one) === operationOf(operation);
    const signed = truth.grants.filter((one) => maySign(one) && isOf(one));
    const counting = new Set(
      signed.flatMap(({ paymaster, limits }) => (limits.length === 0 ? [] : [paymaster])),
    );
    // What only a promise without a signature held stays with the others of its reservation, also that of another window.
    const kept = truth.neverSigned.filter((one) => counting.has(one.paymaster) && isOf(one));
    // The price of its dearest promise, also of one that nobody was given.
    for (const { limits } of [...signed, ...kept])
      for (const limit of limits)
        most.set(limit.name, countIn({ ...limit, price: highestPrice }, wholeGwei(cost)));
    for (const [name, amount] of most) sums.set(name, (sums.get(name) ?? 0) + amount);
  }
  return sums;
}

/** What may be spent of each limit: by mined operations, and by signatures that can still be mined. Those in Shadow bound nothing. */
export function limitSums(truth: Granted, mineable: readonly Grant[], mined: Mined): readonly Bounded[] {
  const total = new Map<string, { sum: number; most: number }>();
  const add = ({ name, most }: Bound, amount: number) => {
    if (most === undefined) return;
    const known = total.get(name) ?? { sum: 0, most: 0 };
    total.set(name, { sum: known.sum + amount, most: Math.max(known.most, most) });
  };
  for (const { limit, amount } of spentLimits(truth, mined)) add(limit, amount);
  for (const { limit, amount } of dearest(mineable)) add(limit, amount);
  return [...total].map(([name, { sum, most }]) => ({
    name: `limit ${name}`,
    sum: BigInt(sum),
    most: BigInt(most),
  }));
}

/** The live promises of a paymaster hold at most a quarter of its organisation's budget. Throws {@link BrokenRule}. */
export function checkBudgetShares(granted: Grant, mineable: readonly Grant[]): void {
  const own = dearest(mineable.filter(({ paymaster }) => paymaster === granted.paymaster));
  for (const { name, share } of granted.limits) {
    if (share === undefined) continue;
    const held = own.reduce((sum, { limit, amount }) => (limit.name === name ? sum + amount : sum), 0);
    if (held > share)
      throw new BrokenRule(1, `one paymaster holds ${held} of ${name}, of which it may hold ${share}`);
  }
}

function spentLimits(
  truth: Granted,
  mined: Mined,
): readonly { readonly limit: Bound; readonly amount: number }[] {
  return mined.flatMap(({ result }) => {
    const [grant, ...others] = truth.grantsOf(result.operation);
    // Nobody can tell which of the two paymasters has signed it.
    if (grant === undefined || others.some(({ paymaster }) => paymaster !== grant.paymaster)) return [];
    const { limits, needs } = grant;
    const common = limits.filter(({ name }) =>
      others.every((other) => other.limits.some((one) => one.name === name)),
    );
    return common.map((limit) => ({
      limit,
      // Never more than was promised.
      amount: Math.min(countIn(limit, wholeGwei(result.cost)), countIn(limit, needs[0]!.amount)),
    }));
  });
}

/** For each operation and limit, the most expensive signature. */
function dearest(mineable: readonly Grant[]): readonly { readonly limit: Bound; readonly amount: number }[] {
  const found = new Map<string, { limit: Bound; amount: number }>();
  for (const grant of mineable)
    for (const limit of grant.limits) {
      const key = `${limit.name} ${operationOf(grant)}`;
      const amount = countIn(limit, grant.needs[0]!.amount);
      if ((found.get(key)?.amount ?? 0) < amount) found.set(key, { limit, amount });
    }
  return [...found.values()];
}

/** The follower counts whole gwei. */
function wholeGwei(wei: bigint): bigint {
  return BigInt(ceilGwei(wei)) * 10n ** 9n;
}
