import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { CompiledPaymasterSpec } from '../../../core/config/compiled.schema.js';
import type { AddressList } from '../../../core/policy/address-list.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { group, version } from '../../../core/meta/meta.js';
import type { OwnObjects } from '../../kube/foreign-changes.js';
import type { KubeObject } from '../../kube/objects.js';

export type Compiled = PaymasterConfig | ChainConfig;
export type CompiledObject = KubeObject & {
  readonly spec: Omit<CompiledPaymasterSpec, 'keyHashes'> & Partial<CompiledPaymasterSpec>;
};

const plurals = {
  PaymasterConfig: 'paymasterconfigs',
  ChainConfig: 'chainconfigs',
  AddressList: 'addresslists',
} as const;
export type CompiledKind = keyof typeof plurals;
const compiledKinds = Object.keys(plurals) as readonly CompiledKind[];

export const chainPrefix = 'chain-';
export const chainName = (chainId: number): string => `${chainPrefix}${chainId}`;

export function pathOf(namespace: string, kind: CompiledKind, name?: string): string {
  const base = `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${plurals[kind]}`;
  return name === undefined ? base : `${base}/${encodeURIComponent(name)}`;
}

/** All compiled objects, to watch. */
export function compiledObjects(namespace: string): readonly OwnObjects[] {
  return compiledKinds.map((kind) => ({ kind, path: pathOf(namespace, kind) }));
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

export function revisionOf({ metadata, spec }: CompiledObject, config: Compiled | undefined): Revision {
  const { uid, resourceVersion } = metadata;
  if (config === undefined) return { uid, resourceVersion, hash: '', configGeneration: 0 };
  return { uid, resourceVersion, hash: spec.hash, configGeneration: config.configGeneration };
}
