import { unreachable } from '../../core/errors.js';
import { requireProfile } from '../sponsorship/case.js';
import type { Sponsor } from '../sponsorship/sponsor.js';
import type { ConfigView } from '../view/config-view.js';
import type { RpcMethod } from './method.js';
import { modeNotAvailable, modeRequired, parseSponsorParams } from './params.js';
import { parseEntryPointParams, renderOrRefuse } from './entry-point-form.js';
import { renderSponsorship } from './results.js';

export type SponsorMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly sponsor: Sponsor;
};

/** `params`: `[partial user operation, mode object]`, or permissionless' `[user operation, entry point, context]`. */
export function pm_sponsorUserOperation({ view, sponsor }: SponsorMethodDeps): RpcMethod {
  return {
    async handle(params, { paymaster, requestId }) {
      const profile = requireProfile(view, paymaster);
      if (namesEntryPoint(params)) {
        const [operation, entryPoint, context] = params;
        const form = { entryPoint, context, contextPath: 'params[2]' };
        return renderOrRefuse(
          await sponsor(paymaster, parseEntryPointParams(operation, form, profile, paymaster, requestId)),
        );
      }
      const { mode, request } = parseSponsorParams(params, profile, paymaster, requestId);
      switch (mode) {
        case 'SPONSORED':
          return renderSponsorship(await sponsor(paymaster, request));
        case 'ERC20':
          throw modeNotAvailable();
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
