import { refusedError } from '../../../core/refused-error.js';
import type { Clock } from '../../../core/units/time.js';
import type { Hex } from '../../../core/units/hex.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import type { DecisionRecords } from '../decision-record.js';
import type { SponsorRequest } from '../request.js';
import { runToRefusal, stepsOfStub } from '../run.js';
import type { Case, Mode } from '../step.js';

/** Data of the length and shape that the signed data will have, for a wallet's own gas estimate. */
export type Stub<Request = SponsorRequest> = (paymaster: ServedPaymaster, request: Request) => Promise<Hex>;

type StubDeps = {
  readonly clock: Clock;
  /** Whether the account pays, who may read why its own operation is refused. */
  readonly isPayer: boolean;
  /** Absent: nothing is recorded. */
  readonly records?: DecisionRecords;
};

/**
 * The stub stage of ERC-7677: everything that can be refused at no cost is refused here with an error, before the wallet asks
 * its user, and what its bundler would refuse. Reserves nothing, signs nothing, simulates nothing, calls no webhook.
 */
export function createStub<Request extends SponsorRequest, C extends Case>(
  mode: Pick<Mode<Request, C>, 'gather' | 'steps' | 'stubSteps' | 'stub' | 'subject'>,
  { clock, isPayer, records }: StubDeps,
): Stub<Request> {
  const steps = [...stepsOfStub(mode.steps), ...(mode.stubSteps ?? [])];
  return async (paymaster, request) => {
    // The limits that the wallet sends, the paymaster's too, are placeholders: it estimates with the data that it gets here.
    const { paymasterGas: _estimated, ...op } = request.op;
    const gathered = mode.gather(paymaster, { ...request, op, calculateGasLimits: true });
    const outcome = await runToRefusal(steps, gathered);
    if (outcome !== 'stale' && !outcome.pass) {
      records?.refused(mode, gathered, outcome);
      throw refusedError(outcome, { isPayer });
    }
    return mode.stub(gathered, clock.now());
  };
}
