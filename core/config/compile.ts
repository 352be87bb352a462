import { given } from '../units/given.js';
import { atOnce, type InParts } from '../units/in-parts.js';
import { cyclesIn, decidesIn, writeParts, type PolicyParts } from '../policy/derived.js';
import { finding, type Finding } from '../meta/conditions.js';
import type { Organisation } from '../resources/organisation.js';
import type { PaymasterStatus } from '../resources/paymaster.js';
import { parseInstant } from '../units/time.js';
import { checksumOfFunding, checkChecksums, checkFactories, findRefusal, resolution } from './acceptance.js';
import { isRefusal } from './checksum.js';
import { deriveApiKey, hashCredential } from './api-key.js';
import type { ProfileConfig } from './chain-config.js';
import { budgetsOn } from './budgets.js';
import { compileContracts, type CompiledContract } from './compile-contracts.js';
import { compilePolicies, type CompiledPolicy } from './compile-policies.js';
import { fit } from './fit.js';
import { namedMethods } from './named-methods.js';
import { resolveFunding } from './funding.js';
import { shorterExpiry, widerCaps } from './caps.js';
import { derivePaymasterId } from './ids.js';
import { compileNamedKeys, generationsInForce, type NamedKeyGeneration } from './named-keys.js';
import { currentKeyGeneration, remember, type PaymasterMemory } from './memory.js';
import type { PaymasterConfig } from './paymaster-config.js';
import { findQuota } from './platform.js';
import type { PaymasterSources } from './sources.js';
import { findTenantGeneration, toTenant, type Tenant } from './tenant.js';
import { compileFunctions, type AddedFunctions } from '../userop/added-functions.js';

export type CompiledPaymaster = {
  /** What is served from now on. Also set when nothing may be signed: then `notReady` says why. */
  readonly config: PaymasterConfig;
  /** Lists of addresses that `config` names, to be stored before it; one that was compiled earlier is stored already. */
  readonly lists: readonly NonNullable<CompiledPolicy['list']>[];
  readonly accepted: Finding;
  readonly resolved: Finding;
  /** True once `config` is stored. */
  readonly programmed: Finding;
  readonly openSponsorship: Finding;
  /** Set when a cap of the spec is wider than the platform's. */
  readonly limitedCaps: Finding | undefined;
  /** Names rows of accountFunctions that have no effect. */
  readonly ignoredFunctions: Finding | undefined;
  /** Set when an address with a wrong checksum stays in use. */
  readonly checksum: Finding | undefined;
  readonly profile: ProfileConfig | undefined;
  readonly status: Omit<PaymasterStatus, 'conditions' | 'observedGeneration'>;
  readonly contracts: readonly CompiledContract[];
  readonly policies: readonly CompiledPolicy[];
};

/**
 * Compiles a Paymaster with its contracts and policies into what is served, and reports what is wrong with each.
 * Pure. Fails closed: anything that is not accepted can only narrow what is sponsored, never widen it.
 */
export function compilePaymaster(sources: PaymasterSources): CompiledPaymaster {
  return atOnce(compileInParts(sources));
}

