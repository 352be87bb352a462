import type { StructuralSchema } from './structural.js';

export type PrinterColumn = {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'boolean' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  /** 0: always shown; 1: shown with `-o wide`. */
  readonly priority?: 0 | 1;
};

/** The complete definition of a kind for the API server. */
export type KindDefinition = {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly scope: 'Cluster' | 'Namespaced';
  readonly description: string;
  readonly spec: StructuralSchema;
  /** Absent for kinds without a status: they have no status subresource. */
  readonly status?: StructuralSchema;
  readonly printerColumns: readonly PrinterColumn[];
  /** Paths such as `spec.chainId` by which lists can select, the most selective first. */
  readonly selectableFields: readonly string[];
};

/** A CustomResourceDefinition (`apiextensions.k8s.io/v1`) as a plain object, ready to be written as YAML. */
export function toCrd(definition: KindDefinition, group: string, version: string): Record<string, unknown> {
  const { kind, plural, singular, shortNames, categories } = definition;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories },
      scope: definition.scope,
      conversion: { strategy: 'None' },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: rootSchema(definition) },
          ...(definition.status && { subresources: { status: {} } }),
          additionalPrinterColumns: definition.printerColumns,
          ...(definition.selectableFields.length > 0 && {
            selectableFields: definition.selectableFields.map((path) => ({ jsonPath: `.${path}` })),
          }),
        },
      ],
    },
  };
}

function rootSchema({ description, spec, status }: KindDefinition): Record<string, unknown> {
  return {
    type: 'object',
    description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string', description: 'The group and version of this kind.' },
      kind: { type: 'string', description: 'The kind of this object.' },
      metadata: { type: 'object' },
      spec: withoutHints(spec),
      ...(status && { status: withoutHints(status) }),
    },
  };
}

const hints: ReadonlySet<string> = new Set(['expected', 'confidential', 'eip55']);

function withoutHints({ type, ...schema }: StructuralSchema): Record<string, unknown> {
  // Never an empty map: helm leaves it out and kubectl does not, and then each finds a conflict with the other.
  const isEmpty = Object.keys(schema.properties ?? {}).length === 0;
  const isLeftOut = (keyword: string): boolean => hints.has(keyword) || (keyword === 'properties' && isEmpty);
  return {
    ...(typeof type === 'string' ? { type } : { 'x-kubernetes-int-or-string': true }),
    ...Object.fromEntries(Object.entries(schema).filter(([keyword]) => !isLeftOut(keyword))),
    ...(schema.properties &&
      !isEmpty && {
        properties: Object.fromEntries(
          Object.entries(schema.properties).map(([name, child]) => [name, withoutHints(child)]),
        ),
      }),
    ...(schema.items && { items: withoutHints(schema.items) }),
  };
}
