import type { Settlement } from '../../../core/ledger/record.js';
import type { Logger } from '../../../core/log.js';
import { given } from '../../../core/units/given.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import type { InputsRecords } from '../../ledger/inputs-records.js';
import type { RecordIds } from '../../ledger/record-ids.js';
import { formatInputs } from '../inputs-text.js';
import { keyOf, type Promised } from '../reservation.js';

/** Takes back a promise that was reserved and certainly never signed. Never throws. */
export type TakeBack = (promised: Promised) => Promise<void>;

/** `recording`: absent when nothing is recorded; `inputs`: absent when nobody decides again. */
export function createTakeBack({
  usage,
  recording,
  log,
}: {
  readonly usage: Pick<UsageStore, 'takeBack'>;
  readonly recording: { readonly ids: RecordIds; readonly inputs?: InputsRecords | undefined } | undefined;
  readonly log: Logger;
}): TakeBack {
  return async (promised) => {
    const { tenant: organisation, paymasterId, chainId } = promised.paymaster;
    const key = keyOf(promised);
    const { entryPoint, sender, nonce } = key;
    const line = () => recording && { ...recording.ids.next(), organisation, paymasterId, chainId };
    const about = line();
    const record: Settlement | undefined = about && {
      kind: 'settlement',
      ...about,
      outcome: 'expired',
      mined: undefined,
    };
    try {
      const { order } = await usage.takeBack({
        key,
        digest: promised.promise.digest,
        ...given({ record }),
        ...(recording?.inputs === undefined ? {} : { ordered: true }),
      });
      const ended = line();
      if (order === undefined || ended === undefined) return;
      const ending = { kind: 'ending', how: 'released', entryPoint, sender, nonce } as const;
      recording?.inputs?.add(ended, order, formatInputs(ending));
    } catch (error) {
      log.warn('a promise without a signature was not taken back, and ends when it expires', { error });
    }
  };
}