/** The same in parts: a tenant may have thousands of contracts and policies. */
export function* compileInParts(sources: PaymasterSources): InParts<CompiledPaymaster> {
  const { paymaster, chain, organisation, previous } = sources;
  const contracts = yield* compileContracts(sources.contracts, {
    previous,
    quota: findQuota(organisation, sources.platform, 'contractsPerPaymaster'),
    readMethods: sources.readMethods,
  });
  const policies = yield* compilePolicies(sources.policies, {
    previous,
    quota: findQuota(organisation, sources.platform, 'policiesPerPaymaster'),
    rules: sources.policyRules,
    chain,
    methods: yield* namedMethods(sources.policies, contracts),
    now: sources.now,
    tenant: tenantOfSources(sources),
  });

  const profile = chain?.profiles.find(({ version }) => version === paymaster.spec.version);
  const funding = compileFunding(sources, profile);
  const accepted = findRefusal(sources) ?? funding.refused ?? finding('Accepted', 'Accepted');
  const resolved = resolution(sources, profile);
  const complete = assemble(
    sources,
    contracts,
    policies,
    funding.address,
    compileNotReady(accepted, resolved),
  );
  const { config, tooLarge } = yield* fit(complete, previous);
  const refusal = [accepted, resolved].find(({ status }) => status !== 'True');
  const programmed =
    tooLarge ??
    (refusal === undefined
      ? finding('Programmed', 'Programmed')
      : finding('Programmed', 'NotAccepted', refusal.message));
  const lists = policies.flatMap(({ list, served }) => (served === undefined ? [] : (list ?? [])));
  return {
    config,
    lists,
    accepted,
    resolved,
    programmed,
    openSponsorship: openSponsorship(complete),
    limitedCaps: widerCaps(paymaster.spec, chain),
    ignoredFunctions: compileAddedFunctions(sources).ignored,
    checksum: checkChecksums(sources),
    profile,
    status: {
      paymasterId: config.paymasterId,
      ...(profile === undefined ? {} : { address: profile.sponsorship }),
      ...(profile?.token === undefined ? {} : { tokenAddress: profile.token }),
      ...statusOfTenant(sources),
      ...statusOfKey(paymaster, previous),
      apiKeyFingerprint: (config.keys[0]?.sha256 ?? '').slice(0, 8),
      ...statusOfNamedKeys(sources),
      contracts: contracts.length,
      policies: policies.length,
    },
    contracts,
    policies,
  };
}

/**
 * Whether this stored config holds its name. The config of a paymaster that lost its name is stored too, so that
 * callers learn why.
 */
export function holdsItsName(config: PaymasterConfig | undefined): boolean {
  return config !== undefined && !losing.has(config.notReady?.reason ?? '');
}

const losing: ReadonlySet<string> = new Set(['NameConflict', 'QuotaExceeded']);

function compileFunding(
  sources: PaymasterSources,
  profile: ProfileConfig | undefined,
): ReturnType<typeof resolveFunding> {
  const { paymaster, organisation } = sources;
  if (organisation === undefined || profile === undefined) return {};
  // After it is compiled, the wallet counts as in use.
  if (isRefusal(checksumOfFunding(sources))) return {};
  return resolveFunding(paymaster, organisation, profile, sources.previous?.fundingAddress);
}

function compileNotReady(...findings: readonly Finding[]): PaymasterConfig['notReady'] {
  const refusal = findings.find(({ status }) => status !== 'True');
  return refusal && { reason: refusal.reason, message: refusal.message };
}

