import type { ConfigView } from '../../view/config-view.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import { withFreshConfig } from '../fresh-config.js';
import type { SponsorRequest } from '../request.js';
import { runToEnd, type Trace } from '../run.js';
import type { Case, Mode } from '../step.js';

/** An explanation is a JSON object; `/openrpc.json` describes its members. `unasked` gives, by step name, the reason why a step is skipped. */
export type Explain<Request = SponsorRequest> = (
  paymaster: ServedPaymaster,
  request: Request,
  unasked?: Readonly<Record<string, string>>,
) => Promise<object>;

/**
 * Runs the same steps as a request, but continues after a refusal, so that every obstacle is shown at once. Reserves nothing, and
 * signs nothing that could be used: the data for a simulated payment were valid until some time in 1970, as for a request, and
 * never leave the process. Throws what a request would throw before its first step.
 */
export function createExplain<Request extends SponsorRequest, C extends Case>(
  view: Pick<ConfigView, 'refresh'>,
  { gather, steps }: Pick<Mode<Request, C>, 'gather' | 'steps'>,
  show: (gathered: C, trace: Trace, request: Request) => object | Promise<object>,
): Explain<Request> {
  return async (paymaster, request, unasked) =>
    withFreshConfig<object>(view, paymaster, async (current) => {
      const gathered = gather(current, request);
      const trace = await runToEnd(steps, gathered, unasked);
      return trace === 'stale' ? 'stale' : show(gathered, trace, request);
    });
}
