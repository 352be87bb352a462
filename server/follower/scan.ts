import type { Chain, Log, LogFilter } from '../../core/chain/chain.js';
import {
  decodeUserOperationEvent,
  userOperationEventTopic,
} from '../../core/entry-point/user-operation-event.js';
import { addressTopic, toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { OperationId } from '../../core/usage/usage-store.js';
import { operationId, type MinedOperation } from './mined.js';

const widestPage = 5_000;

/** How far back the events of a sender are read: hours, also on chains with several blocks a second. */
const lookBackBlocks = 20_000;
/** Topics of one query that every node takes. */
export const sendersAtOnce = 50;

/** What to look for: operations that these contracts paid for, in these EntryPoints. */
export type Watched = {
  readonly entryPoints: readonly AddressKey[];
  readonly contracts: readonly AddressKey[];
};

type Filter = Required<Pick<LogFilter, 'address' | 'topics'>>;

/**
 * Reads events block range by block range. When a node refuses a range (too wide, too many results), asks for an eighth of it,
 * down to one block. It takes few attempts to get there, since the node may simply be down. The width that worked is remembered
 * and slowly increased again.
 */
export class Scanner {
  #page = widestPage;

  /** Operations mined in `from`…`to`, in order; none when the range is empty. Throws the node's last refusal. */
  async operations(
    chain: Chain,
    watched: Watched,
    from: number,
    to: number,
  ): Promise<readonly MinedOperation[]> {
    if (watched.contracts.length === 0) return [];
    const topics = [userOperationEventTopic, null, null, watched.contracts.map(addressTopic)];
    return this.#all(chain, { address: watched.entryPoints, topics }, from, to);
  }

  /**
   * The operations among these that were mined in the last blocks up to `to`, regardless of who paid for them. They are found by
   * their senders, for which the node uses a different index than for paymasters.
   */
  async bySender(
    chain: Chain,
    wanted: readonly OperationId[],
    to: number,
  ): Promise<readonly MinedOperation[]> {
    return this.ofSenders(chain, wanted, Math.max(0, to - lookBackBlocks + 1), to);
  }

  /** The same in `from`…`to`. */
  async ofSenders(
    chain: Chain,
    wanted: readonly OperationId[],
    from: number,
    to: number,
  ): Promise<readonly MinedOperation[]> {
    const found: MinedOperation[] = [];
    const address = [...new Set(wanted.map(({ entryPoint }) => entryPoint))];
    const senders = [...new Set(wanted.map(({ sender }) => sender))];
    for (let at = 0; at < senders.length; at += sendersAtOnce) {
      const topics = [userOperationEventTopic, null, senders.slice(at, at + sendersAtOnce).map(addressTopic)];
      found.push(...(await this.#all(chain, { address, topics }, from, to)));
    }
    const ids = new Set(wanted.map(operationId));
    return found.filter((operation) => ids.has(operationId(operation)));
  }

  async #all(chain: Chain, filter: Filter, from: number, to: number): Promise<readonly MinedOperation[]> {
    const found: MinedOperation[] = [];
    for (let next = from; next <= to;) {
      const last = Math.min(to, next + this.#page - 1);
      const logs = await this.#read(chain, filter, next, last);
      if (logs === undefined) continue;
      found.push(...logs.flatMap(decode));
      next = last + 1;
    }
    return inOrder(found);
  }

  /** Undefined when the node refused the range, which is then read in parts. */
  async #read(chain: Chain, filter: Filter, from: number, to: number): Promise<readonly Log[] | undefined> {
    try {
      const logs = await chain.logs({ fromBlock: from, toBlock: to, ...filter });
      this.#page = Math.min(widestPage, this.#page * 2);
      return logs;
    } catch (error) {
      if (from === to) throw error;
      this.#page = Math.max(1, Math.floor((to - from + 1) / 8));
      return undefined;
    }
  }
}

/** Merges two lists: each operation once, in the order of the chain. */
export function merged(
  a: readonly MinedOperation[],
  b: readonly MinedOperation[],
): readonly MinedOperation[] {
  const ids = new Set(a.map(operationId));
  return inOrder([...a, ...b.filter((operation) => !ids.has(operationId(operation)))]);
}

function inOrder(operations: readonly MinedOperation[]): readonly MinedOperation[] {
  return operations.toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
}

function decode(log: Log): readonly MinedOperation[] {
  const event = decodeUserOperationEvent(log);
  if (event === undefined) return [];
  const { blockNumber, blockHash, transactionHash, logIndex } = log;
  const place = { blockNumber, blockHash, transactionHash, logIndex };
  return [{ ...event, entryPoint: toAddressKey(log.address), ...place }];
}
