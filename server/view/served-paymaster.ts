import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { compileAllowList, type AllowList } from '../../core/policy/rules/allow-list/compile.js';
import { compilePriceGuard } from '../../core/policy/rules/price-guard/compile.js';
import type { AccountFunctions } from '../../core/userop/account-functions.js';
import { serveFunctions } from '../../core/userop/added-functions.js';
import type { FactoryList } from '../../core/policy/rules/factory.js';
import { partsWith, serveParts, type ServedPolicies } from '../../core/policy/derived.js';
import type { GasCaps } from '../../core/policy/rules/price-guard/gas-caps.js';
import type { RateLimits, SponsorInfo } from '../../core/resources/paymaster.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import type { Tenant } from '../../core/config/tenant.js';
import { isOfAll, serveCampaigns, type Campaigns } from './campaigns.js';
import type { Sharing } from './sharing.js';

/**
 * One paymaster as requests need it: look-ups instead of lists, integers instead of text. A hundred thousand of these
 * live in memory, so members that are nearly always equal are shared, and members that are nearly always unset are absent.
 */
export type ServedPaymaster = {
  readonly paymasterId: string;
  readonly namespace: string;
  /** Under which the ledger keeps its records: a later tenant of the namespace does not see them. */
  readonly tenant: Tenant;
  readonly chainId: number;
  readonly version: string;
  readonly configGeneration: number;
  readonly suspended: boolean;
  readonly notReady: PaymasterConfig['notReady'];
  /** SHA-256 of each accepted apiKey. */
  readonly keys: readonly string[];
  /** When each key with an expiry ends; undefined if no key expires. */
  readonly keyEnds: ReadonlyMap<string, EpochMs> | undefined;
  readonly tokens: PaymasterConfig['tokens'];
  readonly fundingAddress: AddressKey | undefined;
  readonly allowList: AllowList;
  readonly invalidPolicies: readonly string[];
  /** Those that judge in mode ERC20. */
  readonly invalidInTokens: readonly string[];
  /** The paymaster's own caps; undefined: the chain's. */
  readonly gas: GasCaps | undefined;
  readonly maxExpirySeconds: number;
  readonly rateLimit: RateLimits | undefined;
  /** Factories that operations may create accounts with; undefined: what the chain allows. */
  readonly accountFactories: FactoryList;
  /** Functions of accounts, beside the built-in ones and the chain's; undefined: none. */
  readonly accountFunctions: AccountFunctions | undefined;
  readonly sponsor: SponsorInfo | undefined;
  /** Undefined: web pages of every origin may ask. */
  readonly allowedOrigins: readonly string[] | undefined;
  /** True if nothing is signed for an operation that its account has not signed. */
  readonly requiresAccountSignature: boolean;
  /** The list of contracts judges and never refuses. */
  readonly contractsInShadow: boolean;
  /** Set while policies have campaigns: then the members for policies are those of the policies without one. */
  readonly campaigns: Campaigns | undefined;
} & ServedPolicies;

/** Compiles a config. Throws RangeError or SyntaxError on a config that no operator writes, e.g. with a threshold that is not a number. */
export function servePaymaster(config: PaymasterConfig, share: Sharing): ServedPaymaster {
  const campaigns = serveCampaigns(config);
  const ends = config.keys.flatMap(({ sha256, validUntil }) =>
    validUntil === undefined ? [] : [[sha256, validUntil] as const],
  );
  return Object.freeze({
    paymasterId: config.paymasterId,
    namespace: share.text(config.namespace),
    tenant: share.text(config.tenant ?? config.namespace),
    chainId: config.chainId,
    version: share.text(config.version),
    configGeneration: config.configGeneration,
    suspended: config.suspended,
    notReady: config.notReady,
    keys: config.keys.map(({ sha256 }) => sha256),
    keyEnds: ends.length === 0 ? undefined : new Map(ends),
    tokens: share.tokens(config.namespace, config.tokens),
    fundingAddress: config.fundingAddress === undefined ? undefined : toAddressKey(config.fundingAddress),
    allowList: compileAllowList(config, share.text),
    ...serveParts(campaigns === undefined ? config : partsWith(config, isOfAll)),
    invalidPolicies: config.invalidPolicies.length === 0 ? none : config.invalidPolicies,
    invalidInTokens: config.invalidInTokens ?? none,
    gas: ownCaps(config.gas),
    maxExpirySeconds: config.maxExpirySeconds,
    rateLimit: config.rateLimit,
    contractsInShadow: config.contractsInShadow === true,
    campaigns,
    requiresAccountSignature: config.requireAccountSignature === true,
    accountFactories: config.accountFactories && new Set(config.accountFactories.map(toAddressKey)),
    accountFunctions: serveFunctions(config.accountFunctions),
    sponsor: config.sponsor,
    allowedOrigins: config.allowedOrigins,
  });
}

const none: readonly never[] = Object.freeze([]);

function ownCaps(gas: GasCaps): GasCaps | undefined {
  if (Object.keys(gas).length === 0) return undefined;
  // The caps are compiled again with the chain's; this only finds caps that are not integers now, not during a request.
  compilePriceGuard(gas, {});
  return gas;
}

/** Whether calls of any contract are sponsored. */
export function isOpen({ allowList, contractsInShadow }: ServedPaymaster): boolean {
  return allowList.kind === 'open' || contractsInShadow;
}

/** Whether the authToken with this hash belongs to the paymaster's organisation and has not expired. */
export function isOwner(
  { tokens }: Pick<ServedPaymaster, 'tokens'>,
  sha256: string | undefined,
  now: number,
): boolean {
  if (sha256 === undefined) return false;
  // Compares hashes, so the time of a comparison reveals nothing about a token.
  return tokens.some(
    (token) => token.sha256 === sha256 && (token.validUntil === undefined || now < token.validUntil),
  );
}
