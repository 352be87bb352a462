import { clockSkew, type Head, type Heads } from '../../core/chain/heads.js';
import type { DataFees } from '../../core/chain/data-fee/data-fees.js';
import { type ErrorReason, type OtherReason, asReason } from '../../core/error-reasons.js';
import type { Prices } from '../../core/pricing/price-source.js';
import { DomainError } from '../../core/errors.js';
import { policiesEndAt } from '../../core/policy/derived.js';
import { Shadow } from '../../core/policy/shadow.js';
import { allWork } from '../../core/policy/steps-left.js';
import { type Clock, type EpochMs, toSeconds } from '../../core/units/time.js';
import type { Mode } from '../../core/usage/reservation.js';
import { forCampaign } from '../view/campaigns.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedChain, ServedProfile } from '../view/served-chain.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { wantsEstimate } from './gas-limits.js';
import { defaultExpirySeconds, type SponsorRequest } from './request.js';

/** What is known about any request to sign data, in either mode. Reading it costs no I/O. */
export type RequestFacts = Readonly<ReturnType<typeof gatherFacts>>;

export type FactDeps = {
  readonly view: Pick<ConfigView, 'chain' | 'isStale' | 'addressList'>;
  readonly heads: Heads;
  readonly dataFees: DataFees;
  readonly prices: Pick<Prices, 'peek'>;
  readonly clock: Clock;
};

/** Base fee, tip and data fee that are older than this say nothing about the current ones. */
export const maxHeadAgeMs = 15 * 60_000;

/**
 * Gathers the facts of a request. Throws PAYMASTER_NOT_READY when nothing can be signed whatever the rules say,
 * UNAVAILABLE when the chain's state is not known, INVALID_INPUT when the request contradicts itself.
 * `maxExpirySeconds` is the mode's bound on how long data are valid, in addition to the bounds of chain, paymaster and policies.
 */
export function gatherFacts(
  { view, heads, dataFees, prices, clock }: FactDeps,
  served: ServedPaymaster,
  asked: SponsorRequest,
  mode: Mode,
  maxExpirySeconds = Infinity,
) {
  const now = clock.now();
  const campaign = served.key?.campaign;
  const request = campaign === undefined || asked.campaign !== undefined ? asked : { ...asked, campaign };
  const paymaster = forCampaign(served, request.campaign);
  // Otherwise we would sign on configs that may have been revoked since.
  if (view.isStale())
    throw notReady('CONFIG_STALE', 'The configuration of this replica was not confirmed for too long.');
  if (paymaster.notReady !== undefined)
    throw notReady(asReason(paymaster.notReady.reason), paymaster.notReady.message);

  const chain = requireChain(view, paymaster);
  const profile = requireProfile(view, paymaster);
  if (profile.unusable !== undefined)
    throw notReady(asReason(profile.unusable.reason), profile.unusable.message);
  const signer = profile.signer();
  if (signer === undefined)
    throw notReady('SIGNER_MISSING', `The signing key of version "${profile.version}" is not mounted here.`);

  const head = requireHead(heads, paymaster.chainId, now);
  if (clockSkew(head.timestamp, now) === 'FarAhead')
    throw notReady('CLOCK_SKEW', 'The chain is more than 2 minutes ahead of the clock of this service.');

  // At least 1, because 0 means for ever on chain; the step of the kind refuses what has ended.
  const lastSecond = Math.max(1, Math.floor(policiesEndAt(paymaster, mode) / 1000));
  return {
    paymaster,
    /** A list of addresses by its hash; undefined where this replica does not have it. */
    listOf: view.addressList,
    /** What policies in Shadow would refuse of this request. */
    shadow: new Shadow(),
    /** What expressions may still take of this request. */
    workLeft: request.workLeft ?? allWork(),
    chain,
    profile,
    signer,
    request,
    head,
    /** The last reading of the chain's data fee, however old; undefined if nobody has read it. */
    dataReading: dataFees.get(paymaster.chainId),
    /** US dollars per 10^18 wei with 18 implied decimals, by the chain's own source; undefined: no price may be used. */
    usdPerNative: peekDollars(prices, chain),
    now,
    /** Nothing that is signed is valid later, in unix seconds; Infinity: no such bound. */
    lastSecond,
    ...chooseExpiry(
      request,
      Math.min(
        chain.maxExpirySeconds,
        profile.maxExpirySeconds,
        paymaster.maxExpirySeconds,
        maxExpirySeconds,
        Math.max(0, lastSecond - toSeconds(now)),
      ),
    ),
    /** True when we find the gas limits by simulation instead of taking the caller's. */
    estimating: wantsEstimate(request.op, request.calculateGasLimits),
  };
}

/** Throws UNAVAILABLE where the chain was not read lately. */
export function requireHead(heads: Heads, chainId: number, now: EpochMs): Head {
  const head = heads.get(chainId);
  if (head !== undefined && now - head.observedAt <= maxHeadAgeMs) return head;
  throw new DomainError('UNAVAILABLE', `Chain ${chainId} was not read lately: its fees are unknown.`, {
    reason: 'CHAIN_UNAVAILABLE',
    retryAfterSeconds: 5,
  });
}

/** Too long an expiry is shortened, not refused: clients ask for a figure that their authors fixed. */
function chooseExpiry({ expirySeconds: asked }: SponsorRequest, longest: number) {
  const expirySeconds = Math.min(asked ?? defaultExpirySeconds, longest);
  return {
    expirySeconds,
    /** The expiry that the caller asked for, in seconds, when it is longer than `expirySeconds`. */
    expiryAsked: asked !== undefined && asked > longest ? asked : undefined,
  };
}

/** US dollars per 10^18 wei with 18 implied decimals; undefined: no price may be used. */
export function peekDollars(
  prices: Pick<Prices, 'peek'>,
  chain: Pick<ServedChain, 'dollar'> | undefined,
): bigint | undefined {
  const answer = chain?.dollar && prices.peek(chain.dollar);
  return answer?.ok === true ? answer.price.usdPerNative : undefined;
}

/** The profile that a paymaster is served by. Throws PAYMASTER_NOT_READY when the chain does not offer it here. */
export function requireProfile(view: Pick<ConfigView, 'chain'>, paymaster: ServedPaymaster): ServedProfile {
  const { chainId, profiles } = requireChain(view, paymaster);
  const profile = profiles.get(paymaster.version);
  if (profile !== undefined) return profile;
  const offered = [...profiles.keys()].join(', ');
  throw notReady(
    'VERSION_UNKNOWN',
    `Version "${paymaster.version}" is not offered on chain ${chainId}; offered: ${offered}.`,
  );
}

function requireChain(view: Pick<ConfigView, 'chain'>, { chainId }: ServedPaymaster): ServedChain {
  const chain = view.chain(chainId);
  if (chain !== undefined) return chain;
  throw notReady('CHAIN_UNKNOWN', `Chain ${chainId} is not configured here.`);
}

function notReady(reason: ErrorReason | OtherReason, message: string): DomainError {
  return new DomainError('PAYMASTER_NOT_READY', message, { reason });
}