function assemble(
  sources: PaymasterSources,
  contracts: readonly CompiledContract[],
  policies: readonly CompiledPolicy[],
  fundingAddress: PaymasterConfig['fundingAddress'],
  notReady: PaymasterConfig['notReady'],
): PaymasterConfig {
  const { metadata, spec } = sources.paymaster;
  const factories = checkFactories(sources);
  const functions = compileAddedFunctions(sources).served;
  const namespace = metadata.namespace ?? '';
  const served = policies.flatMap((policy) =>
    policy.served === undefined || policy.served === 'invalid' ? [] : [policy.served],
  );
  const invalid = policies.flatMap((policy) => (policy.served === 'invalid' ? policy.object.spec : []));
  const invalidInTokens = invalid.filter((spec) => decidesIn(spec, 'ERC20')).map(({ name }) => name);
  const campaigns = new Set(
    policies.flatMap(({ object: { spec } }) => (spec.enforcement === 'Shadow' ? [] : (spec.campaign ?? []))),
  );
  const tenant = tenantOfSources(sources);
  const paused = contracts.flatMap((contract) => contract.paused ?? []);
  const budgets = budgetsOn(sources.organisation, spec.chainId);
  const parts = writeParts([...served, ...budgets.served]);
  const memory = compileMemory(sources, policies, parts);
  return {
    paymasterId: derivePaymasterId(tenant, metadata.name),
    namespace,
    ...(tenant === namespace ? {} : { tenant }),
    objectName: metadata.name,
    name: spec.name,
    chainId: spec.chainId,
    version: spec.version,
    configGeneration: sources.previous?.configGeneration ?? 0,
    suspended: spec.suspended === true,
    ...(notReady === undefined ? {} : { notReady }),
    keys: compileKeys(sources),
    tokens: compileTokens(sources.organisation),
    ...(fundingAddress === undefined ? {} : { fundingAddress }),
    defaultContractAction:
      spec.defaultContractAction ??
      sources.organisation?.spec.defaultContractAction ??
      sources.platform.defaultContractAction,
    // Paused and broken contracts count as well: neither may ever turn a closed paymaster into an open one.
    contractsRegistered: sources.contracts.length > 0 || sources.isContractLeaving === true,
    contracts: contracts.flatMap((contract) => (contract.served === undefined ? [] : [contract.served])),
    ...(paused.length === 0 ? {} : { pausedContracts: paused }),
    ...parts,
    invalidPolicies: [...invalid.map(({ name }) => name), ...budgets.invalid],
    ...(invalidInTokens.length === 0 ? {} : { invalidInTokens }),
    gas: spec.gas ?? {},
    ...(factories === undefined ? {} : { accountFactories: factories.kept }),
    ...(functions.length === 0 ? {} : { accountFunctions: functions }),
    maxExpirySeconds: shorterExpiry(spec.maxExpirySeconds, sources.chain?.maxExpirySeconds),
    ...given({ rateLimit: spec.rateLimit, sponsor: spec.sponsor, allowedOrigins: spec.allowedOrigins }),
    ...(spec.contractsEnforcement === 'Shadow' ? { contractsInShadow: true } : {}),
    ...(campaigns.size === 0 ? {} : { campaigns: [...campaigns].sort() }),
    ...(spec.withoutCampaign === 'Allow' ? { withoutCampaign: true } : {}),
    ...(spec.requireAccountSignature === true ? { requireAccountSignature: true } : {}),
    ...(memory === undefined ? {} : { memory }),
  };
}

/** Rows of the Paymaster beside those of the Chain. */
function compileAddedFunctions({ paymaster, chain }: PaymasterSources): AddedFunctions {
  return compileFunctions(paymaster.spec.accountFunctions ?? [], chain?.accountFunctions);
}

function tenantOfSources({ paymaster, organisation }: PaymasterSources): Tenant {
  return toTenant(paymaster.metadata.namespace ?? '', findTenantGeneration(paymaster, organisation));
}

function compileMemory(
  { paymaster, previous, now }: PaymasterSources,
  policies: readonly CompiledPolicy[],
  parts: PolicyParts,
): PaymasterMemory | undefined {
  // A limit that bounds only each operation is served, and its cycle is not.
  const servedIds = new Set(cyclesIn(parts).map(({ policyId }) => policyId));
  return remember({
    keyGeneration: currentKeyGeneration(paymaster.spec, previous?.memory),
    namedKeys: namedKeyGenerations({ paymaster, previous }),
    unserved: policies.flatMap((policy) =>
      policy.cycle === undefined || servedIds.has(policy.policyId)
        ? []
        : [{ policyId: policy.policyId, ...policy.cycle }],
    ),
    policyKeys: policies.flatMap(({ policyId, keyGeneration }) =>
      keyGeneration === undefined ? [] : [{ policyId, keyGeneration }],
    ),
    servedIds,
    previous,
    now,
  });
}

function statusOfTenant({
  paymaster,
  organisation,
}: PaymasterSources): Pick<PaymasterStatus, 'tenantGeneration'> {
  const tenantGeneration = findTenantGeneration(paymaster, organisation);
  return tenantGeneration === 1 ? {} : { tenantGeneration };
}

