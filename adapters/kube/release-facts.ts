import { createHash } from 'node:crypto';
import type { Logger } from '../../core/log.js';
import { confirmEveryMs, type ReleaseFacts } from '../../core/release-facts.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { createNamedConfigMap, type ConfigMapPlace } from './config-map.js';
import { epochConfigMap } from './epoch-mirror.js';

type Deps = ConfigMapPlace & { readonly clock: Clock; readonly log: Logger; readonly mayWrite: boolean };

const retryMs = 30_000;

/**
 * Facts beside the epochs of the usage data, which know the store in the same way from outside. Each is `reached.<hash>` with the time in ms: names of
 * hosts and databases are not shown to those who may read ConfigMaps.
 */
export function createKubeReleaseFacts({ clock, log, mayWrite, ...place }: Deps): ReleaseFacts {
  const map = createNamedConfigMap({ ...place, name: epochConfigMap });
  const dueAt = new Map<string, number>();

  async function write(names: readonly string[], now: number): Promise<void> {
    await map.update((data) => {
      const isOld = (name: string) => now - (parseTime(data[reachedKey(name)]) ?? 0) >= confirmEveryMs;
      return {
        ...data,
        ...Object.fromEntries(names.filter(isOld).map((name) => [reachedKey(name), String(now)])),
      };
    });
    for (const name of names) dueAt.set(name, now + confirmEveryMs);
  }

  return {
    async lastHad(names) {
      const data = (await map.read())?.data ?? {};
      const times = names.flatMap((name) => parseTime(data[reachedKey(name)]) ?? []);
      return times.length === 0 ? undefined : (Math.max(...times) as EpochMs);
    },
    confirm(names) {
      const now = clock.now();
      const due = names.filter((name) => now >= (dueAt.get(name) ?? 0));
      if (!mayWrite || due.length === 0) return;
      for (const name of due) dueAt.set(name, now + retryMs);
      write(due, now).catch((error: unknown) =>
        log.warn('what this pod has reached could not be written down', { error }),
      );
    },
  };
}

function reachedKey(name: string): string {
  return `reached.${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}

function parseTime(text: string | undefined): number | undefined {
  const time = Number(text);
  return text !== undefined && Number.isSafeInteger(time) ? time : undefined;
}
