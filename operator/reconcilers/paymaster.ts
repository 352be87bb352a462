import type { Pace } from '../../adapters/pace.js';
import { createTurns } from '../../adapters/turns.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { ReadMethods } from '../../core/config/compile-contracts.js';
import { compileInParts, holdsItsName, type CompiledPaymaster } from '../../core/config/compile.js';
import type { ConfigStore, ReadConfig } from '../../core/config/config-store.js';
import { findDefaultFunding, maySpendSharedDeposit } from '../../core/config/funding.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import { mergeQuotas, type PlatformDefaults } from '../../core/config/platform.js';
import { compareAge } from '../../core/config/ranking.js';
import type { PaymasterSources } from '../../core/config/sources.js';
import { summarise } from '../../core/config/summary.js';
import { findTenantGeneration, toTenant } from '../../core/config/tenant.js';
import { isDomainError } from '../../core/errors.js';
import { findCondition, finding, isConditionTrue, type Finding } from '../../core/meta/conditions.js';
import { parseKey } from '../../core/meta/meta.js';
import type { Layout, LayoutId } from '../../core/paymaster/layout.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { lostLimits, type LostLimit } from '../../core/policy/spending-limit/lost-usage.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { MasterKeys } from '../../core/secrets.js';
import type { Clock } from '../../core/units/time.js';
import { contestedName, type Cache } from '../cache.js';
import type { Confirmations } from '../confirmations.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import type { FundingQuestion } from '../facts/facts.js';
import type { PlatformView } from '../facts/platform-view.js';
import type { ServingFacts, UsageFacts } from '../facts/reported-facts.js';
import { done, type Reconcile } from '../runtime/controller.js';
import { recallProfile } from './chain.js';
import { writeContracts, writeOrphans, writePolicies, type ReportedPolicies } from './children.js';
import { secretWaits, type ConnectionSecretWriter } from './connection-secret.js';
import { contractFindings, noFundingWallet, signerFinding, recall } from './findings.js';
import type { OfferedChains } from './offered-chains.js';
import { findOrganisation } from './organisation.js';
import { fundedFinding, servingFinding } from './serving-finding.js';
import { runAll, type StatusWriter } from './status.js';

type PaymasterReconcilerDeps = {
  readonly cache: Cache;
  readonly configs: Pick<
    ConfigStore,
    'getLatest' | 'getPaymaster' | 'putPaymaster' | 'deletePaymaster' | 'putList'
  >;
  readonly statuses: StatusWriter;
  readonly facts: ChainFacts;
  readonly view: Pick<PlatformView, 'profile' | 'blocker' | 'unpriced'>;
  /** Reports of the servers; undefined without reports. */
  readonly serving: Pick<ServingFacts, 'of' | 'isKnown'> | undefined;
  /** Undefined without a source of facts about the usage store. */
  readonly usage: Pick<UsageFacts, 'of' | 'isKnown'> | undefined;
  readonly confirmations: Confirmations;
  readonly offeredChains: OfferedChains;
  readonly connectionSecrets: ConnectionSecretWriter;
  readonly signers: Pick<Signers, 'get' | 'place' | 'problem'>;
  readonly layouts: Readonly<Record<LayoutId, Layout>>;
  readonly masterKeys: MasterKeys;
  /** While false, nothing can be compiled; every paymaster is reconciled again when it turns true. */
  readonly areKeysKnown: () => boolean;
  readonly readMethods: ReadMethods;
  readonly pace: Pace;
  readonly reported: ReportedPolicies;
  readonly webhookRules: WebhookUrlRules;
  readonly platform: PlatformDefaults;
  readonly clock: Clock;
};

/**
 * The root: a Paymaster with its contracts and policies, whether it exists or not. Reads what it depends on, compiles,
 * stores the result and writes the status of all of them.
 */
