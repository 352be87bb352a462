import { unreachable } from '../../core/errors.js';
import { requireProfile } from '../sponsorship/case.js';
import type { Sponsor } from '../sponsorship/sponsor.js';
import type { PayInTokens } from '../token-payment/pay.js';
import type { ConfigView } from '../view/config-view.js';
import type { RpcMethod } from './method.js';
import { modeRequired, parseFeeToken, parseSponsorParams } from './params.js';
import { parseEntryPointParams, renderOrRefuse } from './entry-point-form.js';
import { renderSponsorship, renderTokenPayment } from './results.js';

export type SponsorMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly sponsor: Sponsor;
  readonly payInTokens: PayInTokens;
};

/** `params`: `[partial user operation, mode object]`, or permissionless' `[user operation, entry point, context]`. */
export function pm_sponsorUserOperation({ view, sponsor, payInTokens }: SponsorMethodDeps): RpcMethod {
  return {
    async handle(params, { paymaster, requestId }) {
      const profile = requireProfile(view, paymaster);
      if (namesEntryPoint(params)) {
        const [operation, entryPoint, context] = params;
        const form = { entryPoint, context, contextPath: 'params[2]' };
        const asked = parseEntryPointParams(operation, form, profile, requestId);
        if (asked.mode === 'ERC20') return renderTokenPayment(await payInTokens(paymaster, asked.request));
        return renderOrRefuse(await sponsor(paymaster, asked.request));
      }
      const { mode, request, members } = parseSponsorParams(params, profile, requestId);
      switch (mode) {
        case 'SPONSORED':
          return renderSponsorship(await sponsor(paymaster, request));
        case 'ERC20':
          return renderTokenPayment(
            await payInTokens(paymaster, { ...request, feeToken: parseFeeToken(members) }),
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

function namesEntryPoint(params: readonly unknown[]): boolean {
  return typeof params[1] === 'string';
}
