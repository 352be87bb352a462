import { finding } from '../../core/meta/conditions.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { Cache, RootKind } from '../cache.js';
import type { Reconcile } from '../runtime/controller.js';
import { runAll, type StatusWriter } from './status.js';

type Deps = { readonly cache: Pick<Cache, 'leavingAt'>; readonly statuses: StatusWriter };

/** After the root was reconciled without them, the statuses of its objects that are being deleted. */
export function withLeaving(root: RootKind, reconcile: Reconcile, deps: Deps): Reconcile {
  return async (key) => {
    const result = await reconcile(key);
    await runAll(
      deps.cache.leavingAt(root, key).map((object) => () => writeDeleting(deps, object.kind, object)),
    );
    return result;
  };
}

async function writeDeleting<K extends Kind>(
  { statuses }: Deps,
  kind: K,
  object: Resources[K],
): Promise<void> {
  const { conditions: _, observedGeneration: __, ...rest } = object.status ?? {};
  const findings = [finding('Programmed', 'Deleting'), finding('Ready', 'Deleting')];
  await statuses.write(kind, object, findings, rest as never);
}
