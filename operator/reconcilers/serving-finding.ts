import type { CompiledPaymaster } from '../../core/config/compile.js';
import { findCondition, finding, type Finding } from '../../core/meta/conditions.js';
import type { ServingTrouble } from '../../core/policy/serving-reports.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { PlatformView } from '../facts/platform-view.js';
import type { ServingFacts } from '../facts/reported-facts.js';

type Deps = {
  readonly view: Pick<PlatformView, 'unpriced'>;
  /** Reports of the servers; undefined without reports. */
  readonly serving: Pick<ServingFacts, 'of' | 'isKnown'> | undefined;
};

/**
 * Condition `Serving`: whether operations are signed now, as far as the operator and the servers know. `ready` and
 * `funded` are the conditions that come before it.
 */
export function servingFinding(
  deps: Deps,
  paymaster: Paymaster,
  compiled: CompiledPaymaster,
  before: { readonly ready: Finding; readonly funded: Finding },
): Finding {
  return keptServing(deps, paymaster, present(deps, compiled, before));
}

/**
 * After a start, the reported troubles stay until the servers were asked: otherwise each restart would flip the
 * condition twice.
 */
function keptServing({ serving }: Deps, { status, metadata }: Paymaster, found: Finding): Finding {
  const before = findCondition(status?.conditions, 'Serving');
  const isMet = before?.reason === 'LimitFull' || before?.reason === 'WebhookFailing';
  const mayStand = serving?.isKnown() === false && found.status === 'True';
  return mayStand && isMet && before.observedGeneration === metadata.generation
    ? finding('Serving', before.reason === 'LimitFull' ? 'LimitFull' : 'WebhookFailing', before.message)
    : found;
}

function present(
  { serving, view }: Deps,
  { policies, profile, config }: CompiledPaymaster,
  { ready, funded }: { readonly ready: Finding; readonly funded: Finding },
): Finding {
  if (ready.status === 'False') return finding('Serving', 'NotReady', ready.message);
  if (funded.status === 'False') return finding('Serving', 'DepositEmpty', funded.message);
  if (ready.status === 'Unknown' || funded.status === 'Unknown') return finding('Serving', 'Unknown');
  const budgets = config.limits.filter(({ budget }) => budget === true);
  const met = (trouble: ServingTrouble): string =>
    [
      ...policies
        .filter(({ policyId, object }) => object.spec.active !== false && serving?.of(policyId) === trouble)
        .map(({ object }) => `"${object.spec.name}"`),
      ...budgets
        .filter(({ policyId }) => serving?.of(policyId) === trouble)
        .map(({ name }) => `budget "${name}" of the Organisation`),
    ].join(', ');
  const [full, failing] = [met('LimitFull'), met('WebhookFailing')];
  if (full !== '')
    return finding('Serving', 'LimitFull', `Full: ${full}. Wait for the next cycle, or raise the threshold.`);
  if (failing !== '')
    return finding(
      'Serving',
      'WebhookFailing',
      `No answer from the host of ${failing}: operations are refused.`,
    );
  const unpriced = profile?.token === undefined ? '' : view.unpriced(config.chainId);
  return unpriced === ''
    ? finding('Serving', 'Serving')
    : finding(
        'Serving',
        'TokensUnpriced',
        `Sponsorships are signed; payments in ${unpriced} are refused: see the FeeTokens.`,
      );
}
