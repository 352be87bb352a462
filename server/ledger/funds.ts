import type { Ambient } from '../../core/ambient.js';
import type { FundsSample } from '../../core/ledger/record.js';
import { gweiToWei } from '../../core/units/wei.js';
import { accountName } from '../../core/usage/accounts.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Offers } from './offers.js';
import type { RecordIds } from './record-ids.js';

/** Records the balance and the promises of every account of a chain with the price of its coin, once a minute. */
export type FundsSamples = ReturnType<typeof createFundsSamples>;

const minuteMs = 60_000;

export function createFundsSamples(
  deps: Pick<Ambient, 'clock' | 'log'> & {
    readonly usage: Pick<UsageStore, 'accounts'>;
    readonly offers: Pick<Offers, 'add'>;
    readonly ids: RecordIds;
    /** US dollars per coin with 18 implied decimals; undefined: no price may be used now. */
    readonly usdPerNative: (chainId: number) => bigint | undefined;
  },
) {
  const { usage, offers, ids, usdPerNative, clock, log } = deps;
  const minutes = new Map<number, number>();
  const running = new Set<Promise<void>>();

  async function sample(chainId: number, held: ReadonlyMap<string, bigint>): Promise<void> {
    try {
      const price = usdPerNative(chainId);
      const accounts = await usage.accounts(chainId);
      // The first accounts of a chain do not wait for the next minute: without a sample nothing has a price.
      if (accounts.every(({ balance }) => balance === undefined)) minutes.delete(chainId);
      for (const account of accounts) {
        const { contract, fundingAddress, balance, reserved } = account;
        if (balance === undefined) continue;
        const record: FundsSample = {
          kind: 'funds',
          ...ids.next(),
          chainId,
          contract,
          fundingAddress,
          // What may be promised is counted in gwei, and may be less than there is.
          balanceWei: held.get(accountName(account)) ?? gweiToWei(balance),
          promisedWei: gweiToWei(reserved),
          usdPerNative: price,
        };
        // Without room this minute has no sample; the next one has.
        offers.add(record);
      }
    } catch (error) {
      log.warn('balances were not recorded', { chainId, error });
    }
  }

  return {
    /** Called after each round of a chain that this replica follows, with what its accounts hold in wei, as far as it was read. Never throws. */
    followed(chainId: number, held: ReadonlyMap<string, bigint>): void {
      const minute = Math.floor(clock.now() / minuteMs);
      if (minutes.get(chainId) === minute) return;
      minutes.set(chainId, minute);
      const taking: Promise<void> = sample(chainId, held).finally(() => running.delete(taking));
      running.add(taking);
    },
    /** Resolves when no sample is being taken. */
    async stop(): Promise<void> {
      await Promise.all(running);
    },
  };
}
