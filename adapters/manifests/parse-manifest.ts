import {
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  visit,
  YAMLParseError,
  type Document,
  type ErrorCode,
} from 'yaml';
import { formatProblem, errorMessage, quote, type Problem } from '../../core/errors.js';
import { isTextMap, type Tree } from '../../core/meta/field-tree.js';
import { isKind, kinds, type Kind } from '../../core/resources/kinds.js';
import { apiVersion, type ObjectKey } from '../../core/meta/meta.js';
import { validateMetadata, validateName } from '../../core/resources/validate.js';
import { asKubectl } from './yaml.js';
import { isObject } from '../../core/schema/json-value.js';

export type Identity = { readonly kind: Kind; readonly key: ObjectKey };

/** One document that says which object it describes. The store checks the rest of it. */
export type ManifestObject = Identity & {
  readonly file: string;
  readonly spec: Tree;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  /** Adds to a problem of this document the place of its field. */
  readonly locate: (problem: Problem) => ManifestProblem;
};

export type ParsedManifest = {
  readonly objects: readonly ManifestObject[];
  /** Every object that a document names, also when the rest of the document cannot be used. */
  readonly identities: readonly Identity[];
  readonly problems: readonly ManifestProblem[];
  /** False when a document does not name its object: then nobody can say which objects are missing. */
  readonly isComplete: boolean;
};

/**
 * Parses a file of YAML documents. A bad document is reported and does not hide the others. Values are taken literally:
 * `${…}` is text, not a template. Documents for which `isForeign` returns true are left out: a directory of resources
 * has none, a repository of manifests may have Deployments next to ours.
 */
export function parseManifest(
  file: string,
  text: string,
  isForeign: (document: Tree) => boolean = () => false,
): ParsedManifest {
  const lines = new LineCounter();
  const documents = parseDocuments(text, lines);
  if (typeof documents === 'string') {
    const problem = { file, line: 1, column: 1, field: 'document', expected: `valid YAML (${documents})` };
    return { objects: [], identities: [], problems: [problem], isComplete: false };
  }
  const results = documents
    .filter((document) => document.errors.length > 0 || !isEmpty(document))
    .flatMap((document) => parseDocument(file, document, lines, isForeign));
  return {
    objects: results.flatMap(({ object }) => object ?? []),
    problems: results.flatMap(({ problems }) => problems),
    identities: results.flatMap(({ identity }) => identity ?? []),
    isComplete: results.every(({ identity, isLeftOut }) => identity !== undefined || isLeftOut === true),
  };
}

/**
 * The documents with their own errors, or why the parser gave up on the text: it throws when the text is nested too
 * deeply.
 */
function parseDocuments(text: string, lineCounter: LineCounter): readonly Document[] | string {
  try {
    const parsed = parseAllDocuments(text, { ...asKubectl, lineCounter, uniqueKeys: false });
    if (!Array.isArray(parsed)) return [];
    for (const document of parsed) reportKeys(document);
    return parsed;
  } catch (error) {
    return errorMessage(error);
  }
}

/**
 * Repeated keys: the parser compares each key with every other one, which takes seconds for a map of thousands of keys. Keys that are lists or
 * maps: it writes each as text for each level that they are nested in, 10 seconds for 800 bytes.
 */
function reportKeys(document: Document): void {
  const report = (key: unknown, code: ErrorCode, message: string) => {
    const [from, to] = (isNode(key) ? key.range : undefined) ?? [0, 0];
    document.errors.push(new YAMLParseError([from, to], code, message));
  };
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) {
          report(key, 'BAD_COLLECTION_TYPE', 'A key must be plain text, not a list, a map or an alias');
          return visit.BREAK;
        }
        if (seen.has(key.value)) report(key, 'DUPLICATE_KEY', 'Map keys must be unique');
        seen.add(key.value);
      }
      return undefined;
    },
  });
}

type Result = {
  readonly object?: ManifestObject;
  readonly identity?: Identity;
  readonly isLeftOut?: true;
  readonly problems: readonly ManifestProblem[];
};

