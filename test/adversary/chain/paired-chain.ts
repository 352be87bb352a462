import { expect } from '@jest/globals';
import type { Log } from '../../../core/chain/chain.js';
import { userOperationEventTopic } from '../../../core/entry-point/user-operation-event.js';
import { paidGasInTokens } from '../../../core/paymaster/token-charge.js';
import type { Hex } from '../../../core/units/hex.js';
import type { AddressKey } from '../../../core/units/address.js';
import { nonceName, walletName } from './entry-point.js';
import type { ModelChain } from './model-chain.js';
import type { ActionResult, ChainAction } from './operations.js';
import type { RealChain } from './real-chain.js';

/**
 * The real chain and the model, action by action. The model is told how much gas an execution took and nothing else. The result
 * of the action, and every balance that it touched, must be equal on both.
 */
export class PairedChain {
  readonly real: RealChain;
  readonly model: ModelChain;
  /** Actions that both have carried out. */
  steps = 0;

  constructor(real: RealChain, model: ModelChain) {
    this.real = real;
    this.model = model;
  }

  async mine(action: ChainAction, time: number): Promise<ActionResult> {
    const real = await this.real.mine(action, time);
    const told = real.outcome === 'done' ? real.operations : [];
    const of = (operation: unknown) => told.find((one) => one.operation === operation);
    const model = this.model.mine(
      action,
      time,
      {
        gasUsed: (operation) => of(operation)?.gasUsed ?? 0n,
        charge: (operation, taken) => of(operation)?.charge ?? taken,
        premium: (operation) => of(operation)?.premium ?? 0n,
        tokensDue: (operation, most) => {
          const { tokens = 0n, owed = 0n } = of(operation) ?? {};
          // An account that has some tokens may still have too few.
          return tokens + owed === 0n ? most + 1n : tokens + owed;
        },
      },
      await this.baseFee(),
    );
    expect(summary(real)).toEqual(summary(model));
    await this.compare(action);
    if (action.do === 'bundle' && model.outcome === 'done') await this.#compareLogs(action);
    this.steps += 1;
    return model;
  }

  async mineEmpty(time: number): Promise<void> {
    await this.real.mineEmpty(time);
    this.model.mineEmpty(time);
    this.steps += 1;
  }

  async reorganise(blocks: number): Promise<void> {
    await this.real.reorganise(this.real.height - blocks);
    this.model.reorganise(this.model.height - blocks);
    this.steps += 1;
  }

  /** Base fee of the block that was mined last: operations pay at most this fee plus their tip. */
  async baseFee(): Promise<bigint> {
    return this.real.baseFee();
  }

  /** What the contracts themselves report, and the EntryPoint of each operation. */
  async #compareLogs(action: Extract<ChainAction, { readonly do: 'bundle' }>): Promise<void> {
    const of = (logs: readonly Log[]) =>
      logs
        .filter(
          ({ address, topics: [topic] }) =>
            address !== action.entryPoint || topic === userOperationEventTopic,
        )
        .map(({ address, topics, data }) => ({ address, topics, data: comparable(topics[0], data) }));
    expect(of(await this.real.logs(action))).toEqual(of(this.model.newestLogs));
  }

  async compare(action: ChainAction): Promise<void> {
    for (const { contract, wallet, sender, key } of touched(action)) {
      const state = this.model.state();
      const spec = this.model.contracts.get(contract)!;
      const nonce = state.nonces.get(nonceName(spec.entryPoint, sender, key << 64n)) ?? 0n;
      expect(await this.real.read(contract, wallet, sender, key)).toEqual([
        state.deposits.get(contract) ?? 0n,
        state.wallets.get(walletName(contract, wallet)) ?? 0n,
        (key << 64n) | nonce,
        state.tokens.get(sender) ?? 0n,
        state.allowances.get(`${sender}/${contract}`) ?? 0n,
      ]);
    }
  }
}

/** The model does not compute the gas cost that a contract bases a payment on. */
function comparable(topic: Hex | undefined, data: Hex): string {
  return topic === paidGasInTokens.topic0 ? data.slice(66) : data;
}

type Place = {
  readonly contract: AddressKey;
  readonly wallet: AddressKey;
  readonly sender: AddressKey;
  readonly key: bigint;
};

function touched(action: ChainAction): readonly Place[] {
  if (action.do !== 'bundle') return [];
  return action.operations.map(({ contract, op, terms }) => ({
    contract,
    wallet: terms.fundingAddress ?? contract,
    sender: op.sender,
    key: op.nonce >> 64n,
  }));
}

/** The compared part of a result: everything but the operation itself. */
function summary(result: ActionResult): unknown {
  if (result.outcome === 'failed') return result;
  return result.operations.map(({ operation: _operation, charge, isChargeReported, ...rest }) => ({
    ...rest,
    isChargeReported,
    charge: isChargeReported ? charge : undefined,
  }));
}