/** Set only when the generation in force differs from the one in the spec. */
function statusOfKey(
  { spec }: PaymasterSources['paymaster'],
  previous: PaymasterConfig | undefined,
): { readonly keyGeneration?: number } {
  const keyGeneration = currentKeyGeneration(spec, previous?.memory);
  return keyGeneration === (spec.keyGeneration ?? 1) ? {} : { keyGeneration };
}

function namedKeyGenerations({
  paymaster,
  previous,
}: Pick<PaymasterSources, 'paymaster' | 'previous'>): readonly NamedKeyGeneration[] {
  return generationsInForce(paymaster.spec.keys ?? [], previous?.memory?.namedKeys);
}

function statusOfNamedKeys(sources: PaymasterSources): Pick<PaymasterStatus, 'keys'> {
  const keys = namedKeyGenerations(sources).map((key) => ({
    ...key,
    fingerprint: (deriveKeyHashes(sources, key)[0] ?? '').slice(0, 8),
  }));
  return keys.length === 0 ? {} : { keys };
}

function compileKeys(sources: PaymasterSources): PaymasterConfig['keys'] {
  const named = compileNamedKeys(sources.paymaster.spec.keys ?? [], namedKeyGenerations(sources), (key) =>
    deriveKeyHashes(sources, key),
  );
  return [...compileFirstKeys(sources), ...named];
}

/** Of a key with a name, under the current master key first. */
function deriveKeyHashes(sources: PaymasterSources, { name: keyName, generation }: NamedKeyGeneration) {
  const { masterKeys, paymaster } = sources;
  const owner = { namespace: tenantOfSources(sources), name: paymaster.metadata.name };
  return [masterKeys.current, ...(masterKeys.previous === undefined ? [] : [masterKeys.previous])].map(
    (master) => hashCredential(deriveApiKey(master, { ...owner, keyGeneration: generation, keyName })),
  );
}

/** The current key first, then the keys that still work while a key or the master key is being rotated. */
function compileFirstKeys(sources: PaymasterSources): PaymasterConfig['keys'] {
  const { paymaster, masterKeys, previous } = sources;
  const { metadata, spec } = paymaster;
  const owner = { namespace: tenantOfSources(sources), name: metadata.name };
  const keyGeneration = currentKeyGeneration(spec, previous?.memory);
  const masters =
    masterKeys.previous === undefined ? [masterKeys.current] : [masterKeys.current, masterKeys.previous];
  const current = masters.map((master) => ({
    sha256: hashCredential(deriveApiKey(master, { ...owner, keyGeneration })),
  }));
  const validUntil = parseInstant(spec.previousKeyUntil ?? '');
  // The overlap was granted for the generation in the spec, not for a later one.
  const isOwn = keyGeneration === spec.keyGeneration;
  if (validUntil === undefined || keyGeneration < 2 || !isOwn) return current;
  const rotated = masters.map((master) => ({
    sha256: hashCredential(deriveApiKey(master, { ...owner, keyGeneration: keyGeneration - 1 })),
    validUntil,
  }));
  return [...current, ...rotated];
}

function compileTokens(organisation: Organisation | undefined): PaymasterConfig['tokens'] {
  return (organisation?.spec.tokens ?? []).flatMap(({ sha256, expiresAt }) => {
    if (expiresAt === undefined) return [{ sha256 }];
    const validUntil = parseInstant(expiresAt);
    // A time that cannot be parsed counts as passed: a token with a mistyped expiry must not be valid for ever.
    return validUntil === undefined ? [] : [{ sha256, validUntil }];
  });
}

function openSponsorship(config: PaymasterConfig): Finding {
  if (config.contractsInShadow) return finding('OpenSponsorship', 'ContractsInShadow');
  if (config.contractsRegistered) return finding('OpenSponsorship', 'ContractsRegistered');
  return finding('OpenSponsorship', config.defaultContractAction === 'Allow' ? 'NoContracts' : 'Denied');
}
