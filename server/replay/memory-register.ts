import type { RegisteredReplay, ReplayRegister } from '../../core/ledger/replay-register.js';
import type { Clock } from '../../core/units/time.js';

/** Of so many organisations the last replay is known after its end. */
const mostKept = 100;

/** The register of the only process that opens a ledger: what it forgets when it dies has died with it. */
export function createMemoryRegister(clock: Clock): ReplayRegister {
  const replays = new Map<string, RegisteredReplay & { readonly isCancelled: boolean }>();

  function running(organisation: string, id?: string) {
    const found = replays.get(organisation);
    return found?.state === 'running' && (id ?? found.id) === found.id ? found : undefined;
  }

  return {
    async begin(organisation, id, status) {
      const other = running(organisation);
      if (other !== undefined) return other.id;
      replays.delete(organisation);
      replays.set(organisation, {
        id,
        status,
        state: 'running',
        reportedAt: clock.now(),
        isCancelled: false,
      });
      for (const [former, { state }] of replays)
        if (replays.size > mostKept && state !== 'running') replays.delete(former);
      return undefined;
    },
    async report(organisation, id, status, isRunning) {
      const found = running(organisation, id);
      if (found === undefined) return 'lost';
      const state = isRunning ? 'running' : 'ended';
      replays.set(organisation, { ...found, status, state, reportedAt: clock.now() });
      return found.isCancelled ? 'cancel' : 'held';
    },
    async find(organisation) {
      const found = replays.get(organisation);
      if (found === undefined) return undefined;
      const { isCancelled: _, ...shown } = found;
      return shown;
    },
    async cancel(organisation, id) {
      const found = running(organisation, id);
      if (found !== undefined) replays.set(organisation, { ...found, isCancelled: true });
    },
  };
}
