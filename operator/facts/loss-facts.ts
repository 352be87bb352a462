import type { TokenLossReports } from '../../core/policy/token-loss-reports.js';
import type { Clock } from '../../core/units/time.js';
import { createPolled, type Polled, type PolledDeps } from './polled.js';

/** Versions of each chain whose token mode has stopped, according to the followers' reports. */
export type LossFacts = Polled<number, ReadonlySet<string>>;

/** A day that has ended counts as ended even if no report says so. */
export function createLossFacts(
  deps: PolledDeps<number> & { readonly reports: Pick<TokenLossReports, 'all'>; readonly clock: Clock },
): LossFacts {
  return createPolled(deps, 'losses of token payments', async () => {
    const all = await deps.reports.all();
    const now = deps.clock.now();
    return new Map(
      [...all].map(([chainId, { stopped }]) => [
        chainId,
        new Set(stopped.filter(({ until }) => until > now).map(({ version }) => version)),
      ]),
    );
  });
}
