import {
  formatManifestProblem,
  parseManifest,
  type ManifestObject,
} from '../../adapters/manifests/parse-manifest.js';
import { renderYaml } from '../../adapters/manifests/yaml.js';
import type { StoredObject } from '../../adapters/resources/sqlite/resource-rows.js';
import { DomainError } from '../../core/errors.js';
import { acceptedLossAnnotation, apiVersion, formatKey, objectKey } from '../../core/meta/meta.js';
import { definitions } from '../../core/resources/schemas.js';
import { isObject } from '../../core/schema/json-value.js';
import type { StructuralSchema } from '../../core/schema/structural.js';
import { given } from '../../core/units/given.js';
import { readFiles } from '../../operator/validate/validate.js';

/** Throws INVALID_INPUT for paths without a manifest, and for a manifest that cannot be read. */
export function readManifests(paths: readonly string[]): ReturnType<typeof readFiles> {
  const read = readFiles(paths);
  const [problem] = read.problems;
  if (problem !== undefined) throw new DomainError('INVALID_INPUT', formatManifestProblem(problem));
  if (read.objects.length === 0)
    throw new DomainError('INVALID_INPUT', `no manifest of ours in ${paths.join(', ')}`);
  return read;
}

/** kubectl's own notes, and the acceptance of one loss of data, which would accept another loss elsewhere. */
const leftOut: ReadonlySet<string> = new Set([
  'kubectl.kubernetes.io/last-applied-configuration',
  acceptedLossAnnotation,
]);

/** What somebody would have written to get the object. */
export function toManifest({ kind, metadata, spec }: StoredObject) {
  const { name, namespace, labels, annotations = {} } = metadata;
  const kept = Object.fromEntries(Object.entries(annotations).filter(([key]) => !leftOut.has(key)));
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...given({ namespace, labels }),
      ...(Object.keys(kept).length === 0 ? {} : { annotations: kept }),
    },
    spec,
  };
}

export function renderManifests(objects: readonly StoredObject[]): string {
  return objects.map((object) => renderYaml(toManifest(object))).join('---\n');
}

/** The same as manifests that were read. */
export function asManifests(objects: readonly StoredObject[]): readonly ManifestObject[] {
  return parseManifest('what is there', renderManifests(objects)).objects;
}

/** What belongs to the objects and is not in their manifests, or is worth nothing elsewhere. */
export function leftBehind(objects: readonly StoredObject[]): readonly string[] {
  const own = objects.flatMap((object) => {
    const { kind, spec, status = {}, metadata } = object;
    const what = `${kind} ${formatKey(objectKey(object))}`;
    const lost = acceptedLossAnnotation in (metadata.annotations ?? {});
    return [
      ...(lost ? [`${what}: ${acceptedLossAnnotation} is about one loss of data, and was left out`] : []),
      ...(kind === 'Paymaster' ? ofPaymaster(what, spec, status) : []),
      ...confidential(definitions[kind].spec, spec, 'spec').map(
        (field) => `${what}: ${field} is in the manifest, and may hold a secret`,
      ),
    ];
  });
  return [
    ...own,
    'not in manifests: master keys, on which every apiKey and webhook key depends; signing keys; URLs of nodes and headers of price services that are files',
    'not in manifests: what was used of limits, live promises, deposits and the ledger ("paymaster store copy" moves an embedded store)',
  ];
}

function ofPaymaster(what: string, spec: StoredObject['spec'], status: object): readonly string[] {
  const { funding, keyGeneration = 1 } = spec as { funding?: { signature?: string }; keyGeneration?: number };
  const { keyGeneration: inForce = keyGeneration } = status as { keyGeneration?: number };
  return [
    ...(funding?.signature === undefined
      ? []
      : [
          `${what}: the proof of its funding wallet holds only for this name, organisation, chain and contract`,
        ]),
    ...(inForce > keyGeneration
      ? [
          `${what}: its key of generation ${inForce} is in force; a new installation would take back that of ${keyGeneration}: set spec.keyGeneration`,
        ]
      : []),
  ];
}

/** Fields with a value that may be a secret, by their schema. */
function confidential(
  schema: StructuralSchema | undefined,
  value: unknown,
  field: string,
): readonly string[] {
  if (schema === undefined || value === undefined) return [];
  if (schema.confidential === true) return [field];
  if (Array.isArray(value))
    return [...new Set(value.flatMap((item) => confidential(schema.items, item, field)))];
  if (!isObject(value)) return [];
  return Object.entries(schema.properties ?? {}).flatMap(([name, child]) =>
    confidential(child, value[name], `${field}.${name}`),
  );
}
