import type { Ambient } from '../../core/ambient.js';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import { compileChain, type CompiledChain } from '../../core/config/compile-chain.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { rank } from '../../core/config/ranking.js';
import { summarise } from '../../core/config/summary.js';
import { isDomainError } from '../../core/errors.js';
import { finding, type Finding, isConditionTrue, setConditions } from '../../core/meta/conditions.js';
import type { Gauge } from '../../core/metrics.js';
import type { Layout, LayoutId } from '../../core/paymaster/layout.js';
import { signersOn } from '../../core/paymaster/public-keys.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { toDollarSpec } from '../../core/pricing/native-price.js';
import type { Chain, ChainStatus } from '../../core/resources/chain.js';
import { given } from '../../core/units/given.js';
import type { Cache } from '../cache.js';
import type { Confirmations } from '../confirmations.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import type { DataFeeFacts } from '../facts/data-fee-facts.js';
import { profileSignerFiles } from '../facts/facts.js';
import type { PriceFacts } from '../facts/price-facts.js';
import type { LossFacts, ServingFacts, UsageFacts } from '../facts/reported-facts.js';
import { done, type Reconcile } from '../runtime/controller.js';
import { writeFeeTokens } from './fee-token.js';
import {
  badKeys,
  dataFeeFindings,
  followingFindings,
  holdingFindings,
  missingKeys,
  profileFindings,
  reachabilityFinding,
  tokenLossFinding,
  troubledKeys,
  usageFinding,
  priceFinding,
  recall,
} from './findings.js';
import { withSeen } from './seen-on-chain.js';
import { runAll, type StatusWriter } from './status.js';

type ChainReconcilerDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly cache: Cache;
  readonly confirmations: Confirmations;
  readonly configs: Pick<ConfigStore, 'getChain' | 'putChain' | 'deleteChain' | 'putList'>;
  readonly statuses: StatusWriter;
  readonly facts: ChainFacts;
  readonly prices: PriceFacts;
  readonly dataFees: Pick<DataFeeFacts, 'setChain' | 'removeChain' | 'level'>;
  /** Undefined when nothing reports losses. */
  readonly losses: Pick<LossFacts, 'of'> | undefined;
  /** Undefined when servers report nothing. */
  readonly serving: Pick<ServingFacts, 'of' | 'isKnown'> | undefined;
  /** Undefined without a source of facts about the usage store. */
  readonly usage: Pick<UsageFacts, 'of'> | undefined;
  readonly signers: Pick<Signers, 'get' | 'place' | 'problem'>;
  /** The condition MasterKeys; undefined when the keys cannot change. */
  readonly masterKeys: (() => Finding) | undefined;
  /** The source of the mounted chain URL files, for messages. */
  readonly urlPlace: string | undefined;
  readonly layouts: Readonly<Record<LayoutId, Layout>>;
  /** Number of profiles of a chain for which nothing is signed. */
  readonly stopped: Gauge<'chain'>;
};

/** One reconcile key: the Chain with a chain id and all FeeTokens on it, compiled into one ChainConfig. */
export function createChainReconciler(deps: ChainReconcilerDeps): Reconcile {
  return async (key) => {
    const chainId = Number(key);
    const [chain, ...others] = inOrder(deps.cache.chainsWith(chainId));
    const feeTokens = deps.cache.feeTokensOn(chainId);
    if (chain === undefined) {
      deps.facts.removeChain(chainId);
      deps.prices.removeChain(chainId);
      deps.dataFees.removeChain(chainId);
      await deps.configs.deleteChain(chainId);
      deps.stopped.with({ chain: key }).set(0);
      await writeFeeTokens(deps, feeTokens, undefined);
      return done;
    }
    const previous = await deps.configs.getChain(chainId);
    const asWritten = compileChain({ chain, feeTokens, layouts: deps.layouts, previous: previous?.config });
    const compiled = withSeen(deps.facts, asWritten, previous?.config);
    const programmed = await store(deps, compiled);
    tellStops(deps, compiled.config, previous?.config);
    tellAcceptedLoss(deps, compiled.config, previous?.config);
    deps.facts.setChain(asWritten.config);
    deps.prices.setChain(compiled.config);
    deps.dataFees.setChain(compiled.config);
    await runAll([
      () => writeChain(deps, chain, compiled, programmed),
      ...others.map((loser) => () => writeLoser(deps, loser, chain)),
      () => writeFeeTokens(deps, feeTokens, { compiled, programmed }),
    ]);
    return done;
  };
}

/** One line per change: signing stopped or resumed. */
function tellStops(
  { log, stopped }: ChainReconcilerDeps,
  { chainId, profiles }: ChainConfig,
  previous: ChainConfig | undefined,
): void {
  stopped.with({ chain: String(chainId) }).set(profiles.filter(({ unusable }) => unusable).length);
  for (const { version, unusable } of profiles) {
    const before = previous?.profiles.find((each) => each.version === version)?.unusable;
    if (before?.reason === unusable?.reason) continue;
    if (unusable === undefined) log.info('signing resumed', { chainId, version });
    else log.error('signing stopped', { chainId, version, ...unusable });
  }
}

