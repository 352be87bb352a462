import type { Ambient } from '../../core/ambient.js';
import type { LedgerWriter } from '../../core/ledger/ledger.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Instruments } from '../ops/instruments.js';
import { createFundsSamples } from './funds.js';
import { createGaps } from './gaps.js';
import { createOffers } from './offers.js';
import { createRecordIds } from './record-ids.js';
import { createRefusalRecords } from './refusal-records.js';
import type { LedgerRoom } from './room.js';

/** What a process of the rpc role needs to make records for the ledger. */
export type Recording = Readonly<ReturnType<typeof createRecording>>;

export function createRecording(
  deps: Pick<Ambient, 'clock' | 'log'> & {
    readonly ledger: LedgerWriter;
    /** Absent: the ledger always has room. */
    readonly ledgerRoom?: LedgerRoom;
    readonly usage: Pick<UsageStore, 'accounts' | 'now'>;
    readonly instruments: Pick<Instruments, 'ledgerDropped'>;
    /** See createFundsSamples. */
    readonly usdPerNative: (chainId: number) => bigint | undefined;
    /** Absent: the default. */
    readonly refusalsPerSecond?: number;
  },
) {
  const { ledger, ledgerRoom, usage, clock, log, instruments, usdPerNative, refusalsPerSecond } = deps;
  // The store's time, which replicas share: ids order what different replicas record about one reservation.
  const ids = createRecordIds(usage);
  const offers = createOffers({ ledger, log });
  const counts = {
    rate: instruments.ledgerDropped.with({ cause: 'rate' }),
    space: instruments.ledgerDropped.with({ cause: 'space' }),
  };
  const gaps = createGaps({ offers, ids, dropped: (cause) => counts[cause].inc() });
  const funds = createFundsSamples({ usage, offers, ids, usdPerNative, clock, log });
  return {
    ids,
    refusals: createRefusalRecords({
      offers: ledgerRoom?.within(offers) ?? offers,
      gaps,
      clock,
      ...(refusalsPerSecond === undefined ? {} : { perSecond: refusalsPerSecond }),
    }),
    funds,
    start(): void {
      offers.start();
      gaps.start();
    },
    /** Offers what still waits. Call it when no request is running. May be called twice. */
    async stop(): Promise<void> {
      await funds.stop();
      gaps.stop();
      await offers.stop();
    },
  };
}
