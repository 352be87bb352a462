import {
  CallReverted,
  type Block,
  type BlockTag,
  type CallRequest,
  type Chain,
  type Log,
  type LogFilter,
  type WordCall,
} from '../../../core/chain/chain.js';
import { DomainError } from '../../../core/errors.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { userOpHash } from '../../../core/entry-point/user-op-hash.js';
import { parseAddress, type Address, type AddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import {
  carryOut,
  emptyState,
  keysOf,
  nonceName,
  walletName,
  type ChainState,
  type Nature,
} from './entry-point.js';
import { callOf, possible } from './delivery.js';
import { logsOf, word, type BareLog } from './logs.js';
import {
  direct,
  type ActionResult,
  type ChainAction,
  type ContractSpec,
  type Delivery,
  type OperationResult,
} from './operations.js';
import { answerAboutKeys } from './signing-keys.js';

type Transaction = {
  readonly hash: Hex;
  readonly to: () => Hex;
  readonly input: () => Hex;
  readonly delivery: Delivery;
};
type Mined = {
  readonly block: Block;
  readonly state: ChainState;
  readonly logs: readonly Log[];
  readonly results: readonly OperationResult[];
  readonly transaction: Transaction | undefined;
};

/** Beneficiary of the gas; it does not matter here. */
const beneficiary = '0x000000000000000000000000000000000000beef' as AddressKey;

/** How a node misbehaves. The chain itself does not change. */
export type NodeFaults = {
  isDown: boolean;
  /** Number of blocks by which the node's head is behind the chain's. */
  lag: number;
  /** How many of the next log queries are answered with nothing. */
  emptyLogs: number;
  /** Whether transactions and receipts are not found. */
  hasNoTransactions: boolean;
};

export type ModelChainOptions = {
  readonly chainId: number;
  readonly contracts: readonly ContractSpec[];
  readonly token: AddressKey;
  /** Unix seconds of the first block. */
  readonly time: number;
};

/**
 * A chain in memory whose EntryPoints are a model: one action per block, blocks may be removed, every read is of the
 * block that it names. Implements the port, so that code that reads chains runs on it unchanged.
 */
export class ModelChain implements Chain {
  readonly faults: NodeFaults = { isDown: false, lag: 0, emptyLogs: 0, hasNoTransactions: false };
  readonly contracts: ReadonlyMap<AddressKey, ContractSpec>;
  readonly #options: ModelChainOptions;
  readonly #checksums = new Map<AddressKey, Address>();
  #mined: Mined[] = [];
  #branch = 0n;
  #serial = 0n;

  constructor(options: ModelChainOptions) {
    this.#options = options;
    this.contracts = new Map(options.contracts.map((spec) => [spec.address, spec]));
    this.#append(options.time, { state: emptyState, logs: [], results: [], transaction: undefined });
  }

  get height(): number {
    return this.#mined.length - 1;
  }

  /** Unix seconds of the newest block. */
  get time(): number {
    return this.#mined.at(-1)!.block.timestamp;
  }

  state(height = this.height): ChainState {
    return this.#mined[height]!.state;
  }

  hashAt(height: number): Hex | undefined {
    return this.#mined[height]?.block.hash;
  }

  timeAt(height: number): number {
    return this.#mined[height]!.block.timestamp;
  }

  /** Every operation that is mined on the current branch above a height. */
  operationsAfter(height: number): readonly {
    readonly height: number;
    readonly result: OperationResult;
    readonly delivery: Delivery;
  }[] {
    return this.#mined.slice(height + 1).flatMap(({ block, results, transaction }) =>
      results.map((result) => ({
        height: block.number,
        result,
        delivery: transaction?.delivery ?? direct,
      })),
    );
  }

  /** Logs of the newest block. */
  get newestLogs(): readonly Log[] {
    return this.#mined.at(-1)!.logs;
  }

  /** Mines an empty block. */
  mineEmpty(time: number): void {
    this.#append(time, { state: this.state(), logs: [], results: [], transaction: undefined });
  }

  /** Mines a block with one action. An action that fails is not mined: bundlers drop operations that would revert. */
  mine(action: ChainAction, time: number, nature: Nature, baseFee = 0n): ActionResult {
    const { state, result } = carryOut(this.state(), action, {
      contracts: this.contracts,
      block: { time, baseFee },
      nature,
      hash: ({ op, paymasterAndData, contract }) => {
        const { version, entryPoint } = this.contracts.get(contract)!;
        const target = { version, entryPoint: this.#checksummed(entryPoint), chainId: this.#options.chainId };
        const hash = userOpHash(op, paymasterAndData, target);
        if (hash === undefined) throw new Error('the hash of the operation is not known');
        return hash;
      },
    });
    if (result.outcome === 'failed') return result;
    const logs = this.#logsOf(result.operations);
    this.#append(time, {
      state,
      logs: this.#placed(logs),
      results: result.operations,
      transaction: this.#transactionOf(action),
    });
    return result;
  }

  /** Removes every block above `height`; the blocks that are mined next have other hashes. */
  reorganise(height: number): void {
    this.#mined = this.#mined.slice(0, height + 1);
    this.#branch += 1n;
  }

  /** The node works again. */
  heal(): void {
    Object.assign(this.faults, { isDown: false, lag: 0, emptyLogs: 0, hasNoTransactions: false });
  }

  async chainId(): Promise<number> {
    this.#answer();
    return this.#options.chainId;
  }

  async block(tag: BlockTag): Promise<Block | undefined> {
    this.#answer();
    if (tag === 'pending') {
      const { block } = this.#head();
      const pending = { number: block.number + 1, hash: word(0n), parentHash: block.hash };
      return { ...pending, timestamp: block.timestamp + 1, baseFeePerGas: block.baseFeePerGas };
    }
    return this.#at(tag)?.block;
  }

  async call({ to, data, block }: CallRequest): Promise<Hex> {
    const [value] = await this.words([{ to, data }], block ?? 'latest');
    if (value === undefined) throw new CallReverted('0x', 'execution reverted');
    return word(value);
  }

  async words(calls: readonly WordCall[], block: BlockTag): Promise<readonly (bigint | undefined)[]> {
    this.#answer();
    const at = this.#at(block);
    if (at === undefined) throw new DomainError('UNAVAILABLE', 'header not found');
    return calls.map((call) => this.#read(at.state, call));
  }

  async code(): Promise<Hex> {
    this.#answer();
    return '0xfe';
  }

  async balance(): Promise<bigint> {
    this.#answer();
    return 0n;
  }

  async logs({ address, topics = [], ...blocks }: LogFilter): Promise<readonly Log[]> {
    this.#answer();
    if (this.faults.emptyLogs > 0) {
      this.faults.emptyLogs -= 1;
      return [];
    }
    const addresses = address === undefined ? undefined : [address].flat().map((one) => one.toLowerCase());
    const head = this.#head().block.number;
    const found: Log[] = [];
    const [fromBlock, toBlock] = this.#range(blocks);
    if (addresses === undefined && this.#hasFatReceipt(fromBlock, toBlock)) throw tooLarge('eth_getLogs');
    for (let height = Math.max(0, fromBlock); height <= Math.min(toBlock, head); height++)
      for (const log of this.#mined[height]!.logs)
        if (
          (addresses?.includes(log.address) ?? true) &&
          topics.every((topic, i) => topic === null || [topic].flat().some((one) => one === log.topics[i]))
        )
          found.push(log);
    return found;
  }

  async priorityFee(): Promise<bigint> {
    this.#answer();
    return 1_000_000_000n;
  }

  async transaction(hash: Hex): Promise<{ readonly input: Hex; readonly to: Hex | undefined } | undefined> {
    this.#answer();
    const transaction = this.#byTransaction(hash)?.transaction;
    if (transaction?.delivery.fat === 'input') throw tooLarge('eth_getTransactionByHash');
    return transaction === undefined ? undefined : { input: transaction.input(), to: transaction.to() };
  }

  async request(method: string): Promise<unknown> {
    this.#answer();
    throw new DomainError('UNAVAILABLE', `the method ${method} does not exist`);
  }

  async stop(): Promise<void> {}

  /** balanceOf of an EntryPoint, getBalance of a hybrid contract, getNonce, and a contract's EntryPoint and signers. */
  #read(state: ChainState, { to, data }: WordCall): bigint | undefined {
    const target = to.toLowerCase() as AddressKey;
    const subject = `0x${data.slice(34, 74)}` as AddressKey;
    switch (data.slice(0, 10)) {
      case '0x70a08231':
        return state.deposits.get(subject) ?? 0n;
      case '0xf8b2cb4f':
        return this.contracts.get(target)?.kind === 'hybrid'
          ? (state.wallets.get(walletName(target, subject)) ?? 0n)
          : undefined;
      case '0x35567e1a': {
        const key = BigInt(`0x${data.slice(74, 138)}`);
        return (key << 64n) | (state.nonces.get(nonceName(target, subject, key << 64n)) ?? 0n);
      }
      case '0xb0d691fe':
        return BigInt(this.contracts.get(target)?.entryPoint ?? 0);
      default: {
        const keys = this.contracts.get(target)?.keys;
        return keys && answerAboutKeys(keys, keysOf(state, target), data);
      }
    }
  }

  /** A checksum takes longer than the rest of the hash. */
  #checksummed(address: AddressKey): Address {
    const known = this.#checksums.get(address) ?? parseAddress(address);
    this.#checksums.set(address, known);
    return known;
  }

  #logsOf(results: readonly OperationResult[]): readonly BareLog[] {
    return logsOf(
      results,
      ({ operation }) => this.contracts.get(operation.contract)!,
      ({ version }) => {
        const { chargeEvent } = version === '0.6' ? layouts['vendor-1.1.0'] : layouts['vendor-2.x'];
        return { charged: chargeEvent!.topic0, token: this.#options.token };
      },
    );
  }

  #transactionOf(action: ChainAction): Transaction | undefined {
    if (action.do !== 'bundle') return undefined;
    const [first] = action.operations;
    const { version } = this.contracts.get(first!.contract)!;
    const delivery = possible(action.delivery ?? direct, version);
    let call: ReturnType<typeof callOf> | undefined;
    // Encoded only on request, since that takes longer than everything else.
    const sent = () => (call ??= callOf(delivery, { ...action, version, beneficiary }));
    return {
      hash: this.#nextHash(),
      to: () => sent().to,
      input: () => sent().data,
      delivery,
    };
  }

  #placed(logs: readonly BareLog[]): readonly Log[] {
    const blockNumber = this.height + 1;
    const place = {
      blockNumber,
      blockHash: this.#blockHash(blockNumber),
      transactionHash: word((this.#branch << 128n) | ((this.#serial + 1n) << 64n) | 1n),
    };
    return logs.map((log, logIndex) => ({ ...place, ...log, logIndex }));
  }

  #nextHash(): Hex {
    this.#serial += 1n;
    return word((this.#branch << 128n) | (this.#serial << 64n) | 1n);
  }

  #blockHash(height: number): Hex {
    return word(((this.#branch + 1n) << 64n) | (BigInt(height) << 1n) | 1n);
  }

  #append(timestamp: number, content: Omit<Mined, 'block'>): void {
    const number = this.#mined.length;
    const parentHash = this.#mined.at(-1)?.block.hash ?? word(0n);
    const block = { number, hash: this.#blockHash(number), parentHash, timestamp, baseFeePerGas: 0n };
    this.#mined.push({ ...content, block });
  }

  #hasFatReceipt(from: number, to: number): boolean {
    return this.#mined.slice(from, to + 1).some(({ transaction }) => transaction?.delivery.fat === 'receipt');
  }

  #head(): Mined {
    return this.#mined[Math.max(0, this.height - this.faults.lag)]!;
  }

  #range(blocks: LogFilter): readonly [from: number, to: number] {
    if (!('blockHash' in blocks)) return [blocks.fromBlock, blocks.toBlock];
    const at = this.#at({ hash: blocks.blockHash });
    if (at === undefined) throw new DomainError('UNAVAILABLE', 'unknown block');
    return [at.block.number, at.block.number];
  }

  #at(tag: BlockTag): Mined | undefined {
    const head = this.#head();
    if (typeof tag === 'object')
      return this.#mined.find(({ block }) => block.hash === tag.hash && block.number <= head.block.number);
    if (typeof tag === 'string') return head;
    return tag > head.block.number ? undefined : this.#mined[tag];
  }

  #byTransaction(hash: Hex): Mined | undefined {
    if (this.faults.hasNoTransactions) return undefined;
    return this.#mined.find(({ transaction }) => transaction?.hash === hash);
  }

  #answer(): void {
    if (this.faults.isDown) throw new DomainError('UNAVAILABLE', 'the node does not answer');
  }
}

/** As the adapter refuses what is larger than it reads. */
function tooLarge(method: string): DomainError {
  return new DomainError('UNAVAILABLE', `${method} failed: an answer above its limit`);
}
