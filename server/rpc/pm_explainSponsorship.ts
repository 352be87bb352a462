import type { Passes } from '../../core/config/pass.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { AddressKey } from '../../core/units/address.js';
import type { Clock } from '../../core/units/time.js';
import { requireProfile } from '../decision/facts.js';
import type { ExplainedPayment } from '../decision/request.js';
import type { Explain } from '../decision/show/explain.js';
import type { ConfigView } from '../view/config-view.js';
import { isOwner } from '../view/served-paymaster.js';
import { requirePhases } from './entry-point-form.js';
import type { RpcContext, RpcMethod } from './method.js';
import { ignoredMembers, parseFeeToken, parseSponsorParams, parseTokenChoice } from './params.js';

export type ExplainMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly explain: Explain;
  readonly explainTokenPayment: Explain<ExplainedPayment>;
  /** Absent: only tokens show whose the caller is. */
  readonly passes?: Pick<Passes, 'admits'>;
  readonly clock: Clock;
};

/**
 * Same `params` as `pm_sponsorUserOperation`; `callWebhook: true` in the mode object also calls the webhooks. In mode
 * ERC20 `tokenInfo` may also list tokens as in a quote request: the explanation shows those tokens.
 * Needs the header `authToken` of the paymaster's organisation, or the pass of a dashboard that has checked its caller. An apiKey ships
 * in every wallet, and only the owner may see the rules and how much of each limit is left.
 */
export function pm_explainSponsorship(deps: ExplainMethodDeps): RpcMethod {
  const { view, explain, explainTokenPayment } = deps;
  return {
    kind: 'aside',
    async handle(params, context) {
      const { paymaster } = context;
      requireOwner(deps, context);
      const profile = requireProfile(view, paymaster);
      const { mode, request, members } = parseSponsorParams(params, profile, context);
      requirePhases(request, profile, 'params[1]');
      const callWebhook = members['callWebhook'] === true;
      const ignored = ignoredMembers(members, 'params[1]');
      const explanation =
        mode === 'ERC20'
          ? await explainTokenPayment(paymaster, {
              ...request,
              feeToken: findFeeToken(members),
              choice: parseTokenChoice(members),
            })
          : await explain(paymaster, request, callWebhook ? {} : notAsked);
      return {
        json: JSON.stringify(ignored.length === 0 ? explanation : { ...explanation, ignored }, bigintAsText),
        outcome: 'answered',
      };
    },
  };
}

/** Webhooks are not called by default: a call may cost the owner something, and the host may count it. */
const why = 'Not asked: send callWebhook: true.';
const notAsked = { webhooks: why, shadowWebhooks: why } as const;

/** Undefined when no token is named; the explanation then says so. Throws INVALID_INPUT when the value is not an address. */
function findFeeToken(members: Readonly<Record<string, unknown>>): AddressKey | undefined {
  try {
    return parseFeeToken(members);
  } catch (error) {
    if (isDomainError(error, 'FEE_TOKEN_REQUIRED')) return undefined;
    throw error;
  }
}

function requireOwner(
  { passes, clock }: Pick<ExplainMethodDeps, 'passes' | 'clock'>,
  { paymaster, credential, pass }: RpcContext,
): void {
  if (isOwner(paymaster, credential, clock.now())) return;
  if (pass !== undefined && passes?.admits(paymaster.paymasterId, pass) === true) return;
  throw new DomainError(
    'CREDENTIALS_REQUIRED',
    "pm_explainSponsorship needs the header authToken with a token of the paymaster's organisation.",
    { reason: 'AUTH_TOKEN_REQUIRED' },
  );
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
