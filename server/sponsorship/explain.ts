import { isDomainError } from '../../core/errors.js';
import { traceCalls, type CallTrace } from '../../core/policy/rules/allow-list/decide.js';
import { amount } from '../../core/policy/spending-limit/texts.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { gatherCase, type CaseDeps, type SponsorCase } from './case.js';
import { withFreshConfig } from './fresh-config.js';
import type { SponsorRequest } from './request.js';
import { rulesAtOnce } from './rules.js';
import { showAccounts, showBounds, showGas, type GasFigures } from './show.js';
import {
  askWebhooks,
  findLimits,
  givenLimits,
  peekUsage,
  type PeekedUsage,
  type StageDeps,
} from './stages.js';
import { needsSimulation, unusedFees } from './unused-gas.js';
import { createTrace, type Trace, type TraceStep } from './trace.js';

export type ExplainDeps = CaseDeps & StageDeps & { readonly view: Pick<ConfigView, 'refresh'> };

export type Explain = (
  paymaster: ServedPaymaster,
  request: SponsorRequest,
  options: { readonly callWebhook: boolean },
) => Promise<Explanation>;

/** Everything that decides about an operation. Amounts of ether and gwei are decimal text in ether. */
export type Explanation = {
  readonly mode: 'SPONSORED';
  /** What a sponsorship request would come to now; null where only the webhooks of `undecided` could say. */
  readonly sponsored: boolean | null;
  /** Names of policies whose webhook was not asked and would decide. */
  readonly undecided?: readonly string[];
  readonly reason?: string;
  readonly paymaster: object;
  readonly steps: readonly TraceStep[];
  readonly account: string;
  /** Each call by itself; an operation passes when all of them do. */
  readonly calls: readonly CallTrace[];
  readonly gas?: object;
  readonly limits: readonly object[];
  readonly deposits: readonly object[];
  /** What may be promised at once: by this paymaster, and by its organisation from a deposit that several use. */
  readonly bounds: readonly object[];
  readonly webhooks: readonly ExplainedWebhook[];
};

type ExplainedWebhook = { readonly name: string; readonly verdict?: string };

function nameOfUnasked({ name, verdict }: ExplainedWebhook): readonly string[] {
  return verdict === notAsked ? [name] : [];
}

const notAsked = 'not asked';

/**
 * Decides as a sponsorship request would, with the same rules and stages, but goes on after a refusal, so that every
 * obstacle is shown at once. Reserves nothing, signs nothing, and asks webhooks only when told to. Throws what a
 * request would throw before any rule is looked at.
 */
export function createExplain(deps: ExplainDeps): Explain {
  return (paymaster, request, options) =>
    withFreshConfig(deps.view, paymaster, (current) =>
      explainOnce(deps, gatherCase(deps, current, request), options),
    );
}

async function explainOnce(
  deps: ExplainDeps,
  facts: SponsorCase,
  { callWebhook }: { readonly callWebhook: boolean },
): Promise<Explanation | 'stale'> {
  const trace = createTrace();
  for (const { name, decide } of rulesAtOnce) trace.judged(name, decide(facts));

  const op = await explainGas(deps, facts, trace);
  const webhooks = await explainWebhooks(deps, facts, op, callWebhook, trace);
  const usage = await peekUsage(deps, facts, op);
  if (usage.outcome === 'stale') return 'stale';
  trace.judged('limitsAndDeposit', usage.outcome === 'refused' ? usage.refusal : { pass: true });

  const stopped = trace.stoppedBy();
  const undecided = stopped === undefined ? webhooks.flatMap(nameOfUnasked) : [];
  return {
    mode: 'SPONSORED',
    sponsored: undecided.length > 0 ? null : stopped === undefined,
    ...(undecided.length > 0 ? { undecided } : {}),
    ...(stopped?.reason === undefined ? {} : { reason: stopped.reason }),
    paymaster: showPaymaster(facts),
    steps: trace.steps,
    account: facts.calls.outcome === 'calls' ? facts.calls.signature : '',
    calls: traceCalls(facts.paymaster.allowList, facts.calls),
    ...(op === undefined ? {} : { gas: showGas(op, gasFigures(facts, op)) }),
    ...showUsage(facts, op !== undefined, usage),
    webhooks,
  };
}

