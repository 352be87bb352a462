import type { ProfileConfig } from '../../core/config/chain-config.js';
import type { CompiledPaymaster } from '../../core/config/compile.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { findCondition, finding, type Finding } from '../../core/meta/conditions.js';
import { ordinaryGas } from '../../core/policy/ordinary-operation.js';
import { fundsSubject, type ServingTrouble, type FundsTrouble } from '../../core/reports/serving-reports.js';
import type { LostLimit } from '../../core/policy/spending-limit/lost-usage.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { PaymasterPolicy } from '../../core/resources/paymaster-policy.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { toAddressKey } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import { fewOperations, type FundingLevel, type FundingQuestion } from '../facts/facts.js';
import type { PlatformView } from '../facts/platform-view.js';
import type { ServingFacts, UsageFacts } from '../facts/reported-facts.js';

/** Reports of the servers; undefined without reports. */
export type Serving = Pick<ServingFacts, 'of' | 'isKnown'> | undefined;

/** Facts about the usage store; undefined without a source of them. */
export type Usage = Pick<UsageFacts, 'isKnown'> | undefined;

type Deps = {
  readonly view: Pick<PlatformView, 'unpriced'>;
  readonly serving: Serving;
  readonly usage: Usage;
};

/**
 * Condition `Serving`: whether operations are signed now, as far as the operator and the servers know. Its reason is the most severe
 * trouble, its message names all. `ready` and `funded` are the conditions that come before it.
 */
export function servingFinding(
  deps: Deps,
  paymaster: Paymaster,
  compiled: CompiledPaymaster,
  before: { readonly ready: Finding; readonly funded: Finding; readonly lost: readonly LostLimit[] },
): Finding {
  const [first, ...others] = [
    ...ownTroubles(before),
    ...before.lost.map(({ text }) => finding('Serving', 'UsageLost', text)),
    ...policyTroubles(deps.serving, compiled),
    ...tokenTroubles(deps, compiled),
  ];
  if (first === undefined) return keptServing(deps, paymaster, finding('Serving', 'Serving'));
  const message = [first, ...others].map((each) => each.message).join(' ');
  return keptServing(deps, paymaster, { ...first, message });
}

/**
 * After a start, what is reported of budgets and of lost usage stays until reports were read: otherwise each restart would flip the
 * condition twice.
 */
function keptServing({ serving, usage }: Deps, { status, metadata }: Paymaster, found: Finding): Finding {
  const before = findCondition(status?.conditions, 'Serving');
  if (found.status !== 'True' || before?.observedGeneration !== metadata.generation) return found;
  for (const [reason, source] of [
    ['UsageLost', usage],
    ['LimitFull', serving],
  ] as const)
    if (before.reason === reason && source?.isKnown() === false)
      return finding('Serving', reason, before.message);
  return found;
}

function ownTroubles({
  ready,
  funded,
}: {
  readonly ready: Finding;
  readonly funded: Finding;
}): readonly Finding[] {
  const isUnknown = ready.status === 'Unknown' || funded.status === 'Unknown';
  return [
    ...(ready.status === 'False' ? [finding('Serving', 'NotReady', ready.message)] : []),
    ...(funded.status === 'False' ? [finding('Serving', 'DepositEmpty', funded.message)] : []),
    ...(isUnknown
      ? [finding('Serving', 'Unknown', ready.status === 'Unknown' ? ready.message : undefined)]
      : []),
  ];
}

function policyTroubles(serving: Serving, { policies, config }: CompiledPaymaster): readonly Finding[] {
  const named = (trouble: ServingTrouble): string =>
    [
      ...policies
        .filter(({ policyId, object }) => policyTrouble(serving, object, policyId) === trouble)
        .map(({ object }) => `"${object.spec.name}"`),
      ...config.limits
        .filter(({ budget, policyId }) => budget === true && serving?.of(policyId) === trouble)
        .map(({ name }) => `budget "${name}" of the Organisation`),
    ].join(', ');
  const [failing, full] = [named('WebhookFailing'), named('LimitFull')];
  return [
    ...(failing === ''
      ? []
      : [
          finding(
            'Serving',
            'WebhookFailing',
            `No answer from the host of ${failing}: operations are refused.`,
          ),
        ]),
    ...(full === ''
      ? []
      : [finding('Serving', 'LimitFull', `Full: ${full}. Wait until it resets, or raise the threshold.`)]),
  ];
}