export function createPaymasterReconciler(deps: PaymasterReconcilerDeps): Reconcile {
  const turns = createTurns();
  return async (key) => {
    const paymaster = deps.cache.get('Paymaster', parseKey(key));
    if (paymaster === undefined) {
      await removePaymaster(deps, key);
      return done;
    }
    if (!deps.areKeysKnown()) return done;
    await removeFormer(deps, paymaster);
    // Whether the name is free is read from the store: another one that has it must not be stored in between.
    const stored = await turns.run(contestedName(paymaster), async () => {
      const { sources, read } = await gather(deps, key, paymaster);
      return store(deps, { key, paymaster, read }, await deps.pace.run(compileInParts(sources)));
    });
    askChain(deps, key, stored);
    const lost = lostUsage(deps, stored);
    const secret = await writeStatuses(deps, paymaster, stored, lost);
    const waits = [
      ...lost.map(({ until }) => until - deps.clock.now()),
      ...secretWaits(deps.cache, paymaster, stored, secret),
    ];
    return waits.length === 0 ? done : { requeueAfterMs: Math.min(...waits) };
  };
}

/** Limits that refuse everything since a loss of usage data. */
function lostUsage(deps: PaymasterReconcilerDeps, { config }: CompiledPaymaster): readonly LostLimit[] {
  const since = deps.usage?.of(config.chainId)?.since ?? 0;
  return since === 0 ? [] : lostLimits(config.limits, since, deps.clock.now());
}

async function removePaymaster(deps: PaymasterReconcilerDeps, key: string): Promise<void> {
  const { namespace = '', name } = parseKey(key);
  deps.facts.removePaymaster(key);
  deps.confirmations.forget(key);
  const generation = findOrganisation(deps.cache, namespace)?.spec.tenantGeneration ?? 1;
  // Its status, which named the tenant for which it was served, is gone. The sweep finds any older config.
  for (const each of new Set([generation, Math.max(1, generation - 1), 1]))
    await deps.configs.deletePaymaster(derivePaymasterId(toTenant(namespace, each), name));
  await writeOrphans(deps, key);
}

/** Deletes its config for a former tenant of the namespace, before anything is served for the new tenant. */
async function removeFormer(
  { cache, configs }: PaymasterReconcilerDeps,
  paymaster: Paymaster,
): Promise<void> {
  const { namespace = '', name } = paymaster.metadata;
  const generation = findTenantGeneration(paymaster, findOrganisation(cache, namespace));
  const former = paymaster.status?.tenantGeneration ?? 1;
  if (former !== generation)
    await configs.deletePaymaster(derivePaymasterId(toTenant(namespace, former), name));
}

async function gather(
  deps: PaymasterReconcilerDeps,
  key: string,
  paymaster: Paymaster,
): Promise<{ readonly sources: PaymasterSources; readonly read: ReadConfig }> {
  const { cache, configs, clock } = deps;
  const namespace = paymaster.metadata.namespace ?? '';
  const organisation = findOrganisation(cache, namespace);
  const tenant = toTenant(namespace, findTenantGeneration(paymaster, organisation));
  const quota = mergeQuotas(organisation, deps.platform).paymasters ?? Number.POSITIVE_INFINITY;
  const rivals = contendersFor(cache.rivalsOf(paymaster), paymaster);
  const siblings = cache.countPaymastersIn(namespace) > quota ? cache.paymastersIn(namespace) : rivals;
  const programmed = new Set(
    siblings.filter((each) => isConditionTrue(each, 'Programmed')).map(paymasterName),
  );
  // The store, not the status, decides which of several with one name is being served: a status can lag or be lost.
  if (rivals.length > 1)
    for (const rival of rivals) {
      const served = await configs.getPaymaster(derivePaymasterId(tenant, paymasterName(rival)));
      if (holdsItsName(served?.config)) programmed.add(paymasterName(rival));
      else programmed.delete(paymasterName(rival));
    }
  const stored = await configs.getLatest(derivePaymasterId(tenant, paymasterName(paymaster)));
  const sources = {
    paymaster,
    contracts: cache.contractsOf(key),
    isContractLeaving: cache.leavingAt('Paymaster', key).some(({ kind }) => kind === 'SmartContract'),
    policies: cache.policiesOf(key),
    organisation,
    platform: deps.platform,
    siblings,
    programmed,
    chain: deps.offeredChains.get(paymaster.spec.chainId),
    offeredChains: deps.offeredChains.ids(),
    masterKeys: deps.masterKeys,
    previous: stored?.config,
    readMethods: deps.readMethods,
    policyRules: { webhookUrls: deps.webhookRules },
    now: clock.now(),
  };
  return { sources, read: { stored } };
}

