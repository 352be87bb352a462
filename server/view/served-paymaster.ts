import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import {
  partsWith,
  serveParts,
  asking,
  listPolicyShares,
  type ServedPolicies,
} from '../../core/policy/derived.js';
import type { PolicyShare } from '../../core/policy/kind.js';
import { modes } from '../../core/policy/modes.js';
import type { HostPolicy } from '../../core/policy/policy-hosts.js';
import { compileAllowList } from '../../core/policy/rules/allow-list/compile.js';
import type { FactoryList } from '../../core/policy/rules/factory.js';
import { compilePriceGuard } from '../../core/policy/rules/price-guard/compile.js';
import type { GasCaps } from '../../core/policy/rules/price-guard/gas-caps.js';
import { toAddressKey, zeroAddress } from '../../core/units/address.js';
import type { EpochMs } from '../../core/units/time.js';
import { serveFunctions } from '../../core/userop/added-functions.js';
import { isOfAll, serveCampaigns, type Campaigns } from './campaigns.js';
import { serveKeys, type ServedKey } from './served-keys.js';
import type { Sharing } from './sharing.js';

/**
 * One paymaster as requests need it: look-ups instead of lists, integers instead of text. A hundred thousand of these
 * live in memory, so members that are nearly always equal are shared, and members that are nearly always unset are absent.
 */
export type ServedPaymaster = ReturnType<typeof servePaymaster>;

/** Compiles a config. Throws RangeError or SyntaxError on a config that no operator writes, e.g. with a threshold that is not a number. */
export function servePaymaster(config: PaymasterConfig, share: Sharing) {
  const campaigns: Campaigns | undefined = serveCampaigns(config);
  const ends = config.keys.flatMap(({ sha256, validUntil }) =>
    validUntil === undefined ? [] : [[sha256, validUntil] as const],
  );
  const keyEnds: ReadonlyMap<string, EpochMs> | undefined = ends.length === 0 ? undefined : new Map(ends);
  const keys: readonly string[] = config.keys.map(({ sha256 }) => sha256);
  const accountFactories: FactoryList =
    config.accountFactories && new Set(config.accountFactories.map(toAddressKey));
  return Object.freeze({
    paymasterId: config.paymasterId,
    namespace: share.text(config.namespace),
    /** Under which the ledger keeps its records: a later tenant of the namespace does not see them. */
    tenant: share.text(config.tenant ?? config.namespace),
    chainId: config.chainId,
    version: share.text(config.version),
    configGeneration: config.configGeneration,
    suspended: config.suspended,
    notReady: config.notReady,
    /** SHA-256 of each accepted apiKey. Each record has its own list; records that are narrowed from it share that. */
    keys,
    namedKeys: serveKeys(config.keys),
    /** The key with a name that asks; undefined: the first key, or nobody yet. */
    key: undefined as ServedKey | undefined,
    /** When each key with an expiry ends; undefined if no key expires. */
    keyEnds,
    tokens: share.tokens(config.namespace, config.tokens),
    fundingAddress: config.fundingAddress === undefined ? undefined : toAddressKey(config.fundingAddress),
    allowList: compileAllowList(config, share.text),
    ...serveParts(campaigns === undefined ? config : partsWith(config, isOfAll)),
    invalidPolicies: config.invalidPolicies.length === 0 ? none : config.invalidPolicies,
    /** Those that judge in mode ERC20. */
    invalidInTokens: config.invalidInTokens ?? none,
    /** The paymaster's own caps; undefined: the chain's. */
    gas: ownCaps(config.gas),
    maxExpirySeconds: config.maxExpirySeconds,
    rateLimit: config.rateLimit,
    /** The list of contracts judges and never refuses. */
    contractsInShadow: config.contractsInShadow === true,
    /** Set while policies have campaigns: then the members for policies are those of the policies without one. */
    campaigns,
    /** True if nothing is signed for an operation that its account has not signed. */
    requiresAccountSignature: config.requireAccountSignature === true,
    /** Factories that operations may create accounts with; undefined: what the chain allows. */
    accountFactories,
    /** Functions of accounts, beside the built-in ones and the chain's; undefined: none. */
    accountFunctions: serveFunctions(config.accountFunctions),
    sponsor: config.sponsor,
    /** Undefined: web pages of every origin may ask. */
    allowedOrigins: config.allowedOrigins,
  });
}

const none: readonly string[] = Object.freeze([]);

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

/** A limit as it is configured now, with the counter of its present window; undefined: it is not served. */
export function limitNow(
  paymaster: ServedPaymaster | undefined,
  policyId: string,
  now: EpochMs,
): PolicyShare | undefined {
  const nothing = { sender: toAddressKey(zeroAddress), cost: { wei: 0n, usdPerNative: 0n }, now } as const;
  for (const served of listParts(paymaster))
    for (const mode of modes) {
      const share = listPolicyShares(served, mode, nothing).find(
        ({ policy }) => policy.policyId === policyId,
      );
      if (share !== undefined) return share;
    }
  return undefined;
}

/** A policy that asks a host, as it is configured now, and whose it is; undefined: it is not served. */
export function hostNow(
  paymaster: ServedPaymaster | undefined,
  policyId: string,
): { readonly organisation: string; readonly policy: HostPolicy } | undefined {
  const policy = listParts(paymaster)
    .flatMap((served) => asking.flatMap((kind) => kind.policies(served)))
    .find((each) => each.policyId === policyId);
  return policy && paymaster && { organisation: paymaster.namespace, policy };
}

/** Those without a campaign, and those of each. */
function listParts(paymaster: ServedPaymaster | undefined): readonly ServedPolicies[] {
  if (paymaster === undefined) return [];
  return [paymaster, ...Array.from(paymaster.campaigns?.active.values() ?? [], ({ judges }) => judges)];
}
