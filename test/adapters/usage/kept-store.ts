import type { KeptEpochs } from '../../../adapters/store/kept-epochs.js';
import type { Clock } from '../../../core/units/time.js';

/** The data of one chain, as far as epochs go. Every write raises the sequence. */
export function aKeptStore(clock: Clock) {
  let data = { kept: '', sequence: 0, longestExpiryMs: 0 };
  let begun = 0;
  const kept: KeptEpochs = {
    assertUsable: () => {},
    read: async () => ({ ...data, now: clock.now() }),
    begin: async (_, expected, isFirst) => {
      begun += 1;
      if (data.kept === expected)
        data = {
          ...data,
          kept: `epoch-${begun}:${isFirst ? 0 : clock.now()}`,
          sequence: data.sequence + 1,
        };
      return { ...data, now: clock.now() };
    },
    noteExpiry: async (_, expected, longestExpiryMs) => {
      if (data.kept === expected) data = { ...data, longestExpiryMs, sequence: data.sequence + 1 };
    },
  };
  return {
    kept,
    /** A write, answered with its sequence. */
    write: () => (data = { ...data, sequence: data.sequence + 1 }).sequence,
    copy: () => data,
    putBack: (former: typeof data) => {
      data = former;
    },
  };
}
