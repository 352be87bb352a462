import { budgetNames, budgetsFinding } from '../../core/config/budgets.js';
import { isRefusal, checkAddresses } from '../../core/config/checksum.js';
import { conflicts, rank } from '../../core/config/ranking.js';
import { summarise } from '../../core/config/summary.js';
import { unreachable } from '../../core/errors.js';
import type { ConditionReason } from '../../core/meta/condition-reasons.js';
import { findCondition, finding, isConditionTrue, type Finding } from '../../core/meta/conditions.js';
import type { Condition } from '../../core/meta/meta.js';
import type { Organisation } from '../../core/resources/organisation.js';
import { organisationLabel, type TenantAccess } from '../../core/tenant-access.js';
import { hasWrongChecksum } from '../../core/units/address.js';
import { parseInstant, type Clock, type EpochMs } from '../../core/units/time.js';
import type { Cache } from '../cache.js';
import { recoveryMs, troubleMs } from '../facts/steady.js';
import { done, type Reconcile } from '../runtime/controller.js';
import type { OfferedChains } from './offered-chains.js';
import { budgetFindings, type Serving } from './serving-finding.js';
import { runAll, type StatusWriter } from './status.js';

/** The Organisation that counts for a namespace: of those that name it, one already in use, else the oldest. */
export function findOrganisation(
  cache: Pick<Cache, 'organisationsOf'>,
  namespace: string,
): Organisation | undefined {
  return inOrder(cache.organisationsOf(namespace))[0];
}

/** Reports for the Organisations of a namespace which one counts. */
export function createOrganisationReconciler(deps: {
  readonly cache: Pick<Cache, 'organisationsOf' | 'paymastersIn'>;
  readonly offeredChains: Pick<OfferedChains, 'get'>;
  readonly statuses: StatusWriter;
  readonly serving: Serving;
  /** Absent when the dashboard needs no grants. */
  readonly tenantAccess?: TenantAccess;
  readonly clock: Clock;
}): Reconcile {
  return async (namespace) => {
    const organisations = inOrder(deps.cache.organisationsOf(namespace));
    const losers = conflicts(organisations, ({ spec }) => spec.namespace);
    const access = await grantAccess(namespace, organisations.length > 0);
    const waits: number[] = [];
    await runAll(
      organisations.map((organisation) => async () => {
        const holder = losers.get(organisation);
        const checksum = checkChecksums(organisation, deps.cache);
        const accepted =
          holder === undefined
            ? (checksum?.refused ??
              budgetsFinding(organisation, deps.offeredChains.get) ??
              finding('Accepted', 'Accepted'))
            : finding(
                'Accepted',
                'NameConflict',
                `Organisation ${holder.metadata.name} has the namespace "${namespace}": delete one.`,
              );
        const details = [...(holder === undefined ? [access] : []), checksum?.warning].filter(
          (found) => found !== undefined,
        );
        const block =
          access && findLasting(organisation.status?.conditions, access, 'NoAccess', deps.clock.now());
        waits.push(block?.lookAgainMs ?? Infinity);
        // While it recovers, its former condition stays.
        const before = findCondition(organisation.status?.conditions, 'Ready');
        const why = access?.status === 'False' ? access.message : before?.message;
        const hold = block?.isBlocked === true ? finding('Ready', 'NoAccess', why) : undefined;
        const budgets = budgetFindings(deps.serving, organisation, budgetNames(organisation));
        const findings = [accepted, ...details, summarise([accepted], hold), ...budgets];
        await deps.statuses.write('Organisation', organisation, findings, {});
      }),
    );
    if (access?.status === 'False') waits.push(accessRetryMs);
    const requeueAfterMs = Math.min(...waits);
    return Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : done;
  };

  async function grantAccess(namespace: string, isWanted: boolean): Promise<Finding | undefined> {
    if (deps.tenantAccess === undefined) return undefined;
    if (!isWanted) {
      await deps.tenantAccess.revoke(namespace);
      return undefined;
    }
    const outcome = await deps.tenantAccess.grant(namespace);
    switch (outcome) {
      case 'granted':
      case 'unchanged':
        return finding('DashboardAccess', 'Granted');
      case 'no-namespace':
        return finding('DashboardAccess', 'NamespaceNotFound');
      case 'no-label':
        return finding(
          'DashboardAccess',
          'NamespaceNotLabelled',
          `The platform has to allow it: kubectl label namespace ${namespace} ${organisationLabel}`,
        );
      case 'not-ours':
        return finding('DashboardAccess', 'NotOurs');
      default:
        return unreachable(outcome);
    }
  }
}

/**
 * Checks the checksums of the wallets that the platform vouches for. A wallet with a wrong checksum stays if the
 * Organisation was accepted with it, or while it funds a Paymaster.
 */
function checkChecksums(
  { metadata, spec, status }: Organisation,
  cache: Pick<Cache, 'paymastersIn'>,
): { readonly refused?: Finding; readonly warning?: Finding } | undefined {
  const { namespace, fundingAddresses = [] } = spec;
  if (!fundingAddresses.some(hasWrongChecksum)) return undefined;
  const accepted = findCondition(status?.conditions, 'Accepted');
  const isStored = accepted?.status === 'True' && accepted.observedGeneration === metadata.generation;
  const wallets = cache
    .paymastersIn(namespace)
    .filter((paymaster) => isConditionTrue(paymaster, 'Accepted'))
    .flatMap(({ spec: { funding } }) => funding?.address ?? []);
  const inUse = isStored ? fundingAddresses : wallets;
  const { told } = checkAddresses('spec.fundingAddresses', fundingAddresses, inUse);
  if (told === undefined) return undefined;
  return isRefusal(told) ? { refused: told } : { warning: told };
}

/** Namespaces and role bindings are not watched: the operator would need access to all of them. */
const accessRetryMs = 10_000;

function inOrder(organisations: readonly Organisation[]): readonly Organisation[] {
  return rank(organisations, (organisation) => isConditionTrue(organisation, 'Ready'));
}

/** Whether a trouble of the object itself blocks `Ready`, and when to check again. */
type Lasting = { readonly isBlocked: boolean; readonly lookAgainMs?: number };

/**
 * A trouble blocks `Ready` (with `reason`) after it has lasted for a minute, and until it has been over for half a
 * minute. Uses the times in the status, so that it survives a restart.
 */
export function findLasting(
  conditions: readonly Condition[] | undefined,
  { type, status }: Finding,
  reason: ConditionReason<'Ready'>,
  now: EpochMs,
): Lasting {
  const known = findCondition(conditions, type);
  const wasBlocked = findCondition(conditions, 'Ready')?.reason === reason;
  const isTrouble = status === 'False';
  // A new finding is in the status from now on.
  const since = known?.status === status ? parseInstant(known.lastTransitionTime) : undefined;
  const lastedMs = since === undefined ? 0 : now - since;
  if (isTrouble) return { isBlocked: wasBlocked || lastedMs >= troubleMs };
  if (!wasBlocked || lastedMs >= recoveryMs) return { isBlocked: false };
  return { isBlocked: true, lookAgainMs: recoveryMs - lastedMs };
}
