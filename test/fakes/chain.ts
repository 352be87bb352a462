import {
  CallReverted,
  wordsPerRequest,
  type Block,
  type BlockTag,
  type CallRequest,
  type Chain,
  type Log,
  type LogFilter,
  type Transaction,
  type WordCall,
} from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { userOperationEventTopic } from '../../core/entry-point/user-operation-event.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';

const balanceOfSelector = '0x70a08231';
const getBalanceSelector = '0xf8b2cb4f';
const getNonceSelector = '0x35567e1a';
const blockSeconds = 12;
const uint64Max = (1n << 64n) - 1n;

type Mined = {
  readonly block: Block;
  readonly logs: readonly Log[];
  readonly transactions: readonly { readonly hash: Hex; readonly to: Hex; readonly input: Hex }[];
  readonly state: State;
  /** Sequence that `EntryPoint/sender/key` expects next. */
  readonly nonces: ReadonlyMap<string, bigint>;
};
/** Wei by `entryPoint/contract` (deposit there) or `contract/wallet` (balance of a sponsor inside the contract). */
type State = ReadonlyMap<string, bigint>;

export type FakeOperation = {
  readonly entryPoint: AddressKey;
  readonly contract: AddressKey;
  readonly sender: AddressKey;
  readonly nonce: bigint;
  /** Wei. */
  readonly cost: bigint;
  readonly userOpHash?: Hex;
  readonly success?: boolean;
  /** The contract's report of a payment in tokens: topic of an event with the userOpHash in its fifth word. */
  readonly tokenCharge?: { readonly topic0: Hex };
  /** Call data of its transaction; absent: the transaction cannot be read. */
  readonly input?: Hex;
  /** Funding wallet that the contract charges, and the topic of the event that reports it. */
  readonly payer?: { readonly wallet: AddressKey; readonly topic0?: Hex; readonly charge?: bigint };
};

/**
 * A chain in memory: the test mines and removes blocks, which hold operations, deposits and balances. Every
 * call reads the state of the block that it names.
 */
export class FakeChain implements Chain {
  #mined: Mined[] = [];
  #branch = 0;
  readonly #id: number;
  readonly #genesisTime: number;
  /** Time that the node gives a pending block, Unix seconds. */
  time: number;
  isDown = false;
  /** Most blocks that one log query may span. */
  widestRange = Number.MAX_SAFE_INTEGER;
  hasPriorityFee = true;
  /** Most logs that one answer may hold. */
  mostLogs = Number.MAX_SAFE_INTEGER;
  /** Head that the node shows while it lags behind. */
  shown: number | undefined;
  /** The block that the node names as final; default: its head. */
  final: number | 'unknown' | undefined;
  /** The node answers no logs, without an error. */
  hidesLogs = false;
  /** The node's index of paymasters is broken: a query by paymaster finds nothing. */
  hidesByPaymaster = false;
  /** The next sequence of every key that every EntryPoint answers in place of the true one. */
  nonceOverride: bigint | undefined;
  /** Numbers of the blocks that the node lacks. */
  readonly missing = new Set<number>();
  /** The node has no index of transactions. */
  hidesTransactions = false;
  /** The node answers no logs of a single block. */
  hidesBlockLogs = false;
  /** The node cannot answer these: too large, too slow, or broken. */
  refuses: (asked: { readonly transaction: Hex } | { readonly logs: LogFilter }) => boolean = () => false;
  /** Number of requests by method, as a node would bill them. */
  readonly requests = new Map<string, number>();
  /** Contracts that revert every call. */
  readonly broken = new Set<string>();
  readonly ranges: number[] = [];

  constructor(options: { readonly chainId: number; readonly time: number }) {
    this.#id = options.chainId;
    this.#genesisTime = options.time;
    this.time = options.time;
    this.#append(options.time, [], new Map());
  }

  get height(): number {
    return this.#mined.length - 1;
  }

