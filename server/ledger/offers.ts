import type { LedgerFeed } from '../../core/ledger/feed.js';
import type { Logger } from '../../core/log.js';

/**
 * Records that nothing waits for (refusals, inputs, balances), on their way to the feed. A request only puts its text
 * here; texts are offered in batches every 250 ms, or as soon as a chain has 500. While the feed does not take them
 * they wait, at most 16 MiB of them.
 */
export type Offers = ReturnType<typeof createOffers>;

const everyMs = 250;
const batchSize = 500;
const mostCharacters = 16 * 1_048_576;

type Waiting = { texts: string[]; offering: Promise<void> | undefined };

export function createOffers(deps: {
  readonly feed: Pick<LedgerFeed, 'offer'>;
  readonly log: Logger;
  /** Of the feed's room that these texts may use. */
  readonly share?: number;
}) {
  const { feed, log, share } = deps;
  const chains = new Map<number, Waiting>();
  let characters = 0;
  let timer: NodeJS.Timeout | undefined;
  let hasFailed = false;
  let isStopped = false;

  /** Offers until nothing waits, or the feed fails: then the next tick goes on. An id that is offered again is stored once. */
  async function drain(chainId: number, waiting: Waiting): Promise<void> {
    while (waiting.texts.length > 0) {
      const batch = waiting.texts.slice(0, batchSize);
      try {
        await feed.offer(chainId, batch, share);
      } catch (error) {
        if (!hasFailed) log.warn('offering records to the ledger failed, they wait', { chainId, error });
        hasFailed = true;
        return;
      }
      hasFailed = false;
      waiting.texts = waiting.texts.slice(batch.length);
      for (const { length } of batch) characters -= length;
    }
  }

  function offer(chainId: number, waiting: Waiting): void {
    waiting.offering ??= drain(chainId, waiting).finally(() => (waiting.offering = undefined));
  }

  function offerAll(): void {
    for (const [chainId, waiting] of chains) if (waiting.texts.length > 0) offer(chainId, waiting);
  }

  return {
    /** False: there is no room, and the text is not kept. Never waits, never throws. */
    add(chainId: number, text: string): boolean {
      if (isStopped || characters + text.length > mostCharacters) return false;
      let waiting = chains.get(chainId);
      if (waiting === undefined) {
        waiting = { texts: [], offering: undefined };
        chains.set(chainId, waiting);
      }
      waiting.texts.push(text);
      characters += text.length;
      if (waiting.texts.length === batchSize) offer(chainId, waiting);
      return true;
    },
    start(): void {
      timer ??= setInterval(offerAll, everyMs).unref();
    },
    /** Offers what waits once more. May be called twice. */
    async stop(): Promise<void> {
      isStopped = true;
      clearInterval(timer);
      for (const waiting of chains.values()) await waiting.offering;
      offerAll();
      for (const waiting of chains.values()) await waiting.offering;
    },
  };
}
