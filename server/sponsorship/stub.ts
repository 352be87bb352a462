import { refusedError } from '../../core/refusal.js';
import type { Hex } from '../../core/units/hex.js';
import { toSeconds } from '../../core/units/time.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { gatherCase, type CaseDeps } from './case.js';
import { stubData } from './gas-limits.js';
import type { SponsorRequest } from './request.js';
import { firstRefusal, rulesOfStub } from './rules.js';
import { peekUsage, type StageDeps } from './stages.js';
import { termsOf } from './terms.js';

/** Data of the length and shape that the signed data will have, for a wallet's own gas estimate. */
export type Stub = { readonly profile: ServedProfile; readonly paymasterAndData: Hex };

export type SponsorStub = (paymaster: ServedPaymaster, request: SponsorRequest) => Promise<Stub>;

/**
 * The stub stage of ERC-7677: everything that can be refused already is refused here (SPONSORSHIP_REFUSED), before the
 * wallet asks its user. Reserves nothing, signs nothing, asks no webhook.
 */
export function createSponsorStub(deps: CaseDeps & StageDeps): SponsorStub {
  return async (paymaster, request) => {
    // Whatever limits the wallet sends are placeholders: it estimates with what it gets here.
    const facts = gatherCase(deps, paymaster, { ...request, calculateGasLimits: true });
    const verdict = firstRefusal(rulesOfStub, facts);
    if (!verdict.pass) throw refusedError(verdict, { isPayer: false });
    const usage = await peekUsage(deps, facts);
    if (usage.outcome === 'refused') throw refusedError(usage.refusal, { isPayer: false });
    const { profile } = facts;
    const terms = termsOf(facts, toSeconds(deps.clock.now()));
    return { profile, paymasterAndData: stubData(profile, request.op, terms) };
  };
}
