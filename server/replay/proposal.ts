import type { ObjectKey } from '../../core/meta/meta.js';
import type { Resources } from '../../core/resources/kinds.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  proposedKinds,
  proposedTexts,
  type Proposed,
  type ProposedIdentity,
  type ProposedKind,
  type ProposedTexts,
} from './proposal-reader.js';

/** The resources of a namespace, with the proposed ones in place of the present ones. */
export type ProposedResources = {
  readonly paymasters: readonly Resources['Paymaster'][];
  readonly contracts: readonly Resources['SmartContract'][];
  readonly policies: readonly Resources['PaymasterPolicy'][];
  /** The proposed objects among them. */
  readonly proposed: ReadonlySet<Proposed>;
};

/** A ProposalReader, which reads in a thread of its own. */
export type ProposalReading = {
  read(namespace: string, resources: ProposedTexts): Promise<readonly ProposedIdentity[]>;
  validate(present: readonly Proposed[], now: EpochMs): Promise<readonly Proposed[]>;
};

/**
 * Puts proposed resources over those of the namespace: an object of the same kind and name is replaced as a whole, any
 * other is added. Throws INVALID_INPUT that names every problem: of the form, of a resource's schema, and of a kind or
 * namespace that the organisation may not write.
 */
export async function withProposed(
  reader: ProposalReading,
  store: Pick<ResourceStore, 'list'>,
  namespace: string,
  resources: string | readonly unknown[],
  now: EpochMs,
): Promise<ProposedResources> {
  const named = await reader.read(namespace, proposedTexts(resources));
  const present = await Promise.all(proposedKinds.map((kind) => store.list(kind, { namespace })));
  const all = new Map<string, Proposed>(
    present.flat().map((object) => [idOf(object.kind as ProposedKind, object.metadata), object]),
  );
  const objects = await reader.validate(
    named.flatMap(({ kind, key }) => all.get(idOf(kind, key)) ?? []),
    now,
  );
  for (const object of objects) all.set(idOf(object.kind as ProposedKind, object.metadata), object);
  const ofKind = <K extends ProposedKind>(kind: K): readonly Resources[K][] =>
    [...all.values()].filter((object): object is Resources[K] => object.kind === kind);
  return {
    paymasters: ofKind('Paymaster'),
    contracts: ofKind('SmartContract'),
    policies: ofKind('PaymasterPolicy'),
    proposed: new Set(objects),
  };
}

function idOf(kind: ProposedKind, { name }: Pick<ObjectKey, 'name'>): string {
  return `${kind} ${name}`;
}