/**
 * Each is looked up in the store. So of thousands with one name from one tenant, only those that could hold the name
 * count.
 */
const maxContenders = 20;

function contendersFor(rivals: readonly Paymaster[], self: Paymaster): readonly Paymaster[] {
  if (rivals.length <= maxContenders) return rivals;
  const oldest = [...rivals].sort(compareAge).slice(0, maxContenders);
  const serving = rivals.filter((each) => each === self || isConditionTrue(each, 'Programmed'));
  return [...new Set([...oldest, ...serving])];
}

/** `isServed`: by a replica, in its present form or in the one before. */
type StoredPaymaster = CompiledPaymaster & { readonly isServed: boolean };

/** Stores the config; when the store refuses it, `programmed` says so. An outage is thrown and retried. */
async function store(
  { configs, confirmations }: PaymasterReconcilerDeps,
  {
    key,
    paymaster,
    read,
  }: { readonly key: string; readonly paymaster: Paymaster; readonly read: ReadConfig },
  compiled: CompiledPaymaster,
): Promise<StoredPaymaster> {
  try {
    for (const list of compiled.lists) await configs.putList(list);
    const { revision } = await configs.putPaymaster(compiled.config, read);
    const before = read.stored?.config;
    // A change must not take Ready away: what was served before is, until a replica has the change.
    const isReady = findCondition(paymaster.status?.conditions, 'Ready')?.status === 'True';
    const goesOn = isReady && before !== undefined && before.deletedAt === undefined;
    return {
      ...compiled,
      isServed: confirmations.isServed(key, compiled.config.chainId, goesOn ? undefined : revision),
    };
  } catch (error) {
    if (!isDomainError(error, 'INVALID_INPUT')) throw error;
    return {
      ...compiled,
      isServed: true,
      programmed: finding('Programmed', 'StoreRejected', `The store refused: ${error.message}`),
    };
  }
}

/** A paymaster whose Secret is not written is not ready: a client that waits for it would find no Secret, or another's. */
function withSecret(findings: readonly Finding[], secret: Finding): readonly Finding[] {
  if (secret.status !== 'False') return findings;
  return findings.map((each) =>
    each.type === 'Ready' && each.status !== 'False'
      ? finding('Ready', 'SecretNotWritten', secret.message)
      : each,
  );
}

/** Passes on to the chain facts what this paymaster's conditions depend on. */
function askChain(deps: PaymasterReconcilerDeps, key: string, compiled: CompiledPaymaster): void {
  deps.facts.setPaymaster(key, {
    chainId: compiled.config.chainId,
    profile: compiled.profile,
    fundings: fundingQuestions(deps, compiled),
    contracts: compiled.contracts.flatMap(({ served }) => (served === undefined ? [] : [served.address])),
  });
}

/** Resolves with the finding about the connection secret, if one is asked for. */
async function writeStatuses(
  deps: PaymasterReconcilerDeps,
  paymaster: Paymaster,
  compiled: StoredPaymaster,
  lost: readonly LostLimit[],
): Promise<Finding | undefined> {
  let secret: Finding | undefined;
  const actions = [
    () => writeContracts(deps, compiled),
    () => writePolicies(deps, compiled, lost),
    async () => {
      secret = await deps.connectionSecrets.write(paymaster, compiled);
      const findings = paymasterFindings(deps, paymaster, compiled, lost);
      await deps.statuses.write(
        'Paymaster',
        paymaster,
        secret === undefined ? findings : [...withSecret(findings, secret), secret],
        compiled.status,
      );
    },
  ];
  await runAll(actions, deps.pace);
  return secret;
}

