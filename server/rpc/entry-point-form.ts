import { DomainError, invalidInput, quote } from '../../core/errors.js';
import { refusals } from '../../core/policy/verdict.js';
import { isAddressText } from '../../core/units/address.js';
import type { Sponsorship, SponsorRequest } from '../sponsorship/request.js';
import type { ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import type { RpcResult } from './method.js';
import { modeNotAvailable, parseSponsorParams } from './params.js';
import { renderSponsorship } from './results.js';

// Forms that name the EntryPoint: ERC-7677's two methods and permissionless' pm_sponsorUserOperation. Their clients
// expect a refusal to be an error, and read errors from HTTP 200 answers only.

export type EntryPointParams = {
  readonly entryPoint: unknown;
  readonly context: unknown;
  /** Where the context stands, for messages. */
  readonly contextPath: string;
};

/**
 * Reads `[operation, …]` with the context as the vendor's mode object: absent, null or without a mode means SPONSORED.
 * Throws INVALID_INPUT when the EntryPoint is not the one of the paymaster's profile.
 */
export function parseEntryPointParams(
  operation: unknown,
  { entryPoint, context, contextPath }: EntryPointParams,
  profile: ServedProfile,
  paymaster: ServedPaymaster,
  requestId: string,
): SponsorRequest {
  if (!isAddressText(entryPoint) || entryPoint.toLowerCase() !== profile.entryPointKey)
    throw invalidInput([
      {
        field: 'params[1]',
        expected: `the EntryPoint of this paymaster, ${profile.entryPoint}`,
        value: quote(entryPoint),
      },
    ]);
  const params = [operation, context ?? {}];
  const { mode, request } = parseSponsorParams(params, profile, paymaster, requestId, contextPath);
  if (mode === 'ERC20') throw modeNotAvailable();
  return request;
}

/** The documented result where sponsored; throws SPONSORSHIP_REFUSED otherwise. */
export function renderOrRefuse(
  sponsorship: Sponsorship,
  render: (sponsored: Extract<Sponsorship, { outcome: 'sponsored' }>) => RpcResult = renderSponsorship,
): RpcResult {
  if (sponsorship.outcome === 'sponsored') return render(sponsorship);
  throw new DomainError('SPONSORSHIP_REFUSED', refusals[sponsorship.reason], { reason: sponsorship.reason });
}
