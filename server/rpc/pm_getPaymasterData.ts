import { requireProfile } from '../sponsorship/case.js';
import { refused } from '../sponsorship/stub.js';
import { parseErc7677Params } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { renderErc7677 } from './results.js';

/** ERC-7677, second call of a wallet: signed data for exactly the gas limits that it sends. */
export function pm_getPaymasterData({ view, sponsor }: SponsorMethodDeps): RpcMethod {
  return {
    async handle(params, { paymaster, requestId }) {
      const profile = requireProfile(view, paymaster);
      const request = parseErc7677Params(params, profile, paymaster, requestId);
      // The answer has no place for other limits than the wallet's own, so none are calculated.
      const sponsorship = await sponsor(paymaster, { ...request, calculateGasLimits: false });
      if (sponsorship.outcome === 'refused') throw refused(sponsorship);
      return { json: JSON.stringify(renderErc7677(profile, sponsorship.paymasterAndData)) };
    },
    answersErrorsWithOk: () => true,
  };
}
