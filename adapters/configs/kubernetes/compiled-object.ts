import type { ChainConfig } from '../../../core/config/chain-config.js';
import { compiledDefinitions, type CompiledPaymasterSpec } from '../../../core/config/compiled.schema.js';
import type { AddressList } from '../../../core/policy/address-list.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { apiVersion, group, version, type ObjectMeta } from '../../../core/meta/meta.js';
import { given } from '../../../core/units/given.js';
import { ours, type OwnObjects } from '../../kube/foreign-changes.js';
import type { KubeObject } from '../../kube/objects.js';
import type { KubeTransport } from '../../kube/transport.js';

export type Compiled = PaymasterConfig | ChainConfig;
export type CompiledObject = KubeObject & {
  readonly spec: Omit<CompiledPaymasterSpec, 'keyHashes'> & Partial<CompiledPaymasterSpec>;
};

export type CompiledKind = keyof typeof compiledDefinitions;
const compiledKinds = Object.keys(compiledDefinitions) as readonly CompiledKind[];

export const chainPrefix = 'chain-';
export const chainName = (chainId: number): string => `${chainPrefix}${chainId}`;

export function compiledPath(namespace: string, kind: CompiledKind, name?: string): string {
  const base = `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${compiledDefinitions[kind].plural}`;
  return name === undefined ? base : `${base}/${encodeURIComponent(name)}`;
}

/** All compiled objects, to watch. */
export function compiledObjects(namespace: string): readonly OwnObjects[] {
  return compiledKinds.map((kind) => ({ kind, path: compiledPath(namespace, kind) }));
}

/** What a write needs to know about the object that it replaces. */
export type Revision = {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly hash: string;
  readonly configGeneration: number;
};

/** Throws on a text that is not JSON. The caller checks everything else. */
export function parse<C extends Compiled | AddressList>(object: CompiledObject): C {
  return JSON.parse(object.spec.config) as C;
}

export function toRevision({ metadata, spec }: CompiledObject, config: Compiled | undefined): Revision {
  const { uid, resourceVersion } = metadata;
  if (config === undefined) return { uid, resourceVersion, hash: '', configGeneration: 0 };
  return { uid, resourceVersion, hash: spec.hash, configGeneration: config.configGeneration };
}

/** Creates an object, or replaces exactly the version that was read. */
export function writeObject(
  { transport, namespace }: { readonly transport: KubeTransport; readonly namespace: string },
  kind: CompiledKind,
  name: string,
  read: Pick<Revision, 'uid' | 'resourceVersion'> | undefined,
  { labels, annotations, spec }: Pick<ObjectMeta, 'labels' | 'annotations'> & { readonly spec: object },
): Promise<unknown> {
  const revision = read && { uid: read.uid, resourceVersion: read.resourceVersion };
  const own = { labels: { 'app.kubernetes.io/managed-by': ours, ...labels }, ...given({ annotations }) };
  return transport.request({
    method: read === undefined ? 'POST' : 'PUT',
    path: compiledPath(namespace, kind, read && name),
    query: { fieldManager: ours, fieldValidation: 'Strict' },
    body: { apiVersion, kind, metadata: { name, namespace, ...own, ...revision }, spec },
  });
}
