import { randomUUID } from 'node:crypto';
import type { ManifestProblem } from '../../adapters/manifests/manifest-problem.js';
import {
  parseManifest,
  type Identity,
  type ManifestObject,
} from '../../adapters/manifests/parse-manifest.js';
import { invalidInput, quote, type DomainError, type Problem } from '../../core/errors.js';
import { isSameJson } from '../../core/meta/field-tree.js';
import { apiVersion, formatKey, type ObjectKey } from '../../core/meta/meta.js';
import type { Kind, Resources } from '../../core/resources/kinds.js';
import { fieldOf } from '../../core/schema/json-value.js';
import { validateResource } from '../../core/resources/validate.js';
import { formatInstant, type EpochMs } from '../../core/units/time.js';

/** What an organisation may write: everything else belongs to the platform. */
const proposedKinds = ['Paymaster', 'SmartContract', 'PaymasterPolicy'] as const;
type ProposedKind = (typeof proposedKinds)[number];
export type Proposed = Resources[ProposedKind];
export type ProposedIdentity = Identity & {
  readonly kind: ProposedKind;
  /** Name of the Paymaster that it is, or belongs to; not checked yet. */
  readonly paymaster: string;
};

export type NamedPaymaster = { readonly name: string; readonly chainId: number };

/** The resources of a namespace, with the proposed ones in place of the present ones. */
export type ProposedResources = {
  readonly paymasters: readonly Resources['Paymaster'][];
  readonly contracts: readonly Resources['SmartContract'][];
  readonly policies: readonly Resources['PaymasterPolicy'][];
  /** The proposed objects among them. */
  readonly proposed: ReadonlySet<Proposed>;
};

/** What was posted: a text of YAML documents, or a list of objects as texts. */
export type ProposedTexts = { readonly form: 'text' | 'list'; readonly texts: readonly string[] };

// Parsing them takes up to a third of a second for the worst text of this length.
const mostObjects = 200;
const longestText = 65_536;
/** Of the form. A text may hold one in every second character. */
const mostProblems = 100;

/**
 * Puts the proposed resources of one replay over those of its namespace, in its thread: `read`, `present` with the objects that
 * exist, and `validate`. An object of the same kind and name is replaced as a whole, any other is added.
 */
export class ProposalReader {
  #manifests: readonly ManifestObject[] = [];
  readonly #all = new Map<string, Proposed>();
  #proposed: readonly Proposed[] = [];

  /** Which objects are proposed. Throws INVALID_INPUT: for the form, and for a kind or namespace of others. */
  read(namespace: string, resources: ProposedTexts): readonly ProposedIdentity[] {
    const manifests = parse(resources);
    const foreign = manifests.flatMap((manifest) => problemsOfPlace(manifest, namespace));
    if (foreign.length > 0) throw invalidInput(foreign);
    this.#manifests = manifests;
    return manifests.map(({ kind, key, spec }) => ({
      kind: kind as ProposedKind,
      key,
      paymaster: kind === 'Paymaster' ? key.name : String(fieldOf(fieldOf(spec, 'paymasterRef'), 'name')),
    }));
  }

  /** Adds objects that exist. */
  present(objects: readonly Proposed[]): void {
    for (const object of objects) this.#all.set(idOf(object.kind as ProposedKind, object.metadata), object);
  }

  /** All Paymasters. Throws INVALID_INPUT that names every problem of a resource's schema. */
  validate(now: EpochMs): readonly NamedPaymaster[] {
    const problems: Problem[] = [];
    const objects = this.#manifests.map((manifest) => {
      const { kind, key, spec } = manifest;
      const old = this.#all.get(idOf(kind as ProposedKind, key));
      const { namespace = '', name } = key;
      const found = validateResource(kind, { metadata: { namespace, name }, spec }, old);
      problems.push(...found.map((problem) => problemOf(manifest.locate(problem))));
      return objectOf(manifest, old, now) as Proposed;
    });
    if (problems.length > 0) throw invalidInput(problems);
    this.present(objects);
    this.#proposed = objects;
    return this.#ofKind('Paymaster').map(({ metadata, spec }) => ({
      name: metadata.name,
      chainId: spec.chainId,
    }));
  }

  get resources(): ProposedResources {
    return {
      paymasters: this.#ofKind('Paymaster'),
      contracts: this.#ofKind('SmartContract'),
      policies: this.#ofKind('PaymasterPolicy'),
      proposed: new Set(this.#proposed),
    };
  }

  #ofKind<K extends ProposedKind>(kind: K): readonly Resources[K][] {
    return [...this.#all.values()].filter((object): object is Resources[K] => object.kind === kind);
  }
}

function idOf(kind: ProposedKind, { name }: Pick<ObjectKey, 'name'>): string {
  return `${kind} ${name}`;
}

/** Throws INVALID_INPUT for more than is read. */
export function proposedTexts(resources: string | readonly unknown[]): ProposedTexts {
  if (typeof resources === 'string') return { form: 'text', texts: requireSize([resources]) };
  if (resources.length > mostObjects) throw tooMany();
  return { form: 'list', texts: requireSize(resources.map((object) => JSON.stringify(object))) };
}

function requireSize(texts: readonly string[]): readonly string[] {
  if (texts.reduce((sum, { length }) => sum + length, 0) <= longestText) return texts;
  throw invalidInput({ field: 'resources', expected: `at most ${longestText} characters long` });
}

function parse({ form, texts }: ProposedTexts): readonly ManifestObject[] {
  const parsed = texts.map((text, index) =>
    parseManifest(form === 'text' ? 'resources' : `resources[${index}]`, text),
  );
  const problems = parsed.flatMap((manifest) => manifest.problems);
  if (problems.length > 0) throw invalidInput(problems.slice(0, mostProblems).map(problemOf));
  const objects = parsed.flatMap((manifest) => manifest.objects);
  if (objects.length > mostObjects) throw tooMany();
  const seen = new Set<string>();
  for (const { kind, key } of objects) {
    const id = `${kind} ${formatKey(key)}`;
    if (seen.has(id)) throw invalidInput({ field: 'resources', expected: 'each object once', value: id });
    seen.add(id);
  }
  return objects;
}

function tooMany(): DomainError {
  return invalidInput({ field: 'resources', expected: `at most ${mostObjects} objects` });
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
