import { isDomainError } from '../../core/errors.js';
import type { Logger } from '../../core/log.js';
import {
  isSameEpoch,
  raiseEpoch,
  type EpochCopies,
  type EpochMirror,
  type UsageEpoch,
} from '../../core/usage/epoch.js';
import { formatEpoch, parseEpoch } from '../store/epoch-text.js';
import {
  createNamedConfigMap,
  type ConfigMap,
  type ConfigMapPlace,
  type ReadConfigMap,
} from './config-map.js';

export const epochConfigMap = 'paymaster-usage-epochs';

/**
 * Copies of epochs in one ConfigMap of the system namespace, by chain id. They are changed by PUT with the version that
 * was read, so that of two replicas that write at once one gets a conflict. Each copy holds the uid of the ConfigMap
 * that it was written to. A ConfigMap that is restored from a backup gets another uid, and its copies are then
 * `isMoved`.
 */
export function createKubeEpochMirror(deps: ConfigMapPlace): EpochMirror & EpochCopies {
  const map = createNamedConfigMap({ ...deps, name: epochConfigMap });

  /**
   * The ConfigMap; created empty if it does not exist, because only the API server assigns the uid that copies name.
   */
  async function ensureMap(): Promise<ConfigMap | undefined> {
    const found = await map.read();
    if (found !== undefined) return found;
    await map.write(undefined, {});
    return map.read();
  }

  return {
    async get(chainId) {
      return epochIn(await map.read(), chainId);
    },
    all: createKubeEpochCopies(map.read).all,
    async put(chainId, next, expected) {
      const found = await ensureMap();
      if (found === undefined || !isSameEpoch(epochIn(found, chainId), expected)) return false;
      const text = formatEpoch(next, found.metadata.uid);
      return map.write(found, { ...found.data, [String(chainId)]: text });
    },
    async raise(marks) {
      const found = await map.read();
      const copies = new Map<number, UsageEpoch>();
      const changed: [string, string][] = [];
      for (const [chainId, mark] of marks) {
        const copy = epochIn(found, chainId);
        if (found === undefined || copy === undefined) continue;
        const next = raiseEpoch(copy, mark);
        if (next !== copy) changed.push([String(chainId), formatEpoch(next, found.metadata.uid)]);
        copies.set(chainId, next);
      }
      if (found === undefined || changed.length === 0) return copies;
      // Every replica does this every few seconds, so one of two that collide may as well wait for its next turn.
      const isWritten = await map.write(found, { ...found.data, ...Object.fromEntries(changed) });
      if (!isWritten) for (const chainId of copies.keys()) copies.set(chainId, epochIn(found, chainId)!);
      return copies;
    },
  };
}

/** The same copies, for those that only read them. */
export function createKubeEpochCopies(read: ReadConfigMap): EpochCopies {
  return {
    async all() {
      const found = await read(epochConfigMap);
      const epochs = new Map<number, UsageEpoch>();
      for (const name of Object.keys(found?.data ?? {})) {
        const epoch = epochIn(found, Number(name));
        if (epoch !== undefined) epochs.set(Number(name), epoch);
      }
      return epochs;
    },
  };
}

/**
 * A mirror that is also remembered on this machine. While the mirror cannot be reached, the value that was read last is
 * used, so that a replica that restarts meanwhile can serve. Using an old copy is safe: a store with another epoch then
 * counts as lost until the mirror answers. A copy that was restored is not remembered. A disk that fails costs only
 * this memory.
 */
export function rememberEpochs(mirror: EpochMirror, local: EpochMirror, log: Logger): EpochMirror {
  async function remember(chainId: number, epoch: UsageEpoch): Promise<void> {
    if (epoch.isMoved === true) return;
    try {
      const known = await local.get(chainId);
      if (!isSameEpoch(known, epoch)) await local.put(chainId, epoch, known);
    } catch (error) {
      log.warn('the epoch of the usage store could not be remembered on disk', { chainId, error });
    }
  }

  return {
    async get(chainId) {
      try {
        const epoch = await mirror.get(chainId);
        if (epoch !== undefined) await remember(chainId, epoch);
        return epoch;
      } catch (error) {
        const known = isDomainError(error, 'UNAVAILABLE') ? await local.get(chainId) : undefined;
        if (known === undefined) throw error;
        return known;
      }
    },
    async put(chainId, next, expected) {
      const isWritten = await mirror.put(chainId, next, expected);
      if (isWritten) await remember(chainId, next);
      return isWritten;
    },
    async raise(marks) {
      const copies = await mirror.raise(marks);
      for (const [chainId, epoch] of copies) await remember(chainId, epoch);
      return copies;
    },
  };
}

function epochIn(map: ConfigMap | undefined, chainId: number): UsageEpoch | undefined {
  const text = map?.data?.[String(chainId)];
  return text === undefined ? undefined : parseEpoch(text, map?.metadata.uid);
}
