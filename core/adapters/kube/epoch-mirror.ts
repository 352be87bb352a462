import { isDomainError } from '../../errors.js';
import type { Logger } from '../../log.js';
import {
  isSameEpoch,
  type EpochCopies,
  type EpochMirror,
  type UsageEpoch,
} from '../../policy/usage-epoch.js';
import { parseEpoch } from '../store/epoch-text.js';
import { createNamedConfigMap, type ConfigMap } from './config-map.js';
import type { KubeTransport } from './transport.js';

export const epochConfigMap = 'paymaster-usage-epochs';

/**
 * Copies of epochs in one ConfigMap of the system namespace, by chain id; changed by PUT with the version that was read,
 * so that of two replicas that write at once one is told.
 */
export function createKubeEpochMirror(deps: {
  readonly transport: Pick<KubeTransport, 'request'>;
  readonly namespace: string;
}): EpochMirror & EpochCopies {
  const map = createNamedConfigMap({ ...deps, name: epochConfigMap });
  return {
    async get(chainId) {
      return epochIn(await map.read(), chainId);
    },
    async all() {
      const present = await map.read();
      const epochs = new Map<number, UsageEpoch>();
      for (const name of Object.keys(present?.data ?? {})) {
        const epoch = epochIn(present, Number(name));
        if (epoch !== undefined) epochs.set(Number(name), epoch);
      }
      return epochs;
    },
    async put(chainId, next, expected) {
      const present = await map.read();
      if (!isSameEpoch(epochIn(present, chainId), expected)) return false;
      return map.write(present, { ...present?.data, [String(chainId)]: JSON.stringify(next) });
    },
  };
}

/**
 * A mirror that is remembered on this machine: what was read last is believed while the mirror cannot be reached, so that
 * a replica that restarts meanwhile can serve. Believing an old copy is safe: a store with another epoch then counts as
 * lost until the mirror answers. A disk that fails costs only this.
 */
export function rememberEpochs(mirror: EpochMirror, local: EpochMirror, log: Logger): EpochMirror {
  async function remember(chainId: number, epoch: UsageEpoch): Promise<void> {
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
  };
}

function epochIn(map: ConfigMap | undefined, chainId: number): UsageEpoch | undefined {
  const text = map?.data?.[String(chainId)];
  return text === undefined ? undefined : parseEpoch(text);
}
