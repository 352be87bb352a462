import type { Chain, Log, LogFilter } from '../../core/chain/chain.js';
import {
  decodeUserOperationEvent,
  userOperationEventTopic,
} from '../../core/entry-point/user-operation-event.js';
import { addressTopic, toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { OperationId } from '../../core/usage/reservation.js';
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

/** What shows events. */
export type Shows = Pick<Chain, 'logs'>;

export type Filter = Required<Pick<LogFilter, 'address' | 'topics'>>;

/** Told of a block whose events cannot be read. */
export type Refused = (block: number) => void;
/** Most blocks that one scan leaves out: a node that refuses more is broken, and not the blocks. */
const maxRefused = 16;
/** Blocks before the one that was refused, of which one must be readable: otherwise the node answers no such query. */
const others = [1, 2, 100];

/**
 * Reads events block range by block range. When a node refuses a range (too wide, too many results, too large an answer), asks for an
 * eighth of it, down to one block, and then for this block contract by contract. It takes few attempts to get there, since the node may
 * simply be down. The width that worked is remembered and slowly increased again. What is refused even then is left out, if the node
 * answers the same query for another block.
 */
export class Scanner {
  #page = widestPage;

  /** Operations mined in `from`…`to`, in order; none when the range is empty. Throws the node's last refusal. */
  async operations(
    chain: Shows,
    watched: Watched,
    from: number,
    to: number,
    refused: Refused = () => {},
  ): Promise<readonly MinedOperation[]> {
    if (watched.contracts.length === 0) return [];
    return this.#all(chain, toFilter(watched), [from, to], refused);
  }

  /** Those of one block. Throws UNAVAILABLE when this connection does not show them. */
  async block(chain: Shows, watched: Watched, block: number): Promise<readonly MinedOperation[]> {
    if (watched.contracts.length === 0) return [];
    const logs = await inParts(chain, toFilter(watched), block, (error) => {
      throw error;
    });
    return inOrder(logs.flatMap(decode));
  }

  /**
   * The operations among these that were mined in the last blocks up to `to`, regardless of who paid for them. They are found by
   * their senders, for which the node uses a different index than for paymasters.
   */
  async bySender(
    chain: Shows,
    wanted: readonly OperationId[],
    to: number,
  ): Promise<readonly MinedOperation[]> {
    return this.ofSenders(chain, wanted, Math.max(0, to - lookBackBlocks + 1), to);
  }

  /** The same in `from`…`to`. */
  async ofSenders(
    chain: Shows,
    wanted: readonly OperationId[],
    from: number,
    to: number,
  ): Promise<readonly MinedOperation[]> {
    const found: MinedOperation[] = [];
    const address = [...new Set(wanted.map(({ entryPoint }) => entryPoint))];
    const senders = [...new Set(wanted.map(({ sender }) => sender))];
    for (let at = 0; at < senders.length; at += sendersAtOnce) {
      const topics = [userOperationEventTopic, null, senders.slice(at, at + sendersAtOnce).map(addressTopic)];
      found.push(...(await this.#all(chain, { address, topics }, [from, to], () => {})));
    }
    const ids = new Set(wanted.map(operationId));
    return found.filter((operation) => ids.has(operationId(operation)));
  }

  async #all(
    chain: Shows,
    filter: Filter,
    [from, to]: readonly [from: number, to: number],
    refused: Refused,
  ): Promise<readonly MinedOperation[]> {
    return inOrder((await this.logs(chain, filter, [from, to], refused)).flatMap(decode));
  }

  /** All events of a filter in `from`…`to`. Throws the node's last refusal. */
  async logs(
    chain: Shows,
    filter: Filter,
    [from, to]: readonly [from: number, to: number],
    refused: Refused,
  ): Promise<readonly Log[]> {
    const found: Log[] = [];
    const leftOut = new Set<number>();
    for (let next = from; next <= to;) {
      const last = Math.min(to, next + this.#page - 1);
      const logs = await this.#read(chain, filter, next, last, leftOut);
      if (logs === undefined) continue;
      found.push(...logs);
      next = last + 1;
    }
    for (const block of leftOut) refused(block);
    return found;
  }

  /** Undefined when the node refused the range, which is then read in parts. */
  async #read(
    chain: Shows,
    filter: Filter,
    from: number,
    to: number,
    leftOut: Set<number>,
  ): Promise<readonly Log[] | undefined> {
    try {
      const logs = await chain.logs({ fromBlock: from, toBlock: to, ...filter });
      this.#page = Math.min(widestPage, this.#page * 2);
      return logs;
    } catch {
      if (from < to) {
        this.#page = Math.max(1, Math.floor((to - from + 1) / 8));
        return undefined;
      }
      const logs = await inParts(chain, filter, from, async (refusal, part) => {
        if (leftOut.size >= maxRefused || !(await isAnswered(chain, part, from))) throw refusal;
        leftOut.add(from);
      });
      this.#page = Math.min(widestPage, this.#page * 2);
      return logs;
    }
  }
}

type OnRefusal = (refusal: unknown, part: Filter) => void | Promise<void>;

/** The events of one block, half of the contracts (or senders) after the other where a query for more is refused. */
async function inParts(
  chain: Shows,
  filter: Filter,
  block: number,
  onRefusal: OnRefusal,
): Promise<readonly Log[]> {
  try {
    return await chain.logs({ fromBlock: block, toBlock: block, ...filter });
  } catch (error) {
    const [one, other] = halved(filter) ?? [];
    if (one !== undefined && other !== undefined)
      return [
        ...(await inParts(chain, one, block, onRefusal)),
        ...(await inParts(chain, other, block, onRefusal)),
      ];
    await onRefusal(error, filter);
    return [];
  }
}

/** Undefined for a filter with one address and one topic of each kind. */
function halved({ address, topics }: Filter): readonly [Filter, Filter] | undefined {
  const index = topics.findIndex((topic) => Array.isArray(topic) && topic.length > 1);
  const topic = topics[index];
  if (Array.isArray(topic)) {
    const half = Math.ceil(topic.length / 2);
    const withTopic = (part: readonly Hex[]): Filter => ({ address, topics: topics.with(index, part) });
    return [withTopic(topic.slice(0, half)), withTopic(topic.slice(half))];
  }
  if (typeof address === 'string' || address.length < 2) return undefined;
  const half = Math.ceil(address.length / 2);
  return [
    { address: address.slice(0, half), topics },
    { address: address.slice(half), topics },
  ];
}

/** Whether the node answers the same query for a block before this one. */
async function isAnswered(chain: Shows, filter: Filter, block: number): Promise<boolean> {
  for (const before of others.filter((distance) => distance <= block))
    try {
      await chain.logs({ fromBlock: block - before, toBlock: block - before, ...filter });
      return true;
    } catch {
      continue;
    }
  return false;
}

function toFilter({ entryPoints, contracts }: Watched): Filter {
  return { address: entryPoints, topics: [userOperationEventTopic, null, null, contracts.map(addressTopic)] };
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
