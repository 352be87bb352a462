import { isDomainError, errorMessage } from '../../core/errors.js';
import { canonicalJson } from '../../core/config/config-hash.js';
import { type Kind, kinds } from '../../core/resources/kinds.js';
import { formatKey, objectKey } from '../../core/meta/meta.js';
import { given } from '../../core/units/given.js';
import type { ApplyRequest, ResourceStore } from '../../core/resources/resource-store.js';
import type { ManifestFile } from './manifest-files.js';
import type { Identity, ManifestObject, ManifestProblem } from './parse-manifest.js';

export const manifestManager = 'manifests';

export type AppliedObject = Identity & { readonly file: string };

type ApplyResult = {
  readonly applied: readonly AppliedObject[];
  readonly problems: readonly ManifestProblem[];
  /** True when the store could not answer: the same manifests may be accepted later. */
  readonly isRetryable: boolean;
};

/** Manifests that are known to be in the store unchanged, by {@link formatIdentity}: such a document is not applied again. */
export type AppliedTexts = Map<string, string>;

/**
 * Applies every object of the files, cluster-scoped kinds first, so that referenced objects exist before the objects
 * that refer to them. An object that fails is reported separately and keeps its last state. An object that occurs in
 * two places is applied from neither: nobody could say which one counts.
 */
export async function applyManifests(
  resources: Pick<ResourceStore, 'apply'>,
  files: Iterable<Pick<ManifestFile, 'objects'>>,
  known: AppliedTexts,
): Promise<ApplyResult> {
  const objects = [...files].flatMap((file) => file.objects);
  const places = Map.groupBy(objects, formatIdentity);
  const applied: AppliedObject[] = [];
  const problems: ManifestProblem[] = [];
  let isRetryable = false;

  for (const object of objects.toSorted(byKind)) {
    const twins = (places.get(formatIdentity(object)) ?? []).filter((other) => other !== object);
    if (twins.length > 0) {
      problems.push(duplicate(object, twins));
      continue;
    }
    const failure = await applyOne(resources, object, known);
    if (failure === undefined) applied.push({ kind: object.kind, key: object.key, file: object.file });
    else {
      problems.push(...failure.problems);
      isRetryable ||= failure.isRetryable;
    }
  }
  return { applied, problems, isRetryable };
}

type Failure = Pick<ApplyResult, 'problems' | 'isRetryable'>;

async function applyOne(
  resources: Pick<ResourceStore, 'apply'>,
  object: ManifestObject,
  known: AppliedTexts,
): Promise<Failure | undefined> {
  const { kind, key, spec, labels, annotations } = object;
  const id = formatIdentity(object);
  const text = canonicalJson({ spec, labels, annotations });
  if (known.get(id) === text) return undefined;
  known.delete(id);
  try {
    await resources.apply(toApplyRequest(kind, object));
    known.set(id, text);
    // An embedded store answers at once; a large directory must still let requests through.
    await new Promise((resolve) => setImmediate(resolve));
    return undefined;
  } catch (error) {
    const problems = isDomainError(error) ? error.details.problems : undefined;
    const isRetryable = !isDomainError(error, 'INVALID_INPUT') && !isDomainError(error, 'FIELD_OWNED');
    if (problems) return { problems: problems.map(object.locate), isRetryable };
    const message = errorMessage(error);
    return {
      problems: [object.locate({ field: `${kind} ${formatKey(key)}`, expected: `stored (${message})` })],
      isRetryable,
    };
  }
}

/** The store validates each object by the schema of its kind, whatever a file contains. */
function toApplyRequest<K extends Kind>(kind: K, object: ManifestObject): ApplyRequest<K> {
  const { key, labels, annotations } = object;
  const spec = object.spec as ApplyRequest<K>['spec'];
  return { manager: manifestManager, kind, key, spec, ...given({ labels, annotations }) };
}

function duplicate(object: ManifestObject, twins: readonly ManifestObject[]): ManifestProblem {
  const others = twins.map((twin) => {
    const { file, line } = twin.locate({ field: 'metadata.name', expected: '' });
    return `${file}:${line}`;
  });
  return object.locate({
    field: 'metadata.name',
    expected: `defined once: ${object.kind} ${formatKey(object.key)} stands in ${others.join(' and ')} too, keep one`,
  });
}

function byKind(a: ManifestObject, b: ManifestObject): number {
  return kinds.indexOf(a.kind) - kinds.indexOf(b.kind);
}

export function formatIdentity({ kind, key }: Identity): string {
  return `${kind} ${formatKey(key)}`;
}

/**
 * Every stored object in which the manifests own a field: the objects that came from the directory, in this run or
 * before.
 */
export async function manifestObjects(resources: Pick<ResourceStore, 'list'>): Promise<Identity[]> {
  const found = await Promise.all(
    kinds.map(async (kind) =>
      (await resources.list(kind))
        .filter(({ metadata }) => metadata.managedFields?.some(({ manager }) => manager === manifestManager))
        .map((object) => ({ kind, key: objectKey(object) })),
    ),
  );
  return found.flat();
}

/**
 * Withdraws an object that no manifest names any longer. If others own enough of it to make a complete object, only our
 * fields are removed, and the dashboard keeps what it created. Otherwise the object is deleted.
 */
export async function withdraw(
  resources: Pick<ResourceStore, 'apply' | 'delete'>,
  { kind, key }: Identity,
): Promise<void> {
  try {
    await resources.apply({ manager: manifestManager, kind, key, spec: {} });
  } catch (error) {
    if (!isDomainError(error, 'INVALID_INPUT')) throw error;
    await resources.delete(kind, key).catch((failure: unknown) => {
      if (!isDomainError(failure, 'NOT_FOUND')) throw failure;
    });
  }
}
