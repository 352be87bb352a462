import {
  CallReverted,
  type Block,
  type BlockTag,
  type CallRequest,
  type Chain,
  type Log,
  type LogFilter,
} from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { userOperationEventTopic } from '../../core/paymaster/entry-point.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';

const balanceOfSelector = '0x70a08231';
const getBalanceSelector = '0xf8b2cb4f';
const blockSeconds = 12;

type Mined = { readonly block: Block; readonly logs: readonly Log[]; readonly state: State };
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
  /** Funding wallet that the contract charges, and the topic by which it says so. */
  readonly payer?: { readonly wallet: AddressKey; readonly topic0?: Hex; readonly charge?: bigint };
};

/**
 * A chain in memory: blocks are mined by hand, may be taken back, and hold operations, deposits and balances. Every
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
  /** Head that the node shows, when it lags behind. */
  shown: number | undefined;
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
    this.time = content.time ?? parent.block.timestamp + blockSeconds;
    return this.#append(this.time, content.operations ?? [], state);
  }

  mineEmpty(count: number): void {
    for (let i = 0; i < count; i++) this.mine();
  }

  /** Takes back every block above `number`; what is mined next has other hashes. */
  reorganise(number: number): void {
    this.#mined = this.#mined.slice(0, number + 1);
    this.#branch += 1;
  }

  /** Another chain from the first block on, as after a dev chain was started anew. */
  replace(time = this.#genesisTime): void {
    this.#mined = [];
    this.#branch += 1;
    this.time = time;
    this.#append(time, [], new Map());
  }

  stateAt(number = this.height): State {
    return this.#mined[number]!.state;
  }

  async chainId(): Promise<number> {
    this.#answer();
    return this.#id;
  }

  async block(tag: BlockTag): Promise<Block | undefined> {
    this.#answer();
    const head = this.#head();
    if (tag === 'pending')
      return {
        number: head.block.number + 1,
        hash: hashOf(0),
        parentHash: head.block.hash,
        timestamp: Math.max(this.time, head.block.timestamp + 1),
        baseFeePerGas: head.block.baseFeePerGas,
      };
    return this.#at(tag)?.block;
  }

  async call({ to, data, block }: CallRequest): Promise<Hex> {
    this.#answer();
    const at = this.#at(block ?? 'latest');
    if (at === undefined) throw new DomainError('UNAVAILABLE', 'header not found');
    const subject = `0x${data.slice(-40)}`;
    const target = to.toLowerCase();
    if (this.broken.has(target) || this.broken.has(subject))
      throw new CallReverted('0x', 'execution reverted');
    const isKnown = data.startsWith(balanceOfSelector) || data.startsWith(getBalanceSelector);
    if (!isKnown) throw new CallReverted('0x', 'execution reverted');
    return word(at.state.get(`${target}/${subject}`) ?? 0n);
  }

  async code(): Promise<Hex> {
    this.#answer();
    return '0xfe';
  }

  async balance(): Promise<bigint> {
    this.#answer();
    return 0n;
  }

  async logs({ fromBlock, toBlock, address, topics = [] }: LogFilter): Promise<readonly Log[]> {
    this.#answer();
    this.ranges.push(toBlock - fromBlock + 1);
    if (toBlock - fromBlock >= this.widestRange)
      throw new DomainError('UNAVAILABLE', 'query returned more than 10000 results');
    const addresses = address === undefined ? undefined : [address].flat().map((one) => one.toLowerCase());
    return this.#mined
      .slice(fromBlock, Math.min(toBlock, this.#head().block.number) + 1)
      .flatMap(({ logs }) => logs)
      .filter((log) => addresses?.includes(log.address) ?? true)
      .filter((log) =>
        topics.every((topic, i) => topic === null || [topic].flat().some((one) => one === log.topics[i])),
      );
  }

  async priorityFee(): Promise<bigint> {
    this.#answer();
    if (!this.hasPriorityFee) throw new DomainError('UNAVAILABLE', 'the method does not exist');
    return 1_500_000_000n;
  }

  async transaction(): Promise<undefined> {
    this.#answer();
  }

  async request(method: string): Promise<unknown> {
    this.#answer();
    throw new DomainError('UNAVAILABLE', `the method ${method} does not exist`);
  }

  async stop(): Promise<void> {}

  #append(timestamp: number, operations: readonly FakeOperation[], state: State): Block {
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
      logs: operations.flatMap((operation, i) => logsOf(operation, i, block)),
      state,
    });
    return block;
  }

  #head(): Mined {
    return this.#mined[Math.min(this.shown ?? this.height, this.height)]!;
  }

  #at(tag: BlockTag): Mined | undefined {
    if (typeof tag === 'object') return this.#mined.find(({ block }) => block.hash === tag.hash);
    if (typeof tag === 'string') return this.#head();
    return tag > this.#head().block.number ? undefined : this.#mined[tag];
  }

  #answer(): void {
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
  const { entryPoint, contract, sender, nonce, cost, payer, userOpHash, success = true } = operation;
  const place = {
    blockNumber: block.number,
    blockHash: block.hash,
    transactionHash: hashOf(block.number * 1000 + index + 1),
  };
  const mined: Log = {
    ...place,
    address: toAddressKey(entryPoint),
    topics: [userOperationEventTopic, userOpHash ?? hashOf(Number(nonce)), topic(sender), topic(contract)],
    data: `0x${[nonce, success ? 1n : 0n, cost, 21_000n].map((value) => word(value).slice(2)).join('')}`,
    logIndex: index * 2 + 1,
  };
  if (payer?.topic0 === undefined) return [mined];
  const topics = [payer.topic0, topic(payer.wallet), word(payer.charge ?? cost)];
  return [{ ...place, address: toAddressKey(contract), topics, data: '0x', logIndex: index * 2 }, mined];
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
