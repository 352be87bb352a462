import type { AddressKey } from '../../core/units/address.js';
import { BrokenRule } from './broken-rule.js';
import { Excess, type Bounded } from './excess.js';
import { ceilGwei, operationOf, type Grant, type NeverSigned } from './grant.js';
import { checkBudgetShares, limitSums, spentAtMostOf, spentOf } from './limit-sums.js';
import { isMade } from './moves.js';
import type { ModelChain } from './chain/model-chain.js';
import { payerOf } from './chain/entry-point.js';
import { prefundOf, type BundledOperation, type OperationResult } from './chain/operations.js';
import { contracts, dayOf, defaultWallet, paymasters, specs, treasury } from './world.js';
import { divideUp } from '../../core/units/wei.js';

const gweiInWei = 1_000_000_000n;
export const lossBudget = 20_000_000;
/** Percent of a pooled account that one organisation may take. */
const share = 25n;

/** Wei that an account of the platform has lost by an operation in mode ERC20: the part of its charge that was left unpaid. */
function lossOf({ operation, tokens, owed, kept, charge, cost }: OperationResult): bigint {
  if (operation.terms.mode === 'SPONSORED' || kept > 0n) return 0n;
  const taken = isMade('losses') ? (charge ?? cost) : cost;
  if (tokens === 0n) return taken;
  return isMade('losses') ? divideUp(taken * owed, owed + tokens!) : 0n;
}

/** Accounts that several organisations draw on. */
function isPooled(account: string): boolean {
  return (
    account.endsWith(`/${defaultWallet}`) ||
    account.endsWith(`/${treasury}`) ||
    specs.some(({ address, kind }) => address === account && kind === 'plain')
  );
}

/** The most that a signed operation may take of each account, worked out from the model of the contracts. */
export function needsOf(operation: BundledOperation): Grant['needs'] {
  const spec = specs.find(({ address }) => address === operation.contract)!;
  const prefund = prefundOf(operation, spec.version);
  const payer = payerOf(operation, spec, prefund);
  const deposit = { account: operation.contract, amount: prefund };
  return payer === undefined ? [deposit] : [deposit, { account: payer.name, amount: payer.taken }];
}

/**
 * The rules of money, checked against signatures and the chain alone: what was mined, and what may still be mined. Does not use
 * the service's own data.
 */
export class Truth {
  readonly grants: Grant[] = [];
  readonly neverSigned: NeverSigned[] = [];
  readonly excess = new Excess();
  /** The block that the service has settled: it knows no balances of older blocks. */
  knownFrom = 0;
  readonly #chain: ModelChain;
  readonly #byName = new Map<string, readonly Grant[]>();
  #lossesFrom = 0;

  constructor(chain: ModelChain) {
    this.#chain = chain;
  }

  add(grant: Grant): void {
    this.grants.push(grant);
    const name = nameOf(grant);
    this.#byName.set(name, [...(this.#byName.get(name) ?? []), grant]);
  }

  /** Paymasters that may have signed this operation: two of one contract sign the same bytes for the same request. */
  grantsOf(operation: BundledOperation): readonly Grant[] {
    return this.#byName.get(nameOf(operation)) ?? [];
  }

  /** Signatures that may be mined on the current branch: nonce unused, window not over. */
  mineable(): readonly Grant[] {
    const state = this.#chain.state();
    const next = this.#chain.time + 1;
    return this.grants.filter(({ op, contract, terms }) => {
      if (next > terms.validUntil) return false;
      const { entryPoint } = specs.find(({ address }) => address === contract)!;
      const sequence = state.nonces.get(`${entryPoint}/${op.sender}/${op.nonce >> 64n}`) ?? 0n;
      return sequence <= (op.nonce & 0xffff_ffff_ffff_ffffn);
    });
  }

  /** Gwei of an account that no signature may take, rounded down. */
  freeOf(account: string): number {
    const state = this.#chain.state();
    const held = (account.includes('/') ? state.wallets.get(account) : state.deposits.get(account)) ?? 0n;
    const promised = dearestNeeds(this.mineable()).get(account) ?? 0n;
    return Number((held - promised) / gweiInWei);
  }

