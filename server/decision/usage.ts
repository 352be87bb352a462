import { pass, refuse } from '../../core/refusal.js';
import { given } from '../../core/units/given.js';
import { peek, type Reserved } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { describeRefusal } from './refusal.js';
import { planReservation, type PlannedReservation, type Promised } from './reservation.js';
import type { Case, Outcome } from './step.js';

/** The outcome that a reservation of this promise would have now; notes the figures in the case. Throws UNAVAILABLE. */
export async function peekUsage(
  usage: Pick<UsageStore, 'now' | 'peek' | 'capacity'>,
  gathered: Case,
  promised: Promised,
): Promise<Outcome> {
  const peeked = await peek(usage, planReservation(promised, usage.capacity()));
  gathered.usage = { ...peeked, promised };
  return toOutcome(gathered, peeked);
}

/** Whether some replica has served a newer config of the paymaster or the chain. Throws UNAVAILABLE. */
export async function isServedNewer(
  usage: Pick<UsageStore, 'now' | 'peek' | 'capacity'>,
  promised: Promised,
): Promise<boolean> {
  const plan = planReservation(promised, usage.capacity());
  const takesNothing = { bars: [], limits: [], holds: [], accounts: [] };
  const { result } = await peek(usage, (now) => ({ ...plan(now), ...takesNothing }));
  return result.outcome === 'stale';
}

/** The outcome for the store's answer; a refusal gets its text. */
export function toOutcome(
  { paymaster, shadow }: Pick<Case, 'paymaster' | 'shadow'>,
  { request, result }: Reserved<PlannedReservation>,
): Outcome {
  switch (result.outcome) {
    case 'reserved':
      for (const index of result.over ?? []) {
        const { name, policyId, isBudget } = request.limits[index]!.policy;
        const reason = isBudget === true ? 'BUDGET_REACHED' : 'LIMIT_REACHED';
        shadow.noteFull({ ...refuse(reason, `"${name}" is above its threshold`), policyId });
      }
      for (const index of result.overHolds ?? []) {
        const { policy } = request.holds[index]!;
        const detail = `operations that are not mined yet hold more than a quarter of "${policy?.name}"`;
        shadow.note({ ...refuse('BUDGET_SHARE_FULL', detail), ...given({ policyId: policy?.policyId }) });
      }
      return pass;
    case 'stale':
      return 'stale';
    default:
      return describeRefusal(paymaster, request, result);
  }
}
