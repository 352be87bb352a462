import { budgetNames } from '../../core/config/budgets.js';
import { unreachable } from '../../core/errors.js';
import { findCondition, isConditionTrue } from '../../core/meta/conditions.js';
import { acceptedLossAnnotation, formatKey, objectKey } from '../../core/meta/meta.js';
import { chainOfFunds, chainOfSubject } from '../../core/reports/serving-reports.js';
import { reconciledKinds, type AnyResource, type Kind } from '../../core/resources/kinds.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import { ownerKey, findRoot, type Cache, type Change, type RootKind } from '../cache.js';

/**
 * The keys to reconcile: paymasters by `namespace/name`, chains by chain id, organisations by namespace. Each root is
 * compiled as a whole, so the other kinds are mapped to the roots that contain them.
 */
export type Keys = {
  readonly paymasters: readonly string[];
  readonly chains: readonly string[];
  readonly organisations: readonly string[];
};

/**
 * The roots that a change affects; none when only metadata changed, or the status, which the operator itself writes.
 */
export function listKeys(change: Change, cache: Cache): Keys {
  if (isStatusOnly(change)) {
    const { after } = change;
    return after?.kind === 'Chain' && acceptsLoss(change)
      ? { ...none, chains: [String(after.spec.chainId)] }
      : none;
  }
  const touched = [change.before, change.after].filter((object) => object !== undefined);
  const isGone = change.after === undefined || isReplaced(change);
  const keys = touched.map((object) => keysOfObject(object, cache, isGone));
  return {
    paymasters: unique(keys.flatMap(({ paymasters }) => paymasters)),
    chains: unique(keys.flatMap(({ chains }) => chains)),
    organisations: unique(keys.flatMap(({ organisations }) => organisations)),
  };
}

/** Deleted and created again under its name between two events. */
function isReplaced({ before, after }: Change): boolean {
  return before !== undefined && after !== undefined && before.metadata.uid !== after.metadata.uid;
}

/** Every root that may need work: for the start, and for when this process begins to lead. */
export function allKeys(cache: Cache): Keys {
  return groupRoots([...reconciledKinds.flatMap((kind) => cache.all<Kind>(kind)), ...cache.allLeaving()]);
}

/** The roots that these objects are compiled into. */
export function groupRoots(objects: readonly AnyResource[]): Keys {
  const roots = objects.map(findRoot);
  const keysAt = (root: RootKind) => unique(roots.filter(({ kind }) => kind === root).map(({ key }) => key));
  return {
    paymasters: keysAt('Paymaster'),
    chains: keysAt('Chain'),
    organisations: keysAt('Organisation'),
  };
}

const none: Keys = { paymasters: [], chains: [], organisations: [] };

function isStatusOnly({ before, after }: Change): boolean {
  if (before === undefined || after === undefined) return false;
  return (
    before.metadata.uid === after.metadata.uid && before.metadata.generation === after.metadata.generation
  );
}

/** An annotation does not change the generation; this one is treated like a field of the spec. */
function acceptsLoss({ before, after }: Change): boolean {
  if (before?.kind !== 'Chain' || after?.kind !== 'Chain') return false;
  const [was, is] = [before, after].map(({ metadata }) => metadata.annotations?.[acceptedLossAnnotation]);
  return was !== is;
}

