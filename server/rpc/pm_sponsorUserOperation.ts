import { unreachable } from '../../core/errors.js';
import { requireProfile } from '../decision/facts.js';
import type { Sponsorship, TokenPaymentRequest } from '../decision/request.js';
import type { Sponsor } from '../decision/sign/sign.js';
import type { ConfigView } from '../view/config-view.js';
import type { RpcMethod, RpcResult } from './method.js';
import { namingEntryPoint } from './other-entry-point.js';
import { modeRequired, parseFeeToken, parseSponsorParams, requireOnePhase } from './params.js';
import { parseEntryPointParams, requireSponsored } from './entry-point-form.js';
import { renderOperationFields, renderSponsorship, renderTokenPayment } from './results.js';

export type SponsorMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly sponsor: Sponsor;
  readonly payInTokens: Sponsor<TokenPaymentRequest>;
};

/**
 * The form of the params decides the answer. `[partial user operation, mode object]`: as the service document says. `[user operation,
 * entry point, context]`, as Pimlico's clients send: fields of an operation in hex, and a refusal is an error.
 */
export function pm_sponsorUserOperation({ view, sponsor, payInTokens }: SponsorMethodDeps): RpcMethod {
  return {
    async handle(params, context) {
      const { paymaster } = context;
      const profile = requireProfile(view, paymaster);
      if (namesEntryPoint(params)) {
        const [operation, entryPoint, named] = params;
        const form = { entryPoint, context: named, contextPath: 'params[2]' };
        const asked = parseEntryPointParams(operation, form, profile, context);
        requireOnePhase(asked.request, form.contextPath);
        // Clients of this form send placeholders as often as estimates.
        const calculateGasLimits = asked.request.calculateGasLimits ?? 'larger';
        return renderOperationFields(
          asked.mode === 'ERC20'
            ? requireSponsored(await payInTokens(paymaster, { ...asked.request, calculateGasLimits }), {
                isPayer: true,
              })
            : requireSponsored(await sponsor(paymaster, { ...asked.request, calculateGasLimits }), {
                isPayer: false,
              }),
        );
      }
      const { mode, request, members } = parseSponsorParams(params, profile, context);
      requireOnePhase(request);
      const named = <T>(ask: () => Promise<T>) => namingEntryPoint(profile, params[0], ask);
      switch (mode) {
        case 'SPONSORED':
          return renderSponsorship(await named(() => sponsor(paymaster, request)));
        case 'ERC20':
          return paid(
            await named(() => payInTokens(paymaster, { ...request, feeToken: parseFeeToken(members) })),
          );
        case undefined:
          throw modeRequired();
        default:
          return unreachable(mode);
      }
    },
    answersErrorsWithOk: namesEntryPoint,
  };
}

const paid = (payment: Sponsorship): RpcResult =>
  renderTokenPayment(requireSponsored(payment, { isPayer: true }));

function namesEntryPoint(params: readonly unknown[]): boolean {
  return typeof params[1] === 'string';
}
