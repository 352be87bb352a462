import { DomainError, invalidInput, quote } from '../../core/errors.js';
import type { Clock } from '../../core/units/time.js';
import { requireProfile } from '../sponsorship/case.js';
import type { Explain } from '../sponsorship/explain.js';
import { hashCredential, type ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { RpcMethod } from './method.js';
import { parseSponsorParams } from './params.js';

export type ExplainMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly explain: Explain;
  readonly clock: Clock;
};

/**
 * Same `params` as `pm_sponsorUserOperation`, and `callWebhook: true` in the mode object where webhooks shall be asked.
 * Needs the header `authToken` of the paymaster's organisation: an apiKey ships in every wallet, and what the rules
 * are and how much is left of them is nobody's business but the owner's.
 */
export function pm_explainSponsorship({ view, explain, clock }: ExplainMethodDeps): RpcMethod {
  return {
    async handle(params, { paymaster, requestId, authToken }) {
      requireOwner(paymaster, authToken, clock.now());
      const profile = requireProfile(view, paymaster);
      const { mode, request, members } = parseSponsorParams(params, profile, paymaster, requestId);
      if (mode === 'ERC20') throw sponsoredOnly();
      const { callWebhook = false } = members;
      if (typeof callWebhook !== 'boolean')
        throw invalidInput([
          { field: 'params[1].callWebhook', expected: 'true or false', value: quote(callWebhook) },
        ]);
      const explanation = await explain(paymaster, request, { callWebhook });
      return { json: JSON.stringify(explanation, bigintAsText), outcome: 'answered' };
    },
  };
}

function requireOwner(paymaster: ServedPaymaster, authToken: string | undefined, now: number): void {
  if (authToken !== undefined) {
    const sha256 = hashCredential(authToken);
    // Hashes are compared, so the time that a comparison takes says nothing about a token.
    const owns = paymaster.tokens.some(
      (token) => token.sha256 === sha256 && (token.validUntil === undefined || now < token.validUntil),
    );
    if (owns) return;
  }
  throw new DomainError(
    'CREDENTIALS_REQUIRED',
    "pm_explainSponsorship needs the header authToken with a token of the paymaster's organisation.",
    { reason: 'AUTH_TOKEN_REQUIRED' },
  );
}

/** In mode ERC20 the error of `pm_sponsorUserOperation` says all there is to say: no rules of the owner apply. */
function sponsoredOnly(): DomainError {
  return new DomainError('MODE_NOT_AVAILABLE', 'pm_explainSponsorship explains mode SPONSORED only.', {
    reason: 'MODE_NOT_AVAILABLE',
  });
}

function bigintAsText(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? value.toString() : value;
}