function keysOfObject(object: AnyResource, cache: Cache, isGone: boolean): Keys {
  switch (object.kind) {
    case 'SmartContract':
    case 'PaymasterPolicy':
      return { ...none, paymasters: [ownerKey(object)] };
    case 'Paymaster': {
      // A name or a place in the quota may have become free. A new paymaster frees neither, and to wake all waiting
      // ones for each of the thousands that a tenant creates would cost the square of their number.
      const waiting = isGone
        ? cache
            .paymastersIn(object.metadata.namespace ?? '')
            .filter((each) => waitsForOthers(each) || isUnjudged(each))
        : [];
      return {
        ...none,
        paymasters: keysOfAll([object, ...(isGone ? cache.rivalsOf(object) : []), ...waiting]),
      };
    }
    case 'Organisation': {
      const { namespace } = object.spec;
      return { ...none, organisations: [namespace], paymasters: keysOfAll(cache.paymastersIn(namespace)) };
    }
    case 'Chain': {
      const { chainId } = object.spec;
      // The status of a Paymaster that found no chain lists the chains, so it changes too.
      const lost = cache
        .all('Paymaster')
        .filter((each) => isRefused(each, 'ResolvedRefs', ['ChainNotFound']));
      const concerned = [...cache.paymastersOn(chainId), ...lost];
      const budgeted = cache
        .all('Organisation')
        .filter(({ spec }) => spec.budgets?.some((budget) => budget.chain === chainId));
      return {
        chains: [String(chainId)],
        paymasters: keysOfAll(concerned),
        organisations: budgeted.map(({ spec }) => spec.namespace),
      };
    }
    case 'FeeToken':
      return { ...none, chains: [String(object.spec.chainId)] };
    case 'DashboardToken':
      return none;
    default:
      return unreachable(object);
  }
}

function waitsForOthers(paymaster: Paymaster): boolean {
  return isRefused(paymaster, 'Accepted', ['NameConflict', 'QuotaExceeded']);
}

/** It may be about to be refused because of a paymaster that is now gone, while its status does not say so yet. */
function isUnjudged({ status }: Paymaster): boolean {
  return findCondition(status?.conditions, 'Accepted') === undefined;
}

function isRefused(
  paymaster: Paymaster,
  type: 'Accepted' | 'ResolvedRefs',
  reasons: readonly string[],
): boolean {
  const condition = findCondition(paymaster.status?.conditions, type);
  return condition?.status === 'False' && reasons.includes(condition.reason);
}

function keysOfAll(paymasters: readonly Paymaster[]): readonly string[] {
  return paymasters.map((paymaster) => formatKey(objectKey(paymaster)));
}

function unique(keys: readonly string[]): readonly string[] {
  return [...new Set(keys)];
}

type Deps = {
  readonly cache: Pick<Cache, 'all' | 'paymastersIn' | 'paymastersOn'>;
  readonly addChain: (chainId: number) => void;
  readonly addOrganisations: (namespaces: readonly string[]) => void;
  readonly addPaymasters: (keys: readonly string[]) => void;
};

/** Looks again at the objects that reports of the servers concern. */
export function createReportLook({ cache, addChain, addOrganisations, addPaymasters }: Deps) {
  return {
    at(subjects: readonly string[]): void {
      const changed = new Set(subjects);
      for (const chainId of subjects.map(chainOfSubject)) if (chainId !== undefined) addChain(chainId);
      const policies = cache
        .all('PaymasterPolicy')
        .filter(({ status }) => changed.has(status?.policyId ?? ''));
      const budgeted = cache
        .all('Organisation')
        .filter((each) => [...budgetNames(each).keys()].some((id) => changed.has(id)))
        .map(({ spec }) => spec.namespace);
      const funded = new Set(subjects.map(chainOfFunds));
      addOrganisations(budgeted);
      addPaymasters([
        ...policies.map(ownerKey),
        ...keysOfAll(budgeted.flatMap((namespace) => cache.paymastersIn(namespace))),
        ...keysOfAll(
          [...funded].flatMap((chainId) => (chainId === undefined ? [] : cache.paymastersOn(chainId))),
        ),
      ]);
    },
    /** What stood in a status when this process began may be over. */
    atKept(): void {
      const kept = cache
        .all('Organisation')
        .filter(({ status }) => findCondition(status?.conditions, 'Exhausted'));
      addOrganisations(kept.map(({ spec }) => spec.namespace));
      addPaymasters(keysOfAll(cache.all('Paymaster').filter((each) => !isConditionTrue(each, 'Serving'))));
    },
  };
}