/** Logged once, whether there is such a loss or not. The audit log of the API server shows who set the annotation. */
function tellAcceptedLoss(
  { log }: ChainReconcilerDeps,
  { chainId, acceptedLoss }: ChainConfig,
  previous: ChainConfig | undefined,
): void {
  if (acceptedLoss === undefined || acceptedLoss === previous?.acceptedLoss) return;
  log.warn('an annotation of the Chain accepts a loss of usage data', { chainId, acceptedLoss });
}

/** The chain id belongs to a Chain that is already programmed, otherwise to the oldest. */
export function inOrder(chains: readonly Chain[]): readonly Chain[] {
  return rank(chains, (chain) => isConditionTrue(chain, 'Programmed'));
}

async function store(
  { configs, confirmations }: ChainReconcilerDeps,
  { config, lists }: CompiledChain,
): Promise<Finding> {
  try {
    for (const list of lists) await configs.putList(list);
    confirmations.storedChain(config.chainId, (await configs.putChain(config)).revision);
    return finding('Programmed', 'Programmed');
  } catch (error) {
    if (!isDomainError(error, 'INVALID_INPUT')) throw error;
    return finding('Programmed', 'StoreRejected', `The store refused: ${error.message}`);
  }
}

async function writeChain(
  deps: ChainReconcilerDeps,
  chain: Chain,
  compiled: CompiledChain,
  programmed: Finding,
): Promise<void> {
  const { chainId } = compiled.config;
  const told = (found: Finding): Finding =>
    recall(found, chain.status?.conditions, chain.metadata.generation);
  const reachable = told(
    reachabilityFinding(deps.facts.reachability(chainId), compiled.config, deps.urlPlace),
  );
  const clock = told(finding('ClockSkew', deps.facts.clock(chainId)));
  const usage = deps.usage && told(usageFinding(deps.usage.of(chainId), chain));
  const dataFee = dataFeeFindings(deps.dataFees.level(chainId)).map(told);
  const keys = deps.masterKeys && told(deps.masterKeys());
  const own = [
    compiled.accepted,
    resolvedRefs(signersOn(deps.signers, chainId), compiled.config.profiles),
    programmed,
  ];
  const profiles = compiled.profiles.map((profile) => ({
    version: profile.version,
    findings:
      profile.served === undefined
        ? [profile.accepted]
        : factFindings(deps, chain, findServed(compiled, profile.served), profile.accepted),
  }));
  // A profile that is wrong on the chain shows it, and also makes the Chain not ready: the Chain offers it.
  const wrong = profiles.flatMap(({ findings }) => findings).filter(({ type }) => !besideReady.has(type));
  const ready = summarise([...own, reachable, ...wrong], findHold(chain, clock, usage));
  // A loss is reported separately: sponsorships go on, and paymasters of the version stay ready.
  const losses = lossFindings(deps, compiled.config).map(told);
  const checksums = [compiled, ...compiled.profiles].flatMap(({ checksum }) => checksum ?? []).slice(0, 1);
  const shown = [
    ...own,
    ...checksums,
    reachable,
    clock,
    ...(usage === undefined ? [] : [usage]),
    ...(keys === undefined ? [] : [keys]),
    ...losses,
    ...followingFindings(deps.serving, compiled.config.chainId).map(told),
    ...dataFee,
    ...nativePriceFindings(deps, compiled.config).map(told),
    ...openFunding(compiled.config),
    ...(compiled.ignoredFunctions === undefined ? [] : [compiled.ignoredFunctions]),
    ready,
  ];
  await deps.statuses.write('Chain', chain, shown, {
    profiles: profiles.map(({ version, findings }) => profileStatus(deps, chain, version, findings)),
  });
}

/** Of a profile, and no reason why its Chain would not be ready. */
const besideReady: ReadonlySet<string> = new Set(['Ready', 'TokenSecured', 'Deposited', 'Staked']);

/** The config with what was seen on chain. */
function findServed({ config }: CompiledChain, served: ProfileConfig): ProfileConfig {
  return config.profiles.find(({ version }) => version === served.version) ?? served;
}

/** Nothing is signed by this price, so that it does not change Ready. */
function nativePriceFindings(
  { prices }: ChainReconcilerDeps,
  { chainId, nativePrice }: CompiledChain['config'],
): readonly Finding[] {
  if (nativePrice === undefined) return [];
  return [priceFinding(prices.answer(toDollarSpec(chainId, nativePrice)))];
}

