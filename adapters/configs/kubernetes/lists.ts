import type { ConfigStore } from '../../../core/config/config-store.js';
import { DomainError } from '../../../core/errors.js';
import { group } from '../../../core/meta/meta.js';
import { isWhole, type AddressList } from '../../../core/policy/address-list.js';
import type { Clock } from '../../../core/units/time.js';
import { isRace, mapErrors } from '../../kube/errors.js';
import { deleteObject, readList, readObject } from '../../kube/reads.js';
import type { KubeTransport } from '../../kube/transport.js';
import { checkSize } from '../bounds.js';
import { parse, compiledPath, writeObject, type CompiledObject } from './compiled-object.js';

type Deps = { readonly transport: KubeTransport; readonly namespace: string; readonly clock: Clock };

/** Since when no config has named a list (EpochMs). Written once; while a list is in use it costs no write at all. */
const unnamedSince = `${group}/unnamed-since`;
/** How long a list that was looked at counts as stored: shorter by far than the time for which an unnamed one stays. */
const freshMs = 300_000;

/** Lists of addresses: one AddressList object each, named by its hash. Editing one only makes it count as absent. */
export function createKubeLists({
  transport,
  namespace,
  clock,
}: Deps): Pick<ConfigStore, 'putList' | 'getList' | 'purgeLists'> {
  const seenAt = new Map<string, number>();
  const read = (hash: string): Promise<CompiledObject | undefined> =>
    mapErrors(`AddressList ${hash}`, () =>
      readObject(transport, compiledPath(namespace, 'AddressList', hash)),
    );

  /** Resolves with false when somebody else wrote it meanwhile. */
  async function write(
    hash: string,
    text: string,
    stored: CompiledObject | undefined,
    annotations: Readonly<Record<string, string>> = {},
  ): Promise<boolean> {
    const spec = { hash, config: text };
    return unlessRace(() =>
      writeObject({ transport, namespace }, 'AddressList', hash, stored?.metadata, { annotations, spec }),
    );
  }

  async function remove({ metadata: { name, uid, resourceVersion } }: CompiledObject): Promise<void> {
    await unlessRace(() =>
      deleteObject(transport, compiledPath(namespace, 'AddressList', name), { uid, resourceVersion }),
    );
  }

  return {
    async putList(list) {
      const { hash } = list;
      const now = clock.now();
      for (const [each, at] of seenAt) if (now - at >= freshMs) seenAt.delete(each);
      if (seenAt.has(hash)) return;
      const text = JSON.stringify(list);
      checkSize(`AddressList ${hash}`, text);
      for (let attempt = 1; attempt <= 5; attempt += 1) {
        const stored = await read(hash);
        const isStored =
          stored !== undefined && listIn(stored) !== undefined && readUnnamedSince(stored) === undefined;
        if (!isStored && !(await write(hash, text, stored))) continue;
        seenAt.set(hash, now);
        return;
      }
      throw new DomainError('UNAVAILABLE', `AddressList ${hash} changes all the time`);
    },
    async getList(hash) {
      const object = await read(hash);
      return object && listIn(object);
    },
    async purgeLists(named, before) {
      const objects = await mapErrors('AddressList list', () =>
        readList<CompiledObject>(transport, compiledPath(namespace, 'AddressList')),
      );
      const whole = new Set(objects.filter(listIn).map(({ metadata }) => metadata.name));
      for (const each of seenAt.keys()) if (!whole.has(each)) seenAt.delete(each);
      for (const object of objects) {
        const since = readUnnamedSince(object);
        const { name } = object.metadata;
        if (named.has(name)) {
          if (since !== undefined) await write(name, object.spec.config, object);
        } else if (since === undefined)
          await write(name, object.spec.config, object, { [unnamedSince]: String(clock.now()) });
        else if (since < before) await remove(object);
      }
      return new Set([...named].filter((each) => !whole.has(each)));
    },
  };
}

function listIn({ metadata, spec }: CompiledObject): AddressList | undefined {
  try {
    const list = parse<AddressList>({ metadata, spec } as CompiledObject);
    return list.hash === metadata.name && isWhole(list) ? list : undefined;
  } catch {
    // Not JSON, or not an object.
    return undefined;
  }
}

/** A time that is not a number was written by somebody else: the list counts as unnamed since ever. */
function readUnnamedSince({ metadata }: CompiledObject): number | undefined {
  const text = metadata.annotations?.[unnamedSince];
  return text === undefined ? undefined : Number(text) || 0;
}

async function unlessRace(request: () => Promise<unknown>): Promise<boolean> {
  try {
    await mapErrors('AddressList', request);
    return true;
  } catch (error) {
    if (!isRace(error)) throw error;
    return false;
  }
}