function paymasterFindings(
  deps: PaymasterReconcilerDeps,
  paymaster: Paymaster,
  compiled: StoredPaymaster,
  lost: readonly LostLimit[],
): readonly Finding[] {
  const { accepted, resolved, programmed, openSponsorship, checksum, profile } = compiled;
  const own = [accepted, resolved, programmed];
  const warnings = [compiled.limitedCaps, compiled.ignoredFunctions, checksum].filter(
    (found) => found?.type !== 'Accepted',
  );
  const told = [openSponsorship, ...warnings.filter((found) => found !== undefined)];
  if (profile === undefined) return [...own, summarise(own, hold(deps, paymaster, compiled)), ...told];

  const { chainId } = paymaster.spec;
  const facts = deps.view.profile(chainId, profile);
  const known = (found: Finding): Finding =>
    recall(found, paymaster.status?.conditions, paymaster.metadata.generation);
  const signer = known(signerFinding(facts, { chainId, profile }, deps.signers));
  const questions = fundingQuestions(deps, compiled);
  const isPaid = questions.length > 0;
  const funded = isPaid
    ? known(fundedFinding(deps, compiled.config, questions, paymaster))
    : noFundingWallet(profile);
  const contract = recallProfile(deps.cache, chainId, profile.version, contractFindings(facts, profile));
  // An empty deposit ends when somebody tops it up. That nobody's deposit pays is a mistake in the resources.
  const unpaid = isPaid ? [] : [funded];
  const sound = summarise([...own, ...contract, signer, ...unpaid], hold(deps, paymaster, compiled));
  const ready = sound.status === 'True' && !compiled.isServed ? finding('Ready', 'NotServed') : sound;
  const serving = servingFinding(deps, paymaster, compiled, { ready, funded, lost });
  return [...own, ready, serving, signer, funded, ...told];
}

/** The reason that keeps an otherwise sound paymaster from sponsoring. */
function hold(
  deps: PaymasterReconcilerDeps,
  { spec }: Paymaster,
  { config }: CompiledPaymaster,
): Finding | undefined {
  if (spec.suspended === true) return finding('Ready', 'Suspended', 'Suspended by spec.suspended.');
  if (deps.offeredChains.get(spec.chainId)?.suspended === true)
    return finding('Ready', 'Suspended', `Chain ${spec.chainId} is suspended.`);
  if (config.invalidPolicies.length > 0)
    return finding(
      'Ready',
      'PolicyInvalid',
      `Correct or pause these policies: ${config.invalidPolicies.join(', ')}.`,
    );
  return unpricedBudget(config, deps.offeredChains.get(spec.chainId)) ?? deps.view.blocker(spec.chainId);
}

function unpricedBudget(
  { limits, chainId }: CompiledPaymaster['config'],
  chain: Pick<ChainConfig, 'nativePrice'> | undefined,
): Finding | undefined {
  const counting = limits.find(({ budget, shadow }) => budget === true && shadow !== true);
  if (chain === undefined || chain.nativePrice !== undefined || counting === undefined) return undefined;
  const message = `Budget "${counting.name}" of the Organisation needs spec.nativePrice of Chain ${chainId}, which only the platform sets.`;
  return finding('Ready', 'NoNativePrice', message);
}

/** The accounts that pay, all of which an operation draws on; none when no deposit may. */
function fundingQuestions(
  { layouts }: Pick<PaymasterReconcilerDeps, 'layouts'>,
  { config, profile }: CompiledPaymaster,
): readonly FundingQuestion[] {
  if (profile === undefined) return [];
  if (layouts[profile.layout].sponsorship.fundingBalanceCall === undefined)
    return maySpendSharedDeposit(profile, config.namespace) ? [{ profile }] : [];
  const wallet = config.fundingAddress ?? findDefaultFunding(profile, config.namespace);
  return wallet === undefined ? [] : [{ profile, wallet }, { profile }];
}

function paymasterName({ metadata }: Paymaster): string {
  return metadata.name;
}
