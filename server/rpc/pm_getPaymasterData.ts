import { invalidInput, quote } from '../../core/errors.js';
import { requireProfile } from '../decision/facts.js';
import type { Sponsored } from '../decision/request.js';
import type { ServedProfile } from '../view/served-chain.js';
import { parseErc7677Params, type ModeRequest } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import { retryInTokens, tokenOfStub } from './otherwise.js';
import { answerSigned, type SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { answerPhase, type PhaseDeps } from './signing-phases.js';
import { renderErc7677, renderHexLimits, renderSponsor, renderValidity } from './results.js';

/**
 * ERC-7677, second call of a wallet: signed data for exactly the gas limits that it sends. A wallet that sends
 * `calculateGasLimits: true` in the context gets our limits where it sends none, and all that were signed are in the
 * answer, under the operation's own field names. Many clients drop them (viem from 2.57.18 on), so what a wallet sends
 * is never replaced.
 */
export function pm_getPaymasterData(deps: SponsorMethodDeps & PhaseDeps): RpcMethod {
  /** Never in another mode than the stub's, which the wallet has shown to its user. */
  async function signedInMode(...[paymaster, asked, limits]: SignedArguments): Promise<Sponsored> {
    try {
      return await answerSigned(deps, paymaster, asked, limits);
    } catch (error) {
      throw asked.mode === 'SPONSORED' && asked.otherwise !== undefined ? retryInTokens(error) : error;
    }
  }

  return {
    async handle(params, context) {
      const { paymaster } = context;
      const profile = requireProfile(deps.view, paymaster);
      const asked = inModeOfStub(parseErc7677Params(params, profile, paymaster, context), params[0], profile);
      const { phase } = asked.request;
      if (phase !== undefined) return answerPhase(deps, params[0], paymaster, { ...asked, phase });
      const calculated = asked.request.calculateGasLimits === true;
      // A standard answer has no fields for our limits, so we calculate them only if the wallet asks for it.
      const calculateGasLimits = calculated ? 'missing' : false;
      const data = await signedInMode(paymaster, asked, { calculateGasLimits, keepsPaymasterGas: true });
      const fields = { ...renderErc7677(profile, data.paymasterAndData), ...renderValidity(data) };
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

type SignedArguments = Parameters<typeof answerSigned> extends [unknown, ...infer Rest] ? Rest : never;

/** The request in tokens where its stub was. Throws INVALID_INPUT when the stub names another token than the context. */
function inModeOfStub(asked: ModeRequest, operation: unknown, profile: ServedProfile): ModeRequest {
  if (asked.mode === 'ERC20' || asked.otherwise === undefined) return asked;
  const { request, otherwise } = asked;
  const token = tokenOfStub(operation, profile);
  if (token === undefined) return asked;
  if (token !== otherwise.feeToken)
    throw invalidInput({
      field: 'params[3].otherwise.feeTokenAddress',
      expected: `${token}, the token of the stub in the operation`,
      value: quote(otherwise.feeToken),
    });
  const insteadOf = 'instead of a sponsorship that the stub refused';
  return { mode: 'ERC20', request: { ...request, ...otherwise, insteadOf } };
}