  /** Mines one block, 12 s after the last one unless `time` says when. */
  mine(
    content: {
      readonly operations?: readonly FakeOperation[];
      /** Deposits, withdrawals (negative) in wei. */
      readonly transfers?: readonly (readonly [account: string, amount: bigint])[];
      /** Nonces that accounts use up by themselves, which emits no event. */
      readonly incremented?: readonly Pick<FakeOperation, 'entryPoint' | 'sender' | 'nonce'>[];
      /** Events beside those of operations, after them; anybody can emit any. */
      readonly emitted?: readonly Pick<Log, 'address' | 'topics' | 'data'>[];
      readonly time?: number;
    } = {},
  ): Block {
    const parent = this.#mined.at(-1)!;
    const state = new Map(parent.state);
    const add = (account: string, amount: bigint) => state.set(account, (state.get(account) ?? 0n) + amount);
    for (const [account, amount] of content.transfers ?? []) add(account, amount);
    for (const { entryPoint, contract, cost, payer } of content.operations ?? []) {
      add(depositOf(entryPoint, contract), -cost);
      if (payer !== undefined) add(walletOf(contract, payer.wallet), -(payer.charge ?? cost));
    }
    const nonces = new Map(parent.nonces);
    for (const { entryPoint, sender, nonce } of [
      ...(content.operations ?? []),
      ...(content.incremented ?? []),
    ])
      nonces.set(nonceName(entryPoint, sender, nonce >> 64n), (nonce & uint64Max) + 1n);
    this.time = content.time ?? parent.block.timestamp + blockSeconds;
    return this.#append(this.time, content.operations ?? [], state, nonces, content.emitted);
  }

  mineEmpty(count: number): void {
    for (let i = 0; i < count; i++) this.mine();
  }

  /** Removes every block above `number`; the blocks mined next have other hashes. */
  reorganise(number: number): void {
    this.#mined = this.#mined.slice(0, number + 1);
    this.#branch += 1;
  }

  /** Replaces the chain from the first block on, as when a dev chain is started anew. */
  replace(time = this.#genesisTime): void {
    this.#mined = [];
    this.#branch += 1;
    this.time = time;
    this.#append(time, [], new Map());
  }

