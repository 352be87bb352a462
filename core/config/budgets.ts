import { finding, type Finding } from '../meta/conditions.js';
import type { Budget } from '../policy/budget.js';
import { budgetProblem, policiesOfBudget, type ConfigOfPolicy } from '../policy/derived.js';
import type { Organisation } from '../resources/organisation.js';
import { deriveBudgetId } from './ids.js';
import { tenantOfOrganisation } from './tenant.js';

/** The organisation's budgets on a chain: as policies of each of its paymasters there. */
type ServedBudgets = {
  readonly served: readonly ConfigOfPolicy[];
  /** Names of those that refuse everything, because nobody can tell what they allow. */
  readonly invalid: readonly string[];
};

export function budgetsOn(organisation: Organisation | undefined, chainId: number): ServedBudgets {
  if (organisation === undefined) return none;
  const budgets = listBudgets(organisation).filter(({ chain }) => chain === chainId);
  const valid = budgets.filter((budget) => budgetProblem(budget, '') === undefined);
  const tenant = tenantOfOrganisation(organisation);
  return {
    served: valid.flatMap((budget) => policiesOfBudget(budget, deriveBudgetId(tenant, budget.name))),
    invalid: budgets
      .filter((budget) => budget.enforcement !== 'Shadow' && !valid.includes(budget))
      .map(({ name }) => `budget ${name}`),
  };
}

/** By the id under which a budget counts. */
export function budgetNames(organisation: Organisation): ReadonlyMap<string, string> {
  const tenant = tenantOfOrganisation(organisation);
  return new Map(listBudgets(organisation).map(({ name }) => [deriveBudgetId(tenant, name), name]));
}

export function listBudgets({ spec }: Organisation): readonly Budget[] {
  return spec.budgets ?? [];
}

/** What is wrong with the budgets of an Organisation, for its status. `chainOf`: undefined for a chain that is not there yet. */
export function budgetsFinding(
  organisation: Organisation,
  chainOf: (chainId: number) => { readonly nativePrice?: object } | undefined,
): Finding | undefined {
  for (const [index, budget] of listBudgets(organisation).entries()) {
    const where = `spec.budgets[${index}]`;
    const problem = budgetProblem(budget, where);
    if (problem !== undefined) return finding('Accepted', 'Invalid', problem);
    const chain = chainOf(budget.chain);
    if (chain !== undefined && chain.nativePrice === undefined)
      return finding(
        'Accepted',
        'NoNativePrice',
        `${where} ("${budget.name}") needs spec.nativePrice of Chain ${budget.chain}.`,
      );
  }
  return undefined;
}

const none: ServedBudgets = { served: [], invalid: [] };