  /** Rules 1 to 3 at this moment. Throws {@link BrokenRule}. */
  check(): void {
    const mineable = this.mineable();
    const mined = this.#chain.operationsAfter(0);
    const sums = new Map([
      [1, limitSums(this, mineable, mined)],
      [2, this.#depositSums(mineable)],
      [3, this.#lossSums(mineable, mined)],
    ]);
    this.excess.check(sums, this.#chain.height);
  }

  /** What exceeds its bound at this moment may stay so, and may not grow. */
  allowExcess(): void {
    const { excess } = this;
    const { mayGrow } = excess;
    excess.mayGrow = true;
    this.check();
    excess.mayGrow = mayGrow;
  }

  /** The usage of each limit by mined operations: every operation counts in the limits of the signature that it carried. */
  spent(height = this.#chain.height): ReadonlyMap<string, number> {
    return spentOf(this, this.#minedUpTo(height));
  }

  /** The same, counted in every limit that any signature of the same paymasters for the same operation draws on. */
  spentAtMost(height = this.#chain.height): ReadonlyMap<string, number> {
    return spentAtMostOf(this, this.#minedUpTo(height));
  }

  /** A loss of data resets the losses before it: that costs one more budget. */
  forgetLosses(at: number): void {
    this.#lossesFrom = at;
  }

  /** Gwei lost in token mode on the day of `at`, by contract, in blocks up to `height`. */
  lost(contract: AddressKey, at: number, height = this.#chain.height): number {
    return this.losses(contract)
      .filter((one) => one.time >= this.#lossesFrom && dayOf(one.time) === dayOf(at) && one.height <= height)
      .reduce((sum, { cost }) => sum + cost, 0);
  }

  /**
   * Gwei of operations that a contract has relayed and that were not losses, where a token payment was promised too: nobody can read
   * which of them it was, so they may count as losses, up to what the promise held.
   */
  perhapsLost(contract: AddressKey, at: number, height: number): number {
    const known = new Set(this.losses(contract).map(({ hash }) => hash));
    return this.#minedUpTo(height)
      .filter(({ delivery }) => delivery.way === 'relay')
      .filter(({ height: of }) => dayOf(this.#chain.timeAt(of)) === dayOf(at))
      .filter(({ result }) => result.operation.contract === contract && !known.has(result.userOpHash))
      .reduce((sum, { result }) => {
        const held = this.grants
          .filter((one) => one.contract === contract && operationOf(one) === operationOf(result.operation))
          .map(({ unsecured }) => unsecured);
        return sum + Math.min(ceilGwei(result.cost), Math.max(0, ...held));
      }, 0);
  }

  losses(contract: AddressKey): readonly {
    readonly hash: string;
    readonly time: number;
    readonly height: number;
    readonly cost: number;
    readonly sender: AddressKey;
  }[] {
    return this.#chain
      .operationsAfter(0)
      .filter(({ result }) => result.operation.contract === contract && lossOf(result) > 0n)
      .filter(({ result }) => this.grantsOf(result.operation).length > 0)
      .map(({ height, result }) => ({
        hash: result.userOpHash,
        time: this.#chain.timeAt(height),
        height,
        cost: ceilGwei(lossOf(result)),
        sender: result.operation.op.sender,
      }));
  }

  #minedUpTo(height: number): ReturnType<ModelChain['operationsAfter']> {
    return this.#chain.operationsAfter(0).filter((one) => one.height <= height);
  }

  #depositSums(mineable: readonly Grant[]): readonly Bounded[] {
    const state = this.#chain.state();
    return [...dearestNeeds(mineable)].map(([account, sum]) => {
      const balance = account.includes('/') ? state.wallets.get(account) : state.deposits.get(account);
      return { name: `account ${account}`, sum, most: balance ?? 0n };
    });
  }

  /** Checks the share of an organisation that has just been given a signature. */
  checkShare(granted: Grant): void {
    if (this.excess.mayGrow) return;
    checkBudgetShares(granted, this.mineable());
    const organisation = paymasters[granted.paymaster]!.namespace;
    const own = this.mineable().filter(({ paymaster }) => paymasters[paymaster]!.namespace === organisation);
    const needs = dearestNeeds(own);
    for (const { account } of granted.needs.slice(-1)) {
      if (!isPooled(account)) continue;
      if (
        new Set(own.filter((one) => one.needs.some((need) => need.account === account)).map(operationOf))
          .size <= 1
      )
        continue;
      // The service knows a balance of one of these blocks.
      let most = 0n;
      for (
        let height = this.#chain.height;
        height >= Math.max(0, Math.min(this.knownFrom, this.#chain.height - 12));
        height--
      ) {
        const state = this.#chain.state(height);
        const balance =
          (account.includes('/') ? state.wallets.get(account) : state.deposits.get(account)) ?? 0n;
        if (balance > most) most = balance;
      }
      if ((needs.get(account) ?? 0n) * 100n > most * share)
        throw new BrokenRule(
          2,
          `${organisation} may take ${needs.get(account)} of ${most} wei of ${account}`,
        );
    }
  }

  /** Checks the parts of the loss budget after an unsecured signature was given. */
  checkParts(granted: Grant): void {
    if (this.excess.mayGrow || granted.unsecured === 0) return;
    const organisation = (lossBudget * Number(share)) / 100;
    const of = ({ paymaster }: Grant) => paymasters[paymaster]!;
    const parts = [
      {
        name: 'organisation',
        most: organisation,
        isOf: (one: Grant) => of(one).namespace === of(granted).namespace,
      },
      {
        name: 'paymaster',
        most: organisation / 2,
        isOf: (one: Grant) => one.paymaster === granted.paymaster,
      },
      { name: 'account', most: lossBudget / 10, isOf: (one: Grant) => one.op.sender === granted.op.sender },
    ];
    const live = this.mineable().filter(
      ({ contract, unsecured }) => contract === granted.contract && unsecured > 0,
    );
    for (const { name, most, isOf } of parts) {
      const dearest = dearestUnsecured(live.filter(isOf));
      const sum = [...dearest.values()].reduce((all, one) => all + one, 0);
      // A single operation may exceed it.
      if (dearest.size > 1 && sum > most)
        throw new BrokenRule(3, `one ${name} may lose ${sum} of ${most} gwei of ${granted.contract}`);
    }
  }

  #lossSums(
    mineable: readonly Grant[],
    mined: ReturnType<ModelChain['operationsAfter']>,
  ): readonly Bounded[] {
    return Object.values(contracts).map((contract) => {
      const dearest = dearestUnsecured(mineable.filter((grant) => grant.contract === contract));
      const live = [...dearest.values()].reduce((sum, one) => sum + one, 0);
      const lost = mined.length === 0 ? 0 : this.lost(contract, this.#chain.time);
      return { name: `losses of ${contract}`, sum: BigInt(lost + live), most: BigInt(lossBudget) };
    });
  }
}

/** Bytes that are equal are the same signature. */
function nameOf({ op, paymasterAndData }: BundledOperation): string {
  return `${op.sender}/${op.nonce}/${op.callGasLimit}/${op.maxFeePerGas}/${paymasterAndData}`;
}

/** The largest possible loss of each operation. */
function dearestUnsecured(grants: readonly Grant[]): ReadonlyMap<string, number> {
  const dearest = new Map<string, number>();
  for (const grant of grants)
    if (grant.unsecured > (dearest.get(operationOf(grant)) ?? 0))
      dearest.set(operationOf(grant), grant.unsecured);
  return dearest;
}

/** The largest need of each operation per account, summed. */
function dearestNeeds(grants: readonly Grant[]): ReadonlyMap<string, bigint> {
  const dearest = new Map<string, { account: string; amount: bigint }>();
  for (const grant of grants)
    for (const { account, amount } of grant.needs) {
      const key = `${account} ${operationOf(grant)}`;
      if (amount > (dearest.get(key)?.amount ?? 0n)) dearest.set(key, { account, amount });
    }
  const sums = new Map<string, bigint>();
  for (const { account, amount } of dearest.values()) sums.set(account, (sums.get(account) ?? 0n) + amount);
  return sums;
}
