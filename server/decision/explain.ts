import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { withFreshConfig } from './fresh-config.js';
import type { SponsorRequest } from './request.js';
import { runToEnd, type Trace } from './run.js';
import type { Case, Mode } from './step.js';

/** An explanation is a JSON object; its members are described in `/openrpc.json`. `unasked`: why steps are not to be asked. */
export type Explain<Request = SponsorRequest> = (
  paymaster: ServedPaymaster,
  request: Request,
  unasked?: Readonly<Record<string, string>>,
) => Promise<object>;

/**
 * Decides as a request would, by the same steps, but goes on after a refusal, so that every obstacle is shown at once. Reserves
 * nothing, and signs nothing that could be used: a simulated payment takes data whose window closed in 1970, as for a request,
 * and they stay in the process. Throws what a request would throw before any step is asked.
 */
export function createExplain<Request extends SponsorRequest, C extends Case>(
  view: Pick<ConfigView, 'refresh'>,
  { gather, steps }: Pick<Mode<Request, C>, 'gather' | 'steps'>,
  show: (on: C, trace: Trace, request: Request) => object | Promise<object>,
): Explain<Request> {
  return (paymaster, request, unasked) =>
    withFreshConfig<object>(view, paymaster, async (current) => {
      const on = gather(current, request);
      const trace = await runToEnd(steps, on, unasked);
      return trace === 'stale' ? 'stale' : show(on, trace, request);
    });
}
