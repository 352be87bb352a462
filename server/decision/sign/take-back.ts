import type { Settlement } from '../../../core/ledger/record.js';
import type { Logger } from '../../../core/log.js';
import { given } from '../../../core/units/given.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { RecordIds } from '../../ledger/record-ids.js';
import { toReservationKey, type Promised } from '../reservation.js';

/** Takes back a promise that was reserved and certainly never signed. Never throws. */
export type TakeBack = (promised: Promised) => Promise<void>;

/** `recording`: absent when nothing is recorded. */
export function createTakeBack({
  usage,
  recording,
  log,
}: {
  readonly usage: Pick<UsageStore, 'takeBack'>;
  readonly recording: { readonly ids: RecordIds } | undefined;
  readonly log: Logger;
}): TakeBack {
  return async (promised) => {
    const { tenant: organisation, paymasterId, chainId } = promised.paymaster;
    const record: Settlement | undefined = recording && {
      kind: 'settlement',
      ...recording.ids.next(),
      organisation,
      paymasterId,
      chainId,
      outcome: 'expired',
      mined: undefined,
    };
    try {
      const { digest } = promised.promise;
      await usage.takeBack({ key: toReservationKey(promised), digest, ...given({ record }) });
    } catch (error) {
      log.warn('a promise without a signature was not taken back, and ends when it expires', { error });
    }
  };
}
