import { requireProfile } from '../sponsorship/case.js';
import type { RpcMethod } from './method.js';
import { modeNotAvailable, parseSponsorParams } from './params.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { renderSponsorship } from './results.js';

/**
 * `params`: `[partial user operation, mode object]`. In mode SPONSORED this is the sponsor use case, signature
 * included. Without a mode it is the same as long as there are no quotes to fall back to: a refusal is answered as one.
 */
export function pm_getFeeQuoteOrData({ view, sponsor }: SponsorMethodDeps): RpcMethod {
  return {
    async handle(params, { paymaster, requestId }) {
      const profile = requireProfile(view, paymaster);
      const { mode, request } = parseSponsorParams(params, profile, paymaster, requestId);
      if (mode === 'ERC20') throw modeNotAvailable();
      return renderSponsorship(await sponsor(paymaster, request));
    },
  };
}