/** On a chain where money is real, somebody should know about a wallet from which everybody may spend. */
function openFunding({ chainId, profiles }: CompiledChain['config']): readonly Finding[] {
  const open = profiles.filter(({ defaultFunding }) => defaultFunding?.organisations.includes('*') === true);
  if (devChainIds.has(chainId) || open.length === 0) return [];
  const wallets = [...new Set(open.map(({ defaultFunding }) => defaultFunding?.address))].join(', ');
  const message = `defaultFunding names "*": every Organisation, also one that is made later, spends from ${wallets}. List the namespaces that may.`;
  return [finding('OpenFunding', 'EveryOrganisation', message)];
}

/** Of local nodes: Ganache, and anvil and Hardhat. */
const devChainIds: ReadonlySet<number> = new Set([1337, 31_337]);

/** Why nothing is signed on a chain that is otherwise in order. */
function findHold(chain: Chain, clock: Finding, usage: Finding | undefined): Finding | undefined {
  if (chain.spec.suspended === true) return finding('Ready', 'Suspended', 'Suspended by spec.suspended.');
  if (chain.spec.profiles.length === 0)
    return finding('Ready', 'NothingToServe', 'spec.profiles is empty: no paymaster can use this Chain.');
  if (usage?.status === 'True') return finding('Ready', 'UsageStoreLost', usage.message);
  return clock.reason === 'FarAhead' ? finding('Ready', 'ClockSkew', clock.message) : undefined;
}

/** Only for a chain that has a token mode, and only when losses are reported. */
function lossFindings(
  { losses }: ChainReconcilerDeps,
  { chainId, profiles }: CompiledChain['config'],
): readonly Finding[] {
  const inTokens = profiles.filter(({ token }) => token !== undefined);
  if (losses === undefined || inTokens.length === 0) return [];
  return [tokenLossFinding(losses.of(chainId), inTokens)];
}

function factFindings(
  deps: ChainReconcilerDeps,
  chain: Chain,
  profile: ProfileConfig,
  accepted: Finding,
): readonly Finding[] {
  const { chainId, stake } = chain.spec;
  const facts = deps.facts.profile(chainId, profile);
  const place = { chainId, profile, ...given({ stake }) };
  const found = profileFindings(facts, place, deps.signers);
  const findings = [accepted, ...recallFindings(chain, profile.version, found)];
  // Payments after the call are served too, up to the loss budget.
  const tokens = profile.token === undefined ? [] : [finding('TokenSecured', facts.tokens)];
  const { unusable } = profile;
  const serving =
    unusable === undefined
      ? finding('Serving', 'Serving')
      : finding('Serving', 'ContractUnusable', unusable.message);
  const besides = recallFindings(chain, profile.version, [
    ...tokens,
    ...holdingFindings(facts, place, deps.signers),
  ]);
  return [...findings, serving, ...besides, summarise(findings)];
}

/** Findings about the contract of a version. Until the chain has been asked: the findings in the Chain's status. */
export function recallProfile(
  cache: Pick<Cache, 'chainsWith'>,
  chainId: number,
  version: string,
  findings: readonly Finding[],
): readonly Finding[] {
  const [chain] = inOrder(cache.chainsWith(chainId));
  return chain === undefined ? findings : recallFindings(chain, version, findings);
}

function recallFindings(chain: Chain, version: string, findings: readonly Finding[]): readonly Finding[] {
  const profile = chain.status?.profiles?.find((each) => each.version === version);
  return findings.map((found) => recall(found, profile?.conditions, chain.metadata.generation));
}

function profileStatus(
  { clock }: ChainReconcilerDeps,
  chain: Chain,
  version: string,
  findings: readonly Finding[],
): NonNullable<ChainStatus['profiles']>[number] {
  const present = chain.status?.profiles?.find((profile) => profile.version === version);
  const conditions = setConditions(
    present?.conditions ?? [],
    findings,
    chain.metadata.generation,
    clock.now(),
  );
  return { version, conditions };
}

function resolvedRefs(signers: ChainReconcilerDeps['signers'], profiles: readonly ProfileConfig[]): Finding {
  const files = [...new Set(profiles.flatMap(profileSignerFiles))];
  const missing = files.filter((file) => !signers.get(file) && signers.problem?.(file) === undefined);
  if (missing.length > 0) return finding('ResolvedRefs', 'SignerNotFound', missingKeys(signers, missing));
  const unusable = badKeys(signers, files) ?? troubledKeys(signers, files);
  if (unusable !== undefined) return finding('ResolvedRefs', 'SignerUnusable', unusable);
  return finding('ResolvedRefs', 'ResolvedRefs');
}

async function writeLoser({ statuses }: ChainReconcilerDeps, loser: Chain, holder: Chain): Promise<void> {
  const message = `Chain ${holder.metadata.name} has the chainId ${holder.spec.chainId}: delete one.`;
  const own = [finding('Accepted', 'NameConflict', message), finding('Programmed', 'NotAccepted', message)];
  await statuses.write('Chain', loser, [...own, summarise(own)], {});
}
