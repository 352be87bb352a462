import type { Hex } from '../units/hex.js';

/**
 * Port: one Ethereum JSON-RPC chain. Every call has a deadline. When a node cannot answer, the call throws
 * DomainError UNAVAILABLE; when a contract reverts, `call` throws {@link CallReverted}. Addresses go in as lowercase
 * or checksummed hex and come out as lowercase hex.
 */
export type Chain = {
  chainId(): Promise<number>;
  block(tag: BlockTag): Promise<Block | undefined>;
  call(request: CallRequest): Promise<Hex>;
  /**
   * One word from each of many read-only calls at one block. Sends one request for every {@link wordsPerRequest}
   * calls if the node allows it. Undefined for a call that reverts or answers less than a word. Call data are at most
   * 96 bytes.
   */
  words(calls: readonly WordCall[], block: BlockTag): Promise<readonly (bigint | undefined)[]>;
  code(address: string, tag?: BlockTag): Promise<Hex>;
  balance(address: string, tag?: BlockTag): Promise<bigint>;
  logs(filter: LogFilter): Promise<readonly Log[]>;
  /** The node's suggestion for maxPriorityFeePerGas, in wei. */
  priorityFee(): Promise<bigint>;
  /** Undefined when the node does not have it. */
  transaction(hash: Hex): Promise<Transaction | undefined>;
  /** Any other method, e.g. a bundler's `eth_estimateUserOperationGas`. */
  request(method: string, params: readonly unknown[]): Promise<unknown>;
  stop(): Promise<void>;
};

export const wordsPerRequest = 150;

export type WordCall = { readonly to: string; readonly data: Hex };

export type BlockTag = 'latest' | 'pending' | 'safe' | 'finalized' | number | { readonly hash: Hex };

/** Blocks on top of an event before it counts; `finalized`: it counts when the node says that its block is final. */
export type Confirmations = number | 'finalized';

export type Block = {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly baseFeePerGas: bigint;
};

export type CallRequest = {
  readonly to: string;
  readonly data: Hex;
  readonly from?: string;
  readonly value?: bigint;
  readonly gas?: bigint;
  readonly block?: BlockTag;
  /** A state override set in geth's format, keyed by address. */
  readonly overrides?: Readonly<Record<string, StateOverride>>;
};

export type StateOverride = {
  readonly code?: Hex;
  readonly balance?: bigint;
  readonly stateDiff?: Readonly<Record<Hex, Hex>>;
};

/** Logs of a range of blocks, or of one block whatever its height. */
export type LogFilter = (
  { readonly fromBlock: number; readonly toBlock: number } | { readonly blockHash: Hex }
) & {
  readonly address?: string | readonly string[];
  readonly topics?: readonly (Hex | readonly Hex[] | null)[];
};

export type Log = {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: number;
  readonly blockHash: Hex;
  readonly transactionHash: Hex;
  readonly logIndex: number;
};

/** `to` is undefined when it deploys a contract. */
export type Transaction = { readonly input: Hex; readonly to: Hex | undefined };

/** An `eth_call` that the contract reverted; `data` is the revert data, `0x` when the node gives none. */
export class CallReverted extends Error {
  readonly data: Hex;

  constructor(data: Hex, message: string) {
    super(message);
    this.name = 'CallReverted';
    this.data = data;
  }
}

/** How to connect to a chain: as in `ChainSpec.rpc`. */
export type ChainEndpoint = {
  readonly chainId: number;
  /**
   * Uses separate connections. Simulations for callers must not delay the follower's reads, and a simulation that
   * takes the node too long must not make the URL count as dead for other uses. Answers of bundlers are for callers, and smaller.
   */
  readonly lane?: 'simulations' | 'bundlers';
  /** Asks one URL alone: that with this number, modulo their number. */
  readonly only?: number;
  readonly rpc: {
    readonly urls?: readonly string[];
    readonly file?: string;
    /** Where the chain has Multicall3. */
    readonly multicall3?: string;
  };
};

/** Port: one pooled connection per chain endpoint, shared by the whole process. A changed endpoint is a new one. */
export type Chains = {
  get(endpoint: ChainEndpoint): Chain;
  stop(): Promise<void>;
};
