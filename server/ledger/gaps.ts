import type { Gap } from '../../core/ledger/record.js';
import type { Offers } from './offers.js';
import type { RecordIds } from './record-ids.js';

/** What a record that was not kept was about. */
type Missed = Pick<Gap, 'organisation' | 'paymasterId' | 'chainId' | 'reason'> & {
  readonly cause: 'rate' | 'space';
};

/** Counts records that could not be kept, and records once a minute how many they were. */
export type Gaps = ReturnType<typeof createGaps>;

const everyMs = 60_000;
/** Paymasters and reasons that are counted apart; more of them are counted by their metric alone. */
const maxTallies = 10_000;

export function createGaps(deps: {
  readonly offers: Pick<Offers, 'add'>;
  readonly ids: RecordIds;
  /** Called for every record that is not kept. */
  readonly dropped: (cause: Missed['cause']) => void;
}) {
  const { offers, ids, dropped } = deps;
  const tallies = new Map<string, Missed & { count: number }>();
  let timer: NodeJS.Timeout | undefined;

  function record(): void {
    for (const [name, tally] of tallies) {
      const gap: Gap = { kind: 'gap', ...ids.next(), ...tally };
      if (offers.add(gap)) tallies.delete(name);
    }
  }

  return {
    count(missed: Missed): void {
      dropped(missed.cause);
      const name = `${missed.paymasterId} ${missed.cause} ${missed.reason}`;
      const tally = tallies.get(name);
      if (tally !== undefined) tally.count += 1;
      else if (tallies.size < maxTallies) tallies.set(name, { ...missed, count: 1 });
    },
    start(): void {
      timer ??= setInterval(record, everyMs).unref();
    },
    stop(): void {
      clearInterval(timer);
      record();
    },
  };
}