/** The operation with final limits, where they can be had. */
async function explainGas(
  deps: ExplainDeps,
  facts: SponsorCase,
  trace: Trace,
): Promise<FinalUserOperation | undefined> {
  const simulates = needsSimulation(facts, facts.profile.paymasterGas);
  if (simulates && facts.funding === undefined) {
    trace.skipped('gas', 'Nobody pays, so there is nothing to simulate.');
    return undefined;
  }
  try {
    const { op, verdict } = simulates ? await findLimits(deps, facts) : givenLimits(facts);
    trace.judged('gas', verdict);
    return op;
  } catch (error) {
    if (!isDomainError(error)) throw error;
    trace.failed('gas', error);
    return undefined;
  }
}

async function explainWebhooks(
  deps: ExplainDeps,
  facts: SponsorCase,
  op: FinalUserOperation | undefined,
  callWebhook: boolean,
  trace: Trace,
): Promise<readonly ExplainedWebhook[]> {
  const { webhooks } = facts.paymaster;
  if (webhooks.length === 0) return [];
  if (!callWebhook || op === undefined) {
    trace.skipped(
      'webhooks',
      callWebhook ? 'The gas limits are not known.' : 'Not asked: send callWebhook: true.',
    );
    return webhooks.map(({ name }) => ({ name, verdict: notAsked }));
  }
  try {
    const { verdict, outcomes } = await askWebhooks(deps, facts, op);
    trace.judged('webhooks', verdict);
    return webhooks.map(({ name, onError }, index) => ({ name, onError, ...outcomes[index] }));
  } catch (error) {
    if (!isDomainError(error)) throw error;
    trace.failed('webhooks', error);
    return webhooks.map(({ name }) => ({ name, verdict: notAsked }));
  }
}

function showPaymaster({ paymaster, profile, funding }: SponsorCase): object {
  return {
    paymasterId: paymaster.paymasterId,
    chainId: paymaster.chainId,
    version: paymaster.version,
    configGeneration: paymaster.configGeneration,
    ...(paymaster.allowList.kind === 'open' ? { openSponsorship: true } : {}),
    layout: profile.layout.id,
    entryPoint: profile.entryPoint,
    contract: profile.contract,
    ...(profile.keepsBalances && funding !== undefined ? { fundingAddress: funding } : {}),
  };
}

function gasFigures(facts: SponsorCase, op: FinalUserOperation): GasFigures {
  const { estimating, profile } = facts;
  const maxCost = profile.layout.sponsorship.need(op, profile.options).entryPoint;
  return { estimated: estimating, maxCost, unused: unusedFees(facts, op, profile.paymasterGas) };
}

/** `isFinal`: the operation's limits are known, and so is what it needs. */
function showUsage(
  facts: SponsorCase,
  isFinal: boolean,
  { request, peeked }: PeekedUsage,
): Pick<Explanation, 'limits' | 'deposits' | 'bounds'> {
  const limits = facts.paymaster.limits.map((limit, index) => {
    const counter = peeked.limits[index];
    const share = request.limits[index];
    const used = (counter?.used ?? 0) + (counter?.reserved ?? 0);
    return {
      policyId: limit.policyId,
      name: limit.name,
      scope: limit.perSender ? 'SMART_ACCOUNT' : 'PAYMASTER',
      thresholdType: limit.unit,
      threshold: amount(limit, limit.threshold),
      used: amount(limit, used),
      left: amount(limit, Math.max(0, limit.threshold - used)),
      ...(share === undefined || !isFinal ? {} : { needed: amount(limit, share.cost) }),
      ...(share === undefined ? {} : { resetsAt: new Date(share.window.until).toISOString() }),
    };
  });
  const deposits = showAccounts(peeked, isFinal ? request.accounts.map(({ need }) => need) : undefined);
  return { limits, deposits, bounds: showBounds(request, peeked, isFinal) };
}
