import { requireProfile } from '../sponsorship/case.js';
import type { SponsorRequest } from '../sponsorship/request.js';
import { refusedError } from '../../core/refusal.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { parseErc7677Params, type ModeRequest } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { renderErc7677, renderHexLimits, renderWindow } from './results.js';

/**
 * ERC-7677, second call of a wallet: signed data for exactly the gas limits that it sends. One that asks with
 * `calculateGasLimits: true` in the context gets ours with the data, in the operation's own field names.
 */
export function pm_getPaymasterData(deps: SponsorMethodDeps): RpcMethod {
  return {
    async handle(params, { paymaster, requestId }) {
      const profile = requireProfile(deps.view, paymaster);
      const asked = parseErc7677Params(params, profile, paymaster, requestId);
      const calculated = asked.request.calculateGasLimits === true;
      const data = await signed(deps, paymaster, asked, calculated);
      const fields = { ...renderErc7677(profile, data.paymasterAndData), ...renderWindow(data) };
      const isOpen = 'isOpen' in data && data.isOpen;
      const shown = isOpen ? { ...fields, openSponsorship: true } : fields;
      return { json: JSON.stringify(calculated ? { ...shown, ...renderHexLimits(data.op) } : shown), isOpen };
    },
    answersErrorsWithOk: () => true,
  };
}

/** A standard answer has no place for other limits than the wallet's own, so unless asked none are calculated. */
async function signed(
  { sponsor, payInTokens }: SponsorMethodDeps,
  paymaster: ServedPaymaster,
  asked: ModeRequest,
  calculateGasLimits: boolean,
) {
  const limits: Pick<SponsorRequest, 'calculateGasLimits'> = { calculateGasLimits };
  if (asked.mode === 'ERC20') return payInTokens(paymaster, { ...asked.request, ...limits });
  const sponsorship = await sponsor(paymaster, { ...asked.request, ...limits });
  if (sponsorship.outcome === 'refused') throw refusedError(sponsorship.refusal, { isPayer: false });
  return sponsorship;
}