  /** Another node of the same chain, which hides nothing. */
  twin(): FakeChain {
    const twin = new FakeChain({ chainId: this.#id, time: this.#genesisTime });
    twin.follow(this);
    return twin;
  }

  /** Takes over the blocks of another node. */
  follow(other: FakeChain): void {
    this.#mined = [...other.#mined];
    this.time = other.time;
  }

  stateAt(number = this.height): State {
    return this.#mined[number]!.state;
  }

  async chainId(): Promise<number> {
    this.#answer('eth_chainId');
    return this.#id;
  }

  async block(tag: BlockTag): Promise<Block | undefined> {
    this.#answer('eth_getBlockByNumber');
    const head = this.#head();
    if (tag === 'pending')
      return {
        number: head.block.number + 1,
        hash: hashOf(0),
        parentHash: head.block.hash,
        timestamp: Math.max(this.time, head.block.timestamp + 1),
        baseFeePerGas: head.block.baseFeePerGas,
      };
    if (tag === 'finalized' && this.final !== undefined)
      return this.final === 'unknown' ? undefined : this.#mined[this.final]?.block;
    return this.#at(tag)?.block;
  }

  async call({ to, data, block }: CallRequest): Promise<Hex> {
    this.#answer('eth_call');
    const answer = this.#word({ to, data }, block ?? 'latest');
    if (answer === undefined) throw new CallReverted('0x', 'execution reverted');
    return word(answer);
  }

  async words(calls: readonly WordCall[], block: BlockTag): Promise<readonly (bigint | undefined)[]> {
    for (let at = 0; at < calls.length; at += wordsPerRequest) this.#answer('eth_call');
    return calls.map((call) => this.#word(call, block));
  }

  #word({ to, data }: WordCall, block: BlockTag): bigint | undefined {
    const at = this.#at(block);
    if (at === undefined) throw new DomainError('UNAVAILABLE', 'header not found');
    const target = to.toLowerCase();
    if (data.startsWith(getNonceSelector)) {
      const key = BigInt(`0x${data.slice(74)}`);
      const sequence =
        this.nonceOverride ?? at.nonces.get(nonceName(target, `0x${data.slice(34, 74)}`, key)) ?? 0n;
      return (key << 64n) | sequence;
    }
    const subject = `0x${data.slice(-40)}`;
    if (this.broken.has(target) || this.broken.has(subject)) return undefined;
    const isKnown = data.startsWith(balanceOfSelector) || data.startsWith(getBalanceSelector);
    return isKnown ? (at.state.get(`${target}/${subject}`) ?? 0n) : undefined;
  }

  async code(): Promise<Hex> {
    this.#answer('eth_getCode');
    return '0xfe';
  }

  async balance(): Promise<bigint> {
    this.#answer('eth_getBalance');
    return 0n;
  }

  async logs({ address, topics = [], ...blocks }: LogFilter): Promise<readonly Log[]> {
    this.#answer('eth_getLogs');
    this.#refuse('eth_getLogs', { logs: { address, topics, ...blocks } as LogFilter });
    const [fromBlock, toBlock] = this.#range(blocks);
    if (toBlock - fromBlock >= this.widestRange)
      throw new DomainError('UNAVAILABLE', 'query returned more than 10000 results');
    if (this.hidesLogs || (this.hidesByPaymaster && topics[3] !== undefined)) return [];
    const addresses = address === undefined ? undefined : [address].flat().map((one) => one.toLowerCase());
    const found = this.#mined
      .slice(fromBlock, Math.min(toBlock, this.#head().block.number) + 1)
      .flatMap(({ logs }) => logs)
      .filter((log) => addresses?.includes(log.address) ?? true)
      .filter((log) =>
        topics.every((topic, i) => topic === null || [topic].flat().some((one) => one === log.topics[i])),
      );
    if (found.length > this.mostLogs)
      throw new DomainError('UNAVAILABLE', `query returned more than ${this.mostLogs} results`);
    return found;
  }

  async priorityFee(): Promise<bigint> {
    this.#answer('eth_maxPriorityFeePerGas');
    if (!this.hasPriorityFee) throw new DomainError('UNAVAILABLE', 'the method does not exist');
    return 1_500_000_000n;
  }

  async transaction(hash: Hex): Promise<Transaction | undefined> {
    this.#answer('eth_getTransactionByHash');
    this.#refuse('eth_getTransactionByHash', { transaction: hash });
    const mined = this.#mined.flatMap(({ transactions }) => transactions).find((one) => one.hash === hash);
    return mined === undefined || this.hidesTransactions ? undefined : { input: mined.input, to: mined.to };
  }

  async request(method: string): Promise<unknown> {
    this.#answer(method);
    throw new DomainError('UNAVAILABLE', `the method ${method} does not exist`);
  }

  async stop(): Promise<void> {}

  #append(
    timestamp: number,
    operations: readonly FakeOperation[],
    state: State,
    nonces: ReadonlyMap<string, bigint> = new Map(),
    emitted: readonly Pick<Log, 'address' | 'topics' | 'data'>[] = [],
  ): Block {
    const number = this.#mined.length;
    const hash = hashOf(((number + 1) << 8) | this.#branch);
    const block: Block = {
      number,
      hash,
      parentHash: this.#mined.at(-1)?.block.hash ?? hashOf(0),
      timestamp,
      baseFeePerGas: 7n,
    };
    this.#mined.push({
      block,
      logs: [
        ...operations.flatMap((operation, i) => logsOf(operation, i, block)),
        ...emitted.map((log, i) => ({
          ...log,
          blockNumber: number,
          blockHash: hash,
          transactionHash: transactionHashOf(number, 500 + i),
          logIndex: 1_000 + i,
        })),
      ],
      transactions: operations.map(({ entryPoint, input }, i) => ({
        hash: transactionHashOf(number, i),
        to: entryPoint,
        input: input ?? '0x',
      })),
      state,
      nonces,
    });
    return block;
  }

  #range(blocks: LogFilter): readonly [from: number, to: number] {
    if (!('blockHash' in blocks)) {
      this.ranges.push(blocks.toBlock - blocks.fromBlock + 1);
      return [blocks.fromBlock, blocks.toBlock];
    }
    const number = this.#at({ hash: blocks.blockHash })?.block.number;
    if (number === undefined) throw new DomainError('UNAVAILABLE', 'unknown block');
    return this.hidesBlockLogs ? [number, number - 1] : [number, number];
  }

  #head(): Mined {
    return this.#mined[Math.min(this.shown ?? this.height, this.height)]!;
  }

