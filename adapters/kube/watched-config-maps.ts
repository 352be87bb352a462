import type { Ambient } from '../../core/ambient.js';
import type { ConfigMap, ConfigMapPlace, ReadConfigMap } from './config-map.js';
import { mapListErrors } from './errors.js';
import { readList } from './reads.js';
import { createReflector, type Reflector } from './reflector.js';
import type { KubeObject } from './objects.js';
import type { KubeTransport } from './transport.js';

/** The server says at least once a minute that a watch goes on. */
const heardMs = 90_000;

/** ConfigMaps of which a process must know each change, read without a call while their watches are heard. */
export function watchConfigMaps(
  deps: Ambient &
    ConfigMapPlace & {
      readonly transport: KubeTransport;
      readonly random: () => number;
      readonly names: readonly string[];
    },
) {
  const { clock, namespace, transport } = deps;
  const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/configmaps`;
  const selecting = (name: string) => ({ fieldSelector: `metadata.name=${name}` });
  const handlers = new Set<() => void>();
  const watched = new Map<string, Reflector<KubeObject & ConfigMap>>();
  for (const name of deps.names) {
    const reflector = createReflector<KubeObject & ConfigMap>({
      ...deps,
      path,
      ...selecting(name),
      kind: `ConfigMap ${name}`,
      transform: (object) => object as KubeObject & ConfigMap,
      onEvent: () => {
        for (const handler of handlers) handler();
      },
      now: () => clock.now(),
    });
    watched.set(name, reflector);
    reflector.start();
  }
  const read: ReadConfigMap = async (name) => {
    const reflector = watched.get(name);
    const isHeard = reflector?.hasSynced() === true && clock.now() - reflector.lastHeardAt() < heardMs;
    if (isHeard) return reflector.list()[0];
    // By the right that the watch has.
    const [found] = await mapListErrors(`ConfigMap ${name}`, () =>
      readList<ConfigMap>(transport, path, selecting(name)),
    );
    return found;
  };
  return {
    read,
    /** Called after each change of one of them. */
    onChange: (handler: () => void): void => void handlers.add(handler),
    stop: async () => void (await Promise.all([...watched.values()].map((each) => each.stop()))),
  };
}
