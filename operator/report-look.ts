import { budgetNames } from '../core/config/budgets.js';
import { findCondition, isConditionTrue } from '../core/meta/conditions.js';
import { formatKey, keyOf } from '../core/meta/meta.js';
import { chainOfFunds, chainOfSubject } from '../core/policy/serving-reports.js';
import type { Paymaster } from '../core/resources/paymaster.js';
import { ownerOf, type Cache } from './cache.js';

type Deps = {
  readonly cache: Pick<Cache, 'all' | 'paymastersIn' | 'paymastersOn'>;
  readonly addChain: (chainId: number) => void;
  readonly addOrganisations: (namespaces: readonly string[]) => void;
  readonly addPaymasters: (keys: readonly string[]) => void;
};

/** Looks again at the objects that reports of the servers concern. */
export function createReportLook({ cache, addChain, addOrganisations, addPaymasters }: Deps) {
  const keysOf = (paymasters: readonly Paymaster[]): readonly string[] =>
    paymasters.map((each) => formatKey(keyOf(each)));
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
        ...policies.map(ownerOf),
        ...keysOf(budgeted.flatMap((namespace) => cache.paymastersIn(namespace))),
        ...keysOf(
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
      addPaymasters(keysOf(cache.all('Paymaster').filter((each) => !isConditionTrue(each, 'Serving'))));
    },
  };
}