function tokenTroubles({ serving, view }: Deps, { profile, config }: CompiledPaymaster): readonly Finding[] {
  if (profile?.token === undefined) return [];
  const unpriced = view.unpriced(config.chainId);
  return [
    ...(isTokenBudgetFull(serving, config.chainId, profile) ? [finding('Serving', 'TokenBudgetFull')] : []),
    ...(unpriced === ''
      ? []
      : [
          finding(
            'Serving',
            'TokensUnpriced',
            `Sponsorships are signed; payments in ${unpriced} are refused: see the FeeTokens.`,
          ),
        ]),
  ];
}

function isTokenBudgetFull(serving: Serving, chainId: number, { token }: ProfileConfig): boolean {
  if (token === undefined) return false;
  return (
    serving?.of(fundsSubject(chainId, { contract: toAddressKey(token) }, 'tokens')) === 'TokenBudgetFull'
  );
}

/**
 * What servers report of an active policy. After a start, its condition stands until they were asked.
 */
function policyTrouble(
  serving: Serving,
  { spec, status, metadata }: PaymasterPolicy,
  policyId: string,
): ServingTrouble | undefined {
  if (spec.active === false) return undefined;
  const trouble = serving?.of(policyId);
  if (trouble === 'LimitFull' || trouble === 'WebhookFailing') return trouble;
  if (serving?.isKnown() !== false) return undefined;
  const wasHere = (type: 'Exhausted' | 'HostFailing'): boolean =>
    findCondition(status?.conditions, type)?.observedGeneration === metadata.generation;
  if (wasHere('Exhausted')) return 'LimitFull';
  return wasHere('HostFailing') ? 'WebhookFailing' : undefined;
}

/** The conditions of a policy that keeps its paymaster from sponsoring; without trouble it has none of them. */
export function policyFindings(
  { serving, usage }: Pick<Deps, 'serving' | 'usage'>,
  object: PaymasterPolicy,
  policyId: string,
  lost: readonly LostLimit[],
): readonly Finding[] {
  const text = lost.find((each) => each.policyId === policyId)?.text ?? keptLoss(usage, object);
  if (text !== undefined) return [finding('Exhausted', 'UsageLost', text)];
  switch (policyTrouble(serving, object, policyId)) {
    case 'LimitFull':
      return [finding('Exhausted', 'LimitFull')];
    case 'WebhookFailing':
      return [finding('HostFailing', 'WebhookFailing')];
    default:
      return [];
  }
}

/** After a start, until the copies of epochs were read. */
function keptLoss(usage: Usage, { spec, status, metadata }: PaymasterPolicy): string | undefined {
  const before = findCondition(status?.conditions, 'Exhausted');
  if (usage?.isKnown() !== false || spec.active === false || before?.reason !== 'UsageLost') return undefined;
  return before.observedGeneration === metadata.generation ? before.message : undefined;
}

/** Budgets of an Organisation that are full; `names` by policyId. */
export function budgetFindings(
  serving: Serving,
  { status }: Organisation,
  names: ReadonlyMap<string, string>,
): readonly Finding[] {
  if (serving?.isKnown() === false) {
    const before = findCondition(status?.conditions, 'Exhausted');
    return before === undefined ? [] : [finding('Exhausted', 'BudgetFull', before.message)];
  }
  const full = [...names]
    .filter(([policyId]) => serving?.of(policyId) === 'LimitFull')
    .map(([, name]) => `"${name}"`);
  if (full.length === 0) return [];
  const message = `Full: budget ${full.join(', ')}. Wait until it resets, or raise the amount.`;
  return [finding('Exhausted', 'BudgetFull', message)];
}

