import type { Ambient } from '../../../core/ambient.js';
import type { ChainConfig } from '../../../core/config/chain-config.js';
import type { ConfigEvent, ConfigWatch, Deletion } from '../../../core/config/config-store.js';
import type { AddressList } from '../../../core/policy/address-list.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { Logger } from '../../../core/log.js';
import type { KubeObject } from '../../kube/objects.js';
import { createReflector, type Reflector, type ReflectorTiming } from '../../kube/reflector.js';
import type { KubeTransport } from '../../kube/transport.js';
import {
  chainPrefix,
  parse,
  compiledPath,
  type Compiled,
  type CompiledKind,
  type CompiledObject,
} from './compiled-object.js';

export type ConfigWatchDeps = Ambient & {
  readonly transport: KubeTransport;
  /** The system namespace: compiled objects live there and nowhere else. */
  readonly namespace: string;
  readonly random: () => number;
  readonly timing?: Partial<ReflectorTiming>;
};

/**
 * What a watch keeps of an object: its revision. The handler gets the config itself once; then the watch drops it. A
 * replica holds one of these per paymaster, so data that nobody reads is not kept.
 */
type Slim = KubeObject & { config: Compiled | AddressList | undefined };

/** Watches of compiled objects. `stop` ends all of them. */
export function createConfigWatches(deps: ConfigWatchDeps): {
  watch(handler: (event: ConfigEvent) => void): ConfigWatch;
  stop(): Promise<void>;
} {
  const { transport, namespace, clock, log } = deps;
  const following = new Set<Reflector<Slim>>();

  function follow(
    kind: CompiledKind,
    onEvent: (type: 'put' | 'delete', slim: Slim) => void,
  ): Reflector<Slim> {
    const reflector = createReflector<Slim>({
      transport,
      path: compiledPath(namespace, kind),
      kind,
      transform: (object) => toSlim(object, namespace, log),
      onEvent: ({ type, object }) => {
        onEvent(type === 'DELETED' ? 'delete' : 'put', object);
        object.config = undefined;
      },
      log,
      metrics: deps.metrics,
      now: () => clock.now(),
      random: deps.random,
      ...(deps.timing === undefined ? {} : { timing: deps.timing }),
    });
    following.add(reflector);
    return reflector;
  }

  async function unfollow(...reflectors: readonly Reflector<Slim>[]): Promise<void> {
    await Promise.all(reflectors.map((reflector) => reflector.stop()));
    for (const reflector of reflectors) following.delete(reflector);
  }

  function watch(handler: (event: ConfigEvent) => void): ConfigWatch {
    const lists = follow('AddressList', (type, { metadata, config }) => {
      if (type === 'delete') handler({ type: 'delete-list', hash: metadata.name });
      else if (config) handler({ type: 'put-list', list: config as AddressList });
    });
    const chains = follow('ChainConfig', (type, { metadata, config }) => {
      const chainId = Number(metadata.name.slice(chainPrefix.length));
      const deletion = deletionIn(config);
      if (type === 'delete') handler({ type: 'delete-chain', chainId });
      else if (deletion) handler({ type: 'delete-chain', chainId, deletion });
      else if (config) handler({ type: 'put-chain', config: config as ChainConfig });
    });
    const paymasters = follow('PaymasterConfig', (type, { metadata, config }) => {
      const paymasterId = metadata.name;
      const deletion = deletionIn(config);
      if (type === 'delete') handler({ type: 'delete-paymaster', paymasterId });
      else if (deletion) handler({ type: 'delete-paymaster', paymasterId, deletion });
      else if (config) handler({ type: 'put-paymaster', config: config as PaymasterConfig });
    });
    const all = [lists, chains, paymasters] as const;
    return {
      synced: startInTurn(all),
      confirmedAt: () => Math.min(...all.map((reflector) => reflector.lastHeardAt())),
      reached: () =>
        all.every((reflector) => reflector.hasSynced())
          ? {
              paymasters: Number(paymasters.resourceVersion()),
              chains: Number(chains.resourceVersion()),
            }
          : undefined,
      stop() {
        unfollow(...all).catch((error: unknown) =>
          log.debug('a watch did not stop cleanly', { error: String(error) }),
        );
      },
    };
  }

  return { watch, stop: () => unfollow(...following) };
}

/** What others need comes first: a paymaster needs the ChainConfig of its chain, and both need their lists of addresses. */
async function startInTurn(reflectors: readonly Reflector<Slim>[]): Promise<void> {
  for (const reflector of reflectors) {
    reflector.start();
    await reflector.synced;
  }
}

function deletionIn(config: Slim['config']): Deletion | undefined {
  if (config === undefined || !('deletedAt' in config) || config.deletedAt === undefined) return undefined;
  return { chainId: config.chainId, configGeneration: config.configGeneration };
}

/**
 * `namespace` is the one string that all objects share. Nobody reads the time and the generation, so they are dropped.
 */
function toSlim(object: KubeObject, namespace: string, log: Logger): Slim {
  const { name, uid, resourceVersion } = object.metadata;
  const metadata = { name, namespace, uid, resourceVersion, generation: 0, creationTimestamp: '' };
  let config: Slim['config'];
  try {
    config = parse<Compiled | AddressList>(object as CompiledObject);
  } catch (error) {
    // Somebody edited it by hand: the config that was served before stays.
    log.error('a compiled object does not parse and is left out', { name, error: String(error) });
  }
  return { metadata, config };
}
