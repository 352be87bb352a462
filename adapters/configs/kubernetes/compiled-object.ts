import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { CompiledPaymasterSpec } from '../../../core/config/compiled.schema.js';
import { maxConfigBytes, maxContracts, type PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { invalidInput } from '../../../core/errors.js';
import { group, version } from '../../../core/meta/meta.js';
import type { KubeObject } from '../../kube/objects.js';

export type Compiled = PaymasterConfig | ChainConfig;
export type CompiledObject = KubeObject & {
  readonly spec: Omit<CompiledPaymasterSpec, 'keyHashes'> & Partial<CompiledPaymasterSpec>;
};

const plurals = { PaymasterConfig: 'paymasterconfigs', ChainConfig: 'chainconfigs' } as const;
export type CompiledKind = keyof typeof plurals;

export const chainPrefix = 'chain-';
export const chainName = (chainId: number): string => `${chainPrefix}${chainId}`;

export function pathOf(namespace: string, kind: CompiledKind, name?: string): string {
  const base = `/apis/${group}/${version}/namespaces/${encodeURIComponent(namespace)}/${plurals[kind]}`;
  return name === undefined ? base : `${base}/${encodeURIComponent(name)}`;
}

/** What a write needs to know about the object that it replaces. */
export type Revision = {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly hash: string;
  readonly configGeneration: number;
};

/** Throws on a text that is not JSON. The caller checks everything else. */
export function parse<C extends Compiled>(object: CompiledObject): C {
  return JSON.parse(object.spec.config) as C;
}

export function revisionOf({ metadata, spec }: CompiledObject, config: Compiled | undefined): Revision {
  const { uid, resourceVersion } = metadata;
  if (config === undefined) return { uid, resourceVersion, hash: '', configGeneration: 0 };
  return { uid, resourceVersion, hash: spec.hash, configGeneration: config.configGeneration };
}

/** Throws INVALID_INPUT when a config has more contracts than may be served. */
export function checkContracts({ paymasterId, contracts }: PaymasterConfig): void {
  if (contracts.length <= maxContracts) return;
  throw invalidInput([
    {
      field: `paymaster ${paymasterId}: contracts`,
      expected: `at most ${maxContracts}`,
      value: String(contracts.length),
    },
  ]);
}

/** Throws INVALID_INPUT when the text of a config is too large for an object. */
export function checkSize(kind: CompiledKind, name: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= maxConfigBytes) return;
  throw invalidInput([
    {
      field: `${kind} ${name}`,
      expected: `at most ${maxConfigBytes} bytes: register fewer contracts or methods`,
      value: String(bytes),
    },
  ]);
}