function parseDocument(
  file: string,
  document: Document,
  lines: LineCounter,
  isForeign: (document: Tree) => boolean,
): readonly Result[] {
  const locate = locator(file, document, lines);
  if (document.errors.length > 0)
    return [{ problems: document.errors.map((error) => syntaxProblem(file, error, lines)) }];
  const { value, failure } = toPlain(document);
  if (failure !== undefined) return [{ problems: [locate(failure)] }];
  const items = readItems(value);
  if (items === undefined) return [parseValue(file, value, locate, isForeign)];
  return items.map((item, index) =>
    parseValue(file, item, (problem) => locate(inItem(problem, index)), isForeign),
  );
}

/** The objects of a `kind: List`, as kubectl prints several of them. */
function readItems(value: unknown): readonly unknown[] | undefined {
  if (!isObject(value) || value['kind'] !== 'List' || value['apiVersion'] !== 'v1') return undefined;
  return Array.isArray(value['items']) ? value['items'] : undefined;
}

function inItem(problem: Problem, index: number): Problem {
  const { field } = problem;
  return { ...problem, field: field === 'document' ? `items[${index}]` : `items[${index}].${field}` };
}

function parseValue(
  file: string,
  value: unknown,
  locate: (problem: Problem) => ManifestProblem,
  isForeign: (document: Tree) => boolean,
): Result {
  if (isObject(value) && isForeign(value)) return { isLeftOut: true, problems: [] };

  const { identity, problems } = identify(value);
  if (identity === undefined || !isObject(value)) return { problems: problems.map(locate) };
  const { spec, metadata } = value;
  const locateOwn = (problem: Problem): ManifestProblem => ({ ...locate(problem), object: identity });
  if (problems.length > 0 || !isObject(spec)) return { identity, problems: problems.map(locateOwn) };

  const { labels, annotations } = isObject(metadata) ? metadata : {};
  return {
    identity,
    object: {
      ...identity,
      file,
      spec,
      ...(isTextMap(labels) && { labels }),
      ...(isTextMap(annotations) && { annotations }),
      locate: locateOwn,
    },
    problems: [],
  };
}

/** Which object the document describes, and every problem of its frame (API version, kind, metadata). */
function identify(value: unknown): { readonly identity?: Identity; readonly problems: readonly Problem[] } {
  if (!isObject(value))
    return {
      problems: [{ field: 'document', expected: 'an object with apiVersion, kind, metadata and spec' }],
    };
  const kind = value['kind'];
  const metadata = isObject(value['metadata']) ? value['metadata'] : {};
  const { name, namespace } = metadata;
  const problems = [...frameProblems(value, metadata), ...validateMetadata(metadata)];
  if (!isKind(kind) || typeof name !== 'string' || (namespace !== undefined && typeof namespace !== 'string'))
    return { problems };
  const key = namespace === undefined ? { name } : { namespace, name };
  return { identity: { kind, key }, problems: [...problems, ...validateName(kind, key)] };
}

function frameProblems(value: Tree, metadata: Tree): Problem[] {
  const problems: Problem[] = [];
  const { name, namespace } = metadata;
  const expect = (isRight: boolean, field: string, expected: string, got?: unknown) => {
    if (!isRight) problems.push({ field, expected, ...(got !== undefined && { value: quote(got) }) });
  };
  expect(value['apiVersion'] === apiVersion, 'apiVersion', `"${apiVersion}"`, value['apiVersion']);
  expect(isKind(value['kind']), 'kind', `one of ${kinds.join(', ')}`, value['kind']);
  expect(typeof name === 'string', 'metadata.name', 'set: the name of the object', name);
  expect(namespace === undefined || typeof namespace === 'string', 'metadata.namespace', 'text', namespace);
  expect(isObject(value['spec']), 'spec', 'an object: what is wanted', value['spec']);
  for (const field of Object.keys(value))
    expect(frameFields.has(field), field, `left out: a manifest has ${[...frameFields].join(', ')}`);
  for (const field of Object.keys(metadata))
    expect(
      metadataFields.has(field),
      `metadata.${field}`,
      `left out: the metadata of a manifest has ${[...metadataFields].join(', ')}`,
    );
  return problems;
}

const frameFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'spec']);
const metadataFields: ReadonlySet<string> = new Set(['name', 'namespace', 'labels', 'annotations']);

function isEmpty(document: Document): boolean {
  const { contents } = document;
  return contents === null || (isScalar(contents) && contents.value === null);
}

/** Resolves aliases within bounds, so that a few lines cannot grow to gigabytes. */
function toPlain(document: Document): { readonly value?: unknown; readonly failure?: Problem } {
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    return { failure: { field: 'document', expected: `plain YAML (${errorMessage(error)})` } };
  }
}

/** Something wrong with a manifest, and where to look. Lines and columns begin with 1. */
export type ManifestProblem = Problem & {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  /** The object that has the problem, if the document names one. */
  readonly object?: { readonly kind: Kind; readonly key: ObjectKey };
};

/** `policies.yaml:12:5: spec.policyType must be "…", got "…"`: a form that editors turn into a link. */
export function formatManifestProblem(problem: ManifestProblem): string {
  return `${problem.file}:${problem.line}:${problem.column}: ${formatProblem(problem)}`;
}

/** A mistake in the YAML itself. */
function syntaxProblem(
  file: string,
  error: { readonly message: string; readonly pos: readonly [number, number] },
  lines: LineCounter,
): ManifestProblem {
  const { line, col } = lines.linePos(error.pos[0]);
  return {
    file,
    line: Math.max(line, 1),
    column: Math.max(col, 1),
    field: 'document',
    expected: `valid YAML (${error.message})`,
  };
}

/** Adds to problems of a document the place of their field. */
export function locator(
  file: string,
  document: Document,
  lines: LineCounter,
): (problem: Problem) => ManifestProblem {
  return (problem) => {
    const { offset, node } = findPlace(document, problem.field);
    const { line, col } = lines.linePos(offset);
    return { ...withQuotes(problem, node), file, line: Math.max(line, 1), column: Math.max(col, 1) };
  };
}

/** kubectl reads `no` as false and `0x10` as 16: what it would send is not what stands there. */
function withQuotes(problem: Problem, node: unknown): Problem {
  if (!isScalar(node) || problem.value === undefined) return problem;
  const { value, source = '' } = node;
  if (typeof value === 'string' || source === '' || source === String(value)) return problem;
  return {
    ...problem,
    expected: `${problem.expected}, in quotes: without them kubectl reads ${source} as ${String(value)}`,
    value: quote(source),
  };
}

/**
 * A field and its offset: of its name, or for an item of a list of the item; for a missing field of the nearest parent.
 */
function findPlace(document: Document, field: string): { readonly offset: number; readonly node: unknown } {
  const start = nodeStart(document.contents) ?? document.range?.[0] ?? 0;
  let node: unknown = document.contents;
  let offset = start;
  for (const token of splitField(field)) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => isScalar(key) && String(key.value) === token);
      if (!isPair(pair)) return { offset, node: undefined };
      offset = nodeStart(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node)) {
      node = node.items[Number(token)];
      offset = nodeStart(node) ?? offset;
    } else return { offset, node: undefined };
  }
  return { offset, node };
}

function nodeStart(node: unknown): number | undefined {
  return isNode(node) ? node.range?.[0] : undefined;
}

/** `spec.profiles[0].addresses` → spec, profiles, 0, addresses; `metadata.labels["a/b"]` → metadata, labels, a/b. */
function splitField(field: string): string[] {
  return [...field.matchAll(/\["([^"]*)"\]|\[(\d+)\]|([^.[\]]+)/g)].map(
    ([, quoted, index, name]) => quoted ?? index ?? name ?? '',
  );
}
