import { unreachable } from '../../core/errors.js';
import { after, type Later } from '../../core/pending.js';
import { requireProfile } from '../decision/facts.js';
import type { Sponsored, SponsorRequest, Sponsorship, TokenPaymentRequest } from '../decision/request.js';
import type { Sponsor } from '../decision/sign/sign.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import {
  type ModeRequest,
  namingEntryPoint,
  parseEntryPointParams,
  requireSponsored,
} from './entry-point-form.js';
import type { RpcMethod, RpcResult } from './method.js';
import { type Either, readOtherwise, refuseOtherwise, sponsorOrPay } from './otherwise.js';
import { modeRequired, parseFeeToken, parseSponsorParams, requireOnePhase } from './params.js';
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
export function pm_sponsorUserOperation(deps: SponsorMethodDeps): RpcMethod {
  const { view, payInTokens } = deps;
  return {
    handle(params, context) {
      const { paymaster } = context;
      const profile = requireProfile(view, paymaster);
      if (namesEntryPoint(params)) {
        const [operation, entryPoint, named] = params;
        const form = { entryPoint, context: named, contextPath: 'params[2]' };
        const asked = parseEntryPointParams(operation, form, profile, context);
        requireOnePhase(asked.request, form.contextPath);
        if (asked.mode === 'SPONSORED') refuseOtherwise(asked.otherwise, form.contextPath);
        // Clients of this form send placeholders as often as estimates.
        const calculateGasLimits = asked.request.calculateGasLimits ?? 'larger';
        return after(answerSigned(deps, paymaster, asked, { calculateGasLimits }), renderOperationFields);
      }
      const { mode, request, members } = parseSponsorParams(params, profile, context);
      requireOnePhase(request);
      const named = <T>(ask: () => Later<T>) => namingEntryPoint(profile, params[0], ask);
      switch (mode) {
        case 'SPONSORED': {
          const otherwise = readOtherwise(members, mode, 'params[1]');
          return after(
            named(() => sponsorOrPay(deps, paymaster, request, otherwise)),
            renderEither,
          );
        }
        case 'ERC20':
          readOtherwise(members, mode, 'params[1]');
          return after(
            named(() => payInTokens(paymaster, { ...request, feeToken: parseFeeToken(members) })),
            paid,
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

/** Signed data in the mode that is asked for; a refusal is an error. */
export function answerSigned(
  { sponsor, payInTokens }: SponsorMethodDeps,
  paymaster: ServedPaymaster,
  { mode, request }: ModeRequest,
  limits: Pick<SponsorRequest, 'calculateGasLimits' | 'keepsPaymasterGas'>,
): Later<Sponsored> {
  const isPayer = mode === 'ERC20';
  const asked =
    mode === 'ERC20'
      ? payInTokens(paymaster, { ...request, ...limits })
      : sponsor(paymaster, { ...request, ...limits });
  return after(asked, (sponsorship) => requireSponsored(sponsorship, { isPayer }));
}

const paid = (payment: Sponsorship): RpcResult =>
  renderTokenPayment(requireSponsored(payment, { isPayer: true }));

function renderEither(either: Either): RpcResult {
  return either.mode === 'ERC20'
    ? renderTokenPayment(either.payment, either.insteadOf)
    : renderSponsorship(either.sponsorship, either.otherwise);
}

function namesEntryPoint(params: readonly unknown[]): boolean {
  return typeof params[1] === 'string';
}
