import type { RequestHandler } from 'express';
import { integer, type Settings } from '../../core/settings.js';
import { clientAddress } from '../http/client-address.js';
import { createRateLimiter, requireRoom } from '../http/rate-limit.js';
import type { CredentialOf } from './auth-token.js';
import type { DashboardDeps } from './deps.js';

type CallLimits = Required<Pick<DashboardDeps, 'rateLimit' | 'addressRateLimit'>>;

const bounds = { min: 1, max: 100_000 };

export const callLimitSettings = {
  ofToken: integer(
    'PAYMASTER_DASHBOARD_CALLS_PER_SECOND',
    'Calls of the dashboard with one authToken in a second; twice as many at once.',
    bounds,
    20,
  ),
  ofAddress: integer(
    'PAYMASTER_DASHBOARD_CALLS_PER_SECOND_OF_ADDRESS',
    'Such calls of one client address, with or without a token.',
    bounds,
    100,
  ),
};

export function readCallLimits(settings: Settings): CallLimits {
  const { ofToken, ofAddress } = settings.read(callLimitSettings);
  return {
    rateLimit: { requests: 2 * ofToken, perSeconds: 2 },
    addressRateLimit: { requests: ofAddress, perSeconds: 1 },
  };
}

/**
 * Counts calls before anything is done for them: those of an address, so that guesses of tokens are bounded, and those with one
 * token, whether or not anybody has it. Throws RATE_LIMITED.
 */
export function createCallLimits(
  deps: Pick<DashboardDeps, 'clock' | 'rateLimit' | 'addressRateLimit' | 'trustedProxies'> & {
    readonly credentialOf: CredentialOf;
  },
): RequestHandler {
  const { rateLimit, addressRateLimit, trustedProxies = 0, credentialOf } = deps;
  // Apart, so that guessed tokens do not make the limiter forget addresses.
  const addresses = createRateLimiter(deps);
  const tokens = createRateLimiter(deps);
  return (request, _response, next) => {
    if (addressRateLimit !== undefined)
      requireRoom(
        addresses.take(clientAddress(request, trustedProxies), addressRateLimit),
        'The address calls too often',
      );
    const token = rateLimit && credentialOf(request)?.sha256;
    if (rateLimit !== undefined && token !== undefined)
      requireRoom(tokens.take(token, rateLimit), 'The token calls too often');
    next();
  };
}
