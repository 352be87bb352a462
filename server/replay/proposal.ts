import { randomUUID } from 'node:crypto';
import type { ManifestProblem } from '../../adapters/manifests/manifest-problem.js';
import { parseManifest, type ManifestObject } from '../../adapters/manifests/parse-manifest.js';
import { invalidInput, quote, type DomainError, type Problem } from '../../core/errors.js';
import { isSameJson } from '../../core/meta/field-tree.js';
import { apiVersion, formatKey } from '../../core/meta/meta.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import { validateResource } from '../../core/resources/validate.js';
import { formatInstant, type EpochMs } from '../../core/units/time.js';

/** What an organisation may write: everything else belongs to the platform. */
const proposedKinds = ['Paymaster', 'SmartContract', 'PaymasterPolicy'] as const;
type ProposedKind = (typeof proposedKinds)[number];
type Proposed = Resources[ProposedKind];

// Parsing them holds the process: about a third of a second for the worst text of this length.
const mostObjects = 200;
const longestText = 65_536;
/** Of the form. A text may hold one in every second character. */
const mostProblems = 100;

/** The resources of a namespace, with the proposed ones in place of the present ones. */
export type ProposedResources = {
  readonly paymasters: readonly Resources['Paymaster'][];
  readonly contracts: readonly Resources['SmartContract'][];
  readonly policies: readonly Resources['PaymasterPolicy'][];
  /** The proposed objects among them. */
  readonly proposed: ReadonlySet<Proposed>;
};

/**
 * Puts proposed resources over those of the namespace: an object of the same kind and name is replaced as a whole, any
 * other is added. `resources` is a text of YAML documents, or a list of objects. Throws INVALID_INPUT that names every
 * problem: of the form, of a resource's schema, and of a kind or namespace that the organisation may not write.
 */
export async function withProposed(
  store: Pick<ResourceStore, 'list'>,
  namespace: string,
  resources: string | readonly unknown[],
  now: EpochMs,
): Promise<ProposedResources> {
  const manifests = parse(resources);
  const foreign = manifests.flatMap((manifest) => problemsOfPlace(manifest, namespace));
  if (foreign.length > 0) throw invalidInput(foreign);
  const problems: Problem[] = [];
  const proposed = new Set<Proposed>();
  const merge = async <K extends ProposedKind>(kind: K): Promise<readonly Resources[K][]> => {
    const present = await store.list(kind, { namespace });
    const byName = new Map<string, Resources[K]>(present.map((object) => [object.metadata.name, object]));
    for (const manifest of manifests) {
      if (manifest.kind !== kind) continue;
      const { name } = manifest.key;
      const old = byName.get(name);
      for (const problem of validateResource(
        kind,
        { metadata: { namespace, name }, spec: manifest.spec },
        old,
      ))
        problems.push(problemOf(manifest.locate(problem)));
      const object = objectOf(manifest, old, now) as Resources[K];
      byName.set(name, object);
      proposed.add(object);
    }
    return [...byName.values()];
  };
  const paymasters = await merge('Paymaster');
  const contracts = await merge('SmartContract');
  const policies = await merge('PaymasterPolicy');
  if (problems.length > 0) throw invalidInput(problems);
  return { paymasters, contracts, policies, proposed };
}

function parse(resources: string | readonly unknown[]): readonly ManifestObject[] {
  if (typeof resources !== 'string' && resources.length > mostObjects) throw tooMany();
  const texts =
    typeof resources === 'string' ? [resources] : resources.map((object) => JSON.stringify(object));
  if (texts.reduce((sum, { length }) => sum + length, 0) > longestText)
    throw invalidInput([{ field: 'resources', expected: `at most ${longestText} characters long` }]);
  const parsed = texts.map((text, index) =>
    parseManifest(typeof resources === 'string' ? 'resources' : `resources[${index}]`, text),
  );
  const problems = parsed.flatMap((manifest) => manifest.problems);
  if (problems.length > 0) throw invalidInput(problems.slice(0, mostProblems).map(problemOf));
  const objects = parsed.flatMap((manifest) => manifest.objects);
  if (objects.length > mostObjects) throw tooMany();
  const seen = new Set<string>();
  for (const { kind, key } of objects) {
    const id = `${kind} ${formatKey(key)}`;
    if (seen.has(id)) throw invalidInput([{ field: 'resources', expected: 'each object once', value: id }]);
    seen.add(id);
  }
  return objects;
}

function tooMany(): DomainError {
  return invalidInput([{ field: 'resources', expected: `at most ${mostObjects} objects` }]);
}

function problemsOfPlace({ kind, key }: ManifestObject, namespace: string): readonly Problem[] {
  const what = `resources: ${kind} ${formatKey(key)}`;
  if (!(proposedKinds as readonly Kind[]).includes(kind))
    return [
      { field: what, expected: `one of the kinds that an organisation writes: ${proposedKinds.join(', ')}` },
    ];
  if (key.namespace === namespace) return [];
  return [{ field: what, expected: `in namespace "${namespace}"`, value: quote(key.namespace) }];
}

/** `resources[2]:1:40: spec.name`: of a list each object is one line. */
function problemOf({ file, line, column, field, expected, value }: ManifestProblem): Problem {
  return {
    field: `${file}:${line}:${column}: ${field}`,
    expected,
    ...(value === undefined ? {} : { value }),
  };
}

function objectOf(manifest: ManifestObject, old: Proposed | undefined, now: EpochMs): object {
  const { kind, key, spec, labels, annotations } = manifest;
  const { uid, generation, creationTimestamp, ...metadata } = old?.metadata ?? {
    uid: randomUUID(),
    generation: 0,
    creationTimestamp: formatInstant(now),
    resourceVersion: '',
  };
  return {
    apiVersion,
    kind,
    metadata: {
      ...metadata,
      ...key,
      uid,
      creationTimestamp,
      generation: isSameJson(old?.spec, spec) ? generation : generation + 1,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
    },
    spec,
    ...(old?.status && { status: old.status }),
  };
}
