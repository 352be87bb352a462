import type { Chain, Log } from '../../core/chain/chain.js';
import { decodeUserOperationEvent, userOperationEventTopic } from '../../core/paymaster/entry-point.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { Hex } from '../../core/units/hex.js';
import type { MinedOperation } from './settlement.js';

const widestPage = 5_000;

/** What to look for: operations that these contracts paid for, in these EntryPoints. */
export type Watched = {
  readonly entryPoints: readonly AddressKey[];
  readonly contracts: readonly AddressKey[];
};

/**
 * Reads events block range by block range. A node that refuses a range (too wide, too many results) is asked for an
 * eighth of it, down to one block (few attempts, since the node may just as well be down); what worked is remembered and slowly widened again.
 */
export class Scanner {
  #page = widestPage;

  /** Operations mined in `from`…`to`, in order; none when the range is empty. Throws what the node's last refusal was. */
  async operations(
    chain: Chain,
    watched: Watched,
    from: number,
    to: number,
  ): Promise<readonly MinedOperation[]> {
    if (watched.contracts.length === 0) return [];
    const found: MinedOperation[] = [];
    for (let next = from; next <= to;) {
      const last = Math.min(to, next + this.#page - 1);
      const logs = await this.#read(chain, watched, next, last);
      if (logs === undefined) continue;
      found.push(...logs.flatMap(decode));
      next = last + 1;
    }
    return found.toSorted((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex);
  }

  /** Undefined when the range was refused and is to be asked again in parts. */
  async #read(
    chain: Chain,
    { entryPoints, contracts }: Watched,
    from: number,
    to: number,
  ): Promise<readonly Log[] | undefined> {
    const topics = [userOperationEventTopic, null, null, contracts.map(addressTopic)];
    try {
      const logs = await chain.logs({ fromBlock: from, toBlock: to, address: entryPoints, topics });
      this.#page = Math.min(widestPage, this.#page * 2);
      return logs;
    } catch (error) {
      if (from === to) throw error;
      this.#page = Math.max(1, Math.floor((to - from + 1) / 8));
      return undefined;
    }
  }
}

function decode(log: Log): readonly MinedOperation[] {
  const event = decodeUserOperationEvent(log);
  if (event === undefined) return [];
  const { blockNumber, transactionHash, logIndex } = log;
  return [{ ...event, entryPoint: toAddressKey(log.address), blockNumber, transactionHash, logIndex }];
}

function addressTopic(address: AddressKey): Hex {
  return `0x${'0'.repeat(24)}${address.slice(2)}`;
}
