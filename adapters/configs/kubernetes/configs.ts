import type { ChainConfig } from '../../../core/config/chain-config.js';
import { hashContent } from '../../../core/config/config-hash.js';
import type { ConfigStore, PutResult, ReadConfig, StoredConfig } from '../../../core/config/config-store.js';
import type { CompiledPaymasterSpec } from '../../../core/config/compiled.schema.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import { buryChain, buryPaymaster } from '../../../core/config/tombstone.js';
import { group } from '../../../core/meta/meta.js';
import { given } from '../../../core/units/given.js';
import { isRace, mapErrors, mapListErrors } from '../../kube/errors.js';
import { deleteObject, readList, readObject } from '../../kube/reads.js';
import {
  chainName,
  parse,
  compiledPath,
  toRevision,
  writeObject,
  type Compiled,
  type CompiledKind,
  type CompiledObject,
  type Revision,
} from './compiled-object.js';
import { createKubeLists } from './lists.js';
import { checkContracts, checkSize } from '../bounds.js';
import { createConfigWatches, type ConfigWatchDeps } from './config-watch.js';

/** On tombstones, so that they are found without reading the others. */
const deletedLabel = `${group}/deleted`;
/** Label names hold 63 characters; 40 hex digits of a SHA-256 identify a key well enough to find its object. */
const keyLabel = (sha256: string): string => `key.${group}/${sha256.slice(0, 40)}`;

/**
 * ConfigStore on the Kubernetes API: one PaymasterConfig object per paymaster and one ChainConfig per chain. A put is a
 * PUT with the resourceVersion that was read, and only happens when the content hash differs.
 *
 * The generation is the time of the write in milliseconds, or one more than the stored one if that is larger. So it
 * stays monotonic when an object is deleted and created again, or etcd is restored to an older state. A counter in the
 * object would not.
 */