  #at(tag: BlockTag): Mined | undefined {
    if (typeof tag === 'object') return this.#mined.find(({ block }) => block.hash === tag.hash);
    if (typeof tag === 'string') return this.#head();
    return tag > this.#head().block.number || this.missing.has(tag) ? undefined : this.#mined[tag];
  }

  #refuse(method: string, asked: Parameters<FakeChain['refuses']>[0]): void {
    if (this.refuses(asked))
      throw new DomainError('UNAVAILABLE', `${method} failed: an answer above 4194304 bytes`);
  }

  #answer(method: string): void {
    this.requests.set(method, (this.requests.get(method) ?? 0) + 1);
    if (this.isDown) throw new DomainError('UNAVAILABLE', `chain ${this.#id} does not answer`);
  }
}

/** Name of a contract's deposit in an EntryPoint. */
export function depositOf(entryPoint: string, contract: string): string {
  return `${entryPoint}/${contract}`;
}

/** Name of a sponsor's balance inside a contract. */
export function walletOf(contract: string, wallet: string): string {
  return `${contract}/${wallet}`;
}

/** One transaction per operation: first the contract's charge, then the EntryPoint's event. */
function logsOf(operation: FakeOperation, index: number, block: Block): readonly Log[] {
  const {
    entryPoint,
    contract,
    sender,
    nonce,
    cost,
    payer,
    tokenCharge,
    userOpHash,
    success = true,
  } = operation;
  const place = {
    blockNumber: block.number,
    blockHash: block.hash,
    transactionHash: transactionHashOf(block.number, index),
  };
  const mined: Log = {
    ...place,
    address: toAddressKey(entryPoint),
    topics: [userOperationEventTopic, userOpHash ?? hashOf(Number(nonce)), topic(sender), topic(contract)],
    data: `0x${[nonce, success ? 1n : 0n, cost, 21_000n].map((value) => word(value).slice(2)).join('')}`,
    logIndex: index * 2 + 1,
  };
  const before: Log[] = [];
  if (tokenCharge !== undefined)
    before.push({
      ...place,
      address: toAddressKey(contract),
      topics: [tokenCharge.topic0, topic(sender), topic(contract)],
      data: `0x${[cost, 1n, 0n, 1n, BigInt(mined.topics[1]!)].map((value) => word(value).slice(2)).join('')}`,
      logIndex: index * 2,
    });
  if (payer?.topic0 !== undefined)
    before.push({
      ...place,
      address: toAddressKey(contract),
      topics: [payer.topic0, topic(payer.wallet), word(payer.charge ?? cost)],
      data: '0x',
      logIndex: index * 2,
    });
  return [...before, mined];
}

function transactionHashOf(block: number, index: number): Hex {
  return hashOf(block * 1000 + index + 1);
}

function nonceName(entryPoint: string, sender: string, key: bigint): string {
  return `${entryPoint}/${sender}/${key}`;
}

function topic(address: AddressKey): Hex {
  return `0x${'0'.repeat(24)}${address.slice(2)}`;
}

function word(value: bigint): Hex {
  return `0x${value.toString(16).padStart(64, '0')}`;
}

function hashOf(value: number): Hex {
  return word(BigInt(value));
}