type FundedDeps = { readonly facts: Pick<ChainFacts, 'funding'>; readonly serving: Serving };
type Level = FundingLevel | Exclude<FundsTrouble, 'TokenBudgetFull'>;

/** The most severe first: an account shows the first one that applies. */
const worstFirst = ['Empty', 'Promised', 'ShareFull', 'Unknown', 'Low'] as const;

/**
 * Condition `Funded`, of the accounts that an operation draws on: what they hold on chain, less what servers have promised of it. The
 * worst account gives the reason; the message names each that is short.
 */
export function fundedFinding(
  deps: FundedDeps,
  config: Pick<PaymasterConfig, 'chainId' | 'namespace'>,
  questions: readonly FundingQuestion[],
  { status, metadata }: Pick<Paymaster, 'status' | 'metadata'>,
): Finding {
  const found = fundedNow(deps, config, questions);
  const before = findCondition(status?.conditions, 'Funded');
  const isReported = before?.reason === 'Promised' || before?.reason === 'ShareFull';
  // After a start it stands until the servers were asked.
  return isReported &&
    found.status === 'True' &&
    deps.serving?.isKnown() === false &&
    before.observedGeneration === metadata.generation
    ? finding('Funded', before.reason === 'Promised' ? 'Promised' : 'ShareFull', before.message)
    : found;
}

function fundedNow(
  { facts, serving }: FundedDeps,
  { chainId, namespace }: Pick<PaymasterConfig, 'chainId' | 'namespace'>,
  questions: readonly FundingQuestion[],
): Finding {
  const levels = questions.map((question) => {
    const level = facts.funding(chainId, question);
    const trouble = level === 'Empty' ? undefined : decidePromised(serving, { chainId, namespace }, question);
    return { question, level: trouble ?? level };
  });
  const worst = worstFirst.find((each) => levels.some(({ level }) => level === each));
  if (worst === undefined) return finding('Funded', 'Ok');
  const told = worstFirst.flatMap((each) =>
    levels
      .filter(({ level }) => level === each)
      .flatMap(({ question }) => describeFunding(each, question) ?? []),
  );
  return finding('Funded', worst, told.length === 0 ? undefined : told.join(' '));
}

function decidePromised(
  serving: Serving,
  { chainId, namespace }: Pick<PaymasterConfig, 'chainId' | 'namespace'>,
  { profile, wallet }: FundingQuestion,
): 'Promised' | 'ShareFull' | undefined {
  const account = {
    contract: toAddressKey(profile.sponsorship),
    ...given({ fundingAddress: wallet && toAddressKey(wallet) }),
  };
  if (serving?.of(fundsSubject(chainId, account)) === 'Promised') return 'Promised';
  const isFull = serving?.of(fundsSubject(chainId, account, { organisation: namespace })) === 'ShareFull';
  return isFull ? 'ShareFull' : undefined;
}

function describeFunding(level: Level, { profile, wallet }: FundingQuestion): string | undefined {
  const { sponsorship, entryPoint } = profile;
  const whose =
    wallet === undefined
      ? `contract ${sponsorship} in EntryPoint ${entryPoint}`
      : `${wallet} in contract ${sponsorship}`;
  const ordinary = `operation of ${ordinaryGas} gas at the recent fees of the chain`;
  switch (level) {
    case 'Empty':
      return `The deposit of ${whose} covers no ${ordinary}: top it up.`;
    case 'Promised':
      return `What is not promised of the deposit of ${whose} covers no ${ordinary}: wait until operations are mined or expire, or top it up.`;
    case 'ShareFull':
      return `Promises take all of the organisation's share of the deposit of ${whose}: wait until their operations are mined or expire, or use a funding wallet of your own.`;
    case 'Low':
      return `The deposit of ${whose} covers fewer than ${fewOperations} operations of ${ordinaryGas} gas at the recent fees of the chain: top it up soon.`;
    default:
      return undefined;
  }
}
