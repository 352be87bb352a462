import { isDomainError, unreachable } from '../../core/errors.js';
import type { Later } from '../../core/pending.js';
import type { TokenChoice } from '../../core/pricing/token-list.js';
import { leavesTokens, type Refusal } from '../../core/refusal.js';
import { requireProfile } from '../decision/facts.js';
import type { SponsorRequest } from '../decision/request.js';
import type { QuoteFees } from '../decision/token/quote.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { namingEntryPoint } from './entry-point-form.js';
import type { RpcMethod, RpcResult } from './method.js';
import { readOtherwise } from './otherwise.js';
import { parseSponsorParams, parseTokenChoice, requireOnePhase } from './params.js';
import type { SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { renderFeeQuotes, renderSponsorship } from './results.js';

export type QuoteMethodDeps = Pick<SponsorMethodDeps, 'view' | 'sponsor'> & { readonly quoteFees: QuoteFees };

/**
 * `params`: `[partial user operation, mode object]`. In mode SPONSORED it sponsors the operation and signs; in mode
 * ERC20 it quotes; with `otherwise`, a quote in its token takes the place of a refusal. Without a mode it answers a sponsorship if the operation passes, else quotes.
 */
export function pm_getFeeQuoteOrData(deps: QuoteMethodDeps): RpcMethod {
  const { view, sponsor, quoteFees } = deps;
  return {
    async handle(params, context) {
      const { paymaster } = context;
      const profile = requireProfile(view, paymaster);
      const { mode, request, members } = parseSponsorParams(params, profile, context);
      requireOnePhase(request);
      const named = <T>(ask: () => Later<T>) => namingEntryPoint(profile, params[0], ask);
      switch (mode) {
        case 'SPONSORED': {
          const otherwise = readOtherwise(members, mode, 'params[1]');
          if (otherwise === undefined)
            return renderSponsorship(await named(() => sponsor(paymaster, request)));
          const choice = { tokenList: [otherwise.feeToken] };
          return named(() => sponsorOrQuote(deps, paymaster, request, choice, leavesTokens));
        }
        case 'ERC20':
          readOtherwise(members, mode, 'params[1]');
          return renderFeeQuotes(await named(() => quoteFees(paymaster, request, parseTokenChoice(members))));
        case undefined:
          return named(() => sponsorOrQuote(deps, paymaster, request, parseTokenChoice(members)));
        default:
          return unreachable(mode);
      }
    },
  };
}

/** `isQuoted`: which refusals a quote may take the place of. Default: all. If nothing can be quoted, the refusal is the answer, so that the client learns why the operation is not sponsored. */
async function sponsorOrQuote(
  { sponsor, quoteFees }: QuoteMethodDeps,
  paymaster: ServedPaymaster,
  request: SponsorRequest,
  choice: TokenChoice,
  isQuoted: (refusal: Refusal) => boolean = () => true,
): Promise<RpcResult> {
  const sponsorship = await sponsor(paymaster, request);
  if (sponsorship.outcome === 'sponsored' || !isQuoted(sponsorship.refusal))
    return renderSponsorship(sponsorship);
  try {
    const quotes = await quoteFees(paymaster, request, choice);
    return quotes.feeQuotes.length > 0 ? renderFeeQuotes(quotes) : renderSponsorship(sponsorship);
  } catch (error) {
    const isNoQuote =
      isDomainError(error, 'MODE_NOT_AVAILABLE') ||
      isDomainError(error, 'SPONSORSHIP_REFUSED') ||
      isDomainError(error, 'ESTIMATION_FAILED');
    if (isNoQuote) return renderSponsorship(sponsorship);
    throw error;
  }
}
