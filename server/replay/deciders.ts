import { given } from '../../core/units/given.js';
import { pass, type Verdict } from '../../core/refusal.js';
import type { AddressKey } from '../../core/units/address.js';
import { tokenMode, type TokenModeDeps } from '../decision/token/in-tokens.js';
import type { DecidedInputs } from '../decision/inputs.js';
import type { FinalizeRequest, SponsorRequest } from '../decision/request.js';
import { runToRefusal, stepsOfStub } from '../decision/run.js';
import { createSponsor } from '../decision/sign/sign.js';
import { sponsoredMode, type SponsoredDeps } from '../decision/steps/sponsored.js';
import type { Case, Finalize, Mode, Window } from '../decision/step.js';
import { createCommit, createFinalize, type TwoPhaseDeps } from '../decision/sign/two-phase.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/** Decides a recorded request in the way in which it was asked: at once, in two phases, or for a stub. */
export type Deciders = (paymaster: ServedPaymaster, inputs: DecidedInputs) => Promise<Verdict>;

export function createDeciders(deps: SponsoredDeps & TokenModeDeps & TwoPhaseDeps): Deciders {
  const ofMode = { SPONSORED: decider(deps, sponsoredMode(deps)), ERC20: decider(deps, tokenMode(deps)) };
  return (paymaster, { mode, request }) =>
    ofMode[mode](paymaster, requestOf(request), request.isStub === true);
}

type ReplayedRequest = FinalizeRequest & { readonly feeToken: AddressKey | undefined };

function requestOf(recorded: DecidedInputs['request']): ReplayedRequest {
  const { phase, committed = '0x', feeToken, ...request } = recorded;
  return { ...request, ...given({ phase }), committed, feeToken, webhookData: {}, requestId: '' };
}

function decider<Request extends SponsorRequest, C extends Case, Terms extends Window>(
  deps: TwoPhaseDeps,
  mode: Mode<Request, C, Terms> & { readonly finalize: Finalize<C, Terms> },
): (paymaster: ServedPaymaster, request: Request & FinalizeRequest, isStub: boolean) => Promise<Verdict> {
  const once = createSponsor(deps, mode);
  const commit = createCommit(deps, mode);
  const finalize = createFinalize(deps, mode, mode.finalize);
  const ofStub = stepsOfStub(mode.steps);
  return async (paymaster, request, isStub) => {
    if (isStub) return steady(await runToRefusal(ofStub, mode.gather(paymaster, request)));
    const { phase } = request;
    const decide = phase === undefined ? once : phase === 'commit' ? commit : finalize;
    const answer = await decide(paymaster, request);
    return answer.outcome === 'sponsored' ? pass : answer.refusal;
  };
}

function steady(outcome: Verdict | 'stale'): Verdict {
  if (outcome === 'stale') throw new Error('a config of a replay never changes');
  return outcome;
}