export function createKubeConfigStore(deps: ConfigWatchDeps): ConfigStore & { stop(): Promise<void> } {
  const { transport, namespace, clock, log } = deps;
  // What this process last wrote or read. Usage stores refuse a generation below one that they have seen, so after a
  // restore of etcd an unchanged config needs a new one.
  const newest = new Map<string, number>();
  const watches = createConfigWatches(deps);
  const revisions = new WeakMap<object, Revision>();

  function read(kind: CompiledKind, name: string): Promise<CompiledObject | undefined> {
    return mapErrors(`${kind} ${name}`, () => readObject(transport, compiledPath(namespace, kind, name)));
  }

  async function readRevision(kind: CompiledKind, name: string): Promise<Revision | undefined> {
    const object = await read(kind, name);
    return object && toRevision(object, configIn(object));
  }

  /**
   * The config as `put` rendered it. An object that somebody has edited since counts as absent, so it is written again.
   */
  function configIn<C extends Compiled>(object: CompiledObject): C | undefined {
    try {
      const config = parse<C>(object);
      if (hashContent(config).hash === object.spec.hash && isLabelled(object)) return config;
    } catch {
      // Not JSON, or not an object.
    }
    log.error('a compiled object was edited and is left out', { name: object.metadata.name });
    return undefined;
  }

  async function put(
    kind: CompiledKind,
    name: string,
    config: Compiled,
    keyHashes: readonly string[],
    known?: { readonly revision: Revision | undefined },
    attempts = 5,
  ): Promise<PutResult> {
    const { hash } = hashContent(config);
    for (let attempt = 1; ; attempt += 1) {
      const stored = attempt === 1 && known !== undefined ? known.revision : await readRevision(kind, name);
      const previous = stored?.configGeneration ?? 0;
      const seen = newest.get(name) ?? 0;
      if (stored?.hash === hash && previous >= seen) {
        newest.set(name, previous);
        return {
          changed: false,
          hash,
          configGeneration: previous,
          revision: Number(stored.resourceVersion),
        };
      }
      const configGeneration = Math.max(previous + 1, seen + 1, clock.now());
      const text = JSON.stringify({ ...config, configGeneration });
      checkSize(`${kind} ${name}`, text);
      const labels = {
        ...(config.deletedAt === undefined ? {} : { [deletedLabel]: '' }),
        ...Object.fromEntries(keyHashes.map((sha256) => [keyLabel(sha256), ''])),
      };
      const spec = {
        hash,
        ...(kind === 'PaymasterConfig' ? { keyHashes } : {}),
        ...renderShown(config),
        config: text,
      };
      try {
        const written = await mapErrors(`${kind} ${name}`, () =>
          writeObject(deps, kind, name, stored, { labels, spec }),
        );
        newest.set(name, configGeneration);
        const { resourceVersion } = (written as CompiledObject).metadata;
        return { changed: true, hash, configGeneration, revision: Number(resourceVersion) };
      } catch (error) {
        if (!isRace(error) || attempt === attempts) throw error;
      }
    }
  }

  /** Replaces an object by a tombstone. An object that was edited by hand has no config that a tombstone could keep. */
  async function bury(kind: CompiledKind, name: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const object = await read(kind, name);
      if (object === undefined) return;
      const config = configIn<Compiled>(object);
      try {
        if (config === undefined) return await deleteExactly(kind, object);
        if (config.deletedAt !== undefined) return;
        const tombstone =
          'paymasterId' in config ? buryPaymaster(config, clock.now()) : buryChain(config, clock.now());
        await put(kind, name, tombstone, [], { revision: toRevision(object, config) }, 1);
        return;
      } catch (error) {
        if (!isRace(error) || attempt === 5) throw error;
      }
    }
  }

  /** Deletes exactly this version of an object. */
  async function deleteExactly(kind: CompiledKind, { metadata }: CompiledObject): Promise<void> {
    const { name, uid, resourceVersion } = metadata;
    await mapErrors(`${kind} ${name}`, () =>
      deleteObject(transport, compiledPath(namespace, kind, name), { uid, resourceVersion }),
    );
  }

  async function purge(before: number): Promise<void> {
    for (const kind of ['PaymasterConfig', 'ChainConfig'] as const)
      for (const object of await objects(kind, deletedLabel)) {
        const deletedAt = configIn<Compiled>(object)?.deletedAt;
        if (deletedAt === undefined || deletedAt >= before) continue;
        await deleteExactly(kind, object).catch((error: unknown) => {
          // Meanwhile somebody else created it again or deleted it.
          if (!isRace(error)) throw error;
        });
      }
  }

  async function list<C extends Compiled>(
    kind: CompiledKind,
    labelSelector?: string,
  ): Promise<readonly StoredConfig<C>[]> {
    return (await objects(kind, labelSelector)).flatMap((object) => {
      const config = configIn<C>(object);
      return config === undefined || config.deletedAt !== undefined
        ? []
        : [{ config, hash: object.spec.hash }];
    });
  }

  function objects(kind: CompiledKind, labelSelector?: string): Promise<readonly CompiledObject[]> {
    return mapListErrors(`${kind} list`, () =>
      readList(transport, compiledPath(namespace, kind), given({ labelSelector })),
    );
  }

  async function getLive<C extends Compiled>(
    kind: CompiledKind,
    name: string,
  ): Promise<StoredConfig<C> | undefined> {
    const stored = await get<C>(kind, name);
    return stored?.config.deletedAt === undefined ? stored : undefined;
  }

  async function get<C extends Compiled>(
    kind: CompiledKind,
    name: string,
  ): Promise<StoredConfig<C> | undefined> {
    const object = await read(kind, name);
    if (object === undefined) return undefined;
    const config = configIn<C>(object);
    if (config === undefined) return undefined;
    const stored = { config, hash: object.spec.hash };
    revisions.set(stored, toRevision(object, config));
    return stored;
  }

  /** The revision and config of what a caller has read; undefined when that did not come from this store. */
  function knownFrom(read: ReadConfig | undefined): { readonly revision: Revision | undefined } | undefined {
    if (read?.stored === undefined) return read && { revision: undefined };
    const revision = revisions.get(read.stored);
    return revision && { revision };
  }

  return {
    getPaymaster: (paymasterId) => getLive('PaymasterConfig', paymasterId),
    getLatest: (paymasterId) => get('PaymasterConfig', paymasterId),
    listPaymasters: () => list<PaymasterConfig>('PaymasterConfig'),
    putPaymaster: async (config, stored) => {
      checkContracts(config);
      return put(
        'PaymasterConfig',
        config.paymasterId,
        config,
        config.keys.map((key) => key.sha256),
        knownFrom(stored),
      );
    },
    deletePaymaster: (paymasterId) => bury('PaymasterConfig', paymasterId),
    getChain: (chainId) => getLive('ChainConfig', chainName(chainId)),
    listChains: () => list<ChainConfig>('ChainConfig'),
    putChain: (config) => put('ChainConfig', chainName(config.chainId), config, []),
    deleteChain: (chainId) => bury('ChainConfig', chainName(chainId)),
    purge,
    ...createKubeLists(deps),
    async findByKey(sha256) {
      const found = await list<PaymasterConfig>('PaymasterConfig', keyLabel(sha256));
      return found.find(({ config }) => config.keys.some((key) => key.sha256 === sha256))?.config;
    },
    watch: watches.watch,
    stop: watches.stop,
  };
}

/** For `kubectl get`. */
function renderShown(config: Compiled): Pick<CompiledPaymasterSpec, 'state' | 'source'> {
  const { deletedAt, suspended, objectName } = config;
  return {
    state: deletedAt !== undefined ? 'Deleted' : suspended ? 'Suspended' : 'Served',
    source: 'namespace' in config ? `${config.namespace}/${objectName}` : objectName,
  };
}

/** By these labels its keys are found. */
function isLabelled({ spec: { keyHashes = [] }, metadata: { labels = {} } }: CompiledObject): boolean {
  return keyHashes.every((sha256) => keyLabel(sha256) in labels);
}
