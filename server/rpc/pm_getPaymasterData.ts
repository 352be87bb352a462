import { requireProfile } from '../decision/facts.js';
import type { Sponsored, SponsorRequest } from '../decision/request.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { parseErc7677Params, requireSponsored, type ModeRequest } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { answerPhase, type PhaseDeps } from './signing-phases.js';
import { renderErc7677, renderHexLimits, renderSponsor, renderWindow } from './results.js';

/**
 * ERC-7677, second call of a wallet: signed data for exactly the gas limits that it sends. A wallet that sends
 * `calculateGasLimits: true` in the context gets our limits where it sends none, and all that were signed are in the
 * answer, under the operation's own field names. Many clients drop them (viem from 2.57.18 on), so what a wallet sends
 * is never replaced.
 */
export function pm_getPaymasterData(deps: SponsorMethodDeps & PhaseDeps): RpcMethod {
  return {
    async handle(params, context) {
      const { paymaster } = context;
      const profile = requireProfile(deps.view, paymaster);
      const asked = parseErc7677Params(params, profile, paymaster, context);
      const { phase } = asked.request;
      if (phase !== undefined) return answerPhase(deps, params[0], paymaster, { ...asked, phase });
      const calculated = asked.request.calculateGasLimits === true;
      const data = await signed(deps, paymaster, asked, calculated);
      const fields = { ...renderErc7677(profile, data.paymasterAndData), ...renderWindow(data) };
      const { isOpen } = data;
      const shown = {
        ...fields,
        ...(isOpen ? { openSponsorship: true } : {}),
        // In mode ERC20 the user pays, so no sponsor is shown.
        ...(asked.mode === 'ERC20' ? {} : renderSponsor(paymaster.sponsor)),
      };
      return { json: JSON.stringify(calculated ? { ...shown, ...renderHexLimits(data.op) } : shown), isOpen };
    },
    answersErrorsWithOk: () => true,
  };
}

/** A standard answer has no fields for our limits, so we calculate them only if the wallet asks for it. */
async function signed(
  { sponsor, payInTokens }: SponsorMethodDeps,
  paymaster: ServedPaymaster,
  asked: ModeRequest,
  calculated: boolean,
): Promise<Sponsored> {
  const limits: Pick<SponsorRequest, 'calculateGasLimits' | 'keepsPaymasterGas'> = {
    calculateGasLimits: calculated ? 'missing' : false,
    keepsPaymasterGas: true,
  };
  return asked.mode === 'ERC20'
    ? requireSponsored(await payInTokens(paymaster, { ...asked.request, ...limits }), { isPayer: true })
    : requireSponsored(await sponsor(paymaster, { ...asked.request, ...limits }), { isPayer: false });
}
