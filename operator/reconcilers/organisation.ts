import { conflicts, rank } from '../../core/config/ranking.js';
import { summarise } from '../../core/config/summary.js';
import { finding, isConditionTrue } from '../../core/resources/conditions.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { Cache } from '../cache.js';
import { done } from '../runtime/controller.js';
import type { Reconcile } from '../runtime/controller.js';
import { runAll } from './status.js';
import type { StatusWriter } from './status.js';

/** The Organisation that speaks for a namespace: one already in use, else the oldest, of those that name it. */
export function organisationOf(
  cache: Pick<Cache, 'organisationsOf'>,
  namespace: string,
): Organisation | undefined {
  return inOrder(cache.organisationsOf(namespace))[0];
}

/** Says of the Organisations of a namespace which one counts. */
export function createOrganisationReconciler(deps: {
  readonly cache: Pick<Cache, 'organisationsOf'>;
  readonly statuses: StatusWriter;
}): Reconcile {
  return async (namespace) => {
    const organisations = inOrder(deps.cache.organisationsOf(namespace));
    const losers = conflicts(organisations, ({ spec }) => spec.namespace);
    await runAll(
      organisations.map((organisation) => async () => {
        const holder = losers.get(organisation);
        const accepted =
          holder === undefined
            ? finding('Accepted', 'Accepted')
            : finding(
                'Accepted',
                'NameConflict',
                `Organisation ${holder.metadata.name} has the namespace "${namespace}": delete one.`,
              );
        await deps.statuses.write('Organisation', organisation, [accepted, summarise([accepted])], {});
      }),
    );
    return done;
  };
}

function inOrder(organisations: readonly Organisation[]): readonly Organisation[] {
  return rank(organisations, (organisation) => isConditionTrue(organisation, 'Ready'));
}
