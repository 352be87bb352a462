import { beforeEach, describe, expect, test } from '@jest/globals';
import { KubeApiError } from '../../adapters/kube/api-error.js';
import type { KubeRequest, KubeTransport } from '../../adapters/kube/transport.js';
import { createKubeConfigStore } from '../../adapters/configs/kubernetes/configs.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { systemClock } from '../../core/units/time.js';
import { aPaymasterConfig } from '../build/configs.js';

// Where no admission policy protects compiled objects, somebody may edit one. That must not affect the other objects.

type Stored = {
  readonly metadata: { readonly name: string; readonly uid?: string; readonly resourceVersion?: string };
  readonly spec: { readonly hash: string; readonly config: string };
};

let objects: Map<string, Stored>;
let store: ConfigStore;
beforeEach(() => {
  objects = new Map();
  store = createKubeConfigStore({
    transport: transportTo(objects),
    namespace: 'system',
    clock: systemClock,
    log: silentLogger,
    metrics: noMetrics,
    random: () => 0.5,
  });
});

const refusal = (status: number, reason: string) => new KubeApiError({ status, reason, message: reason });

/** Objects of one collection, with optimistic locking. */
function transportTo(stored: Map<string, Stored>): KubeTransport {
  let version = 0;
  function answer({ method, path, body }: KubeRequest): unknown {
    const name = /\/paymasterconfigs\/(.+)$/.exec(path)?.[1];
    if (method === 'GET' && name === undefined)
      return { metadata: { resourceVersion: String(version) }, items: [...stored.values()] };
    const next = body as Stored;
    const present = stored.get(name ?? next.metadata.name);
    if (method === 'POST' && present !== undefined) throw refusal(409, 'AlreadyExists');
    if (method !== 'POST' && present === undefined) throw refusal(404, 'NotFound');
    if (method === 'GET') return present;
    if (method === 'PUT' && next.metadata.resourceVersion !== present?.metadata.resourceVersion)
      throw refusal(409, 'Conflict');
    const metadata = { ...next.metadata, uid: next.metadata.name, resourceVersion: String((version += 1)) };
    stored.set(metadata.name, { ...next, metadata });
    return stored.get(metadata.name);
  }
  return {
    request: async (call) => structuredClone(answer(call)),
    stream: () => Promise.reject(new Error('not asked')),
    stop: async () => {},
  };
}

const [edited, other] = ['edited', 'other'].map((paymasterId) => aPaymasterConfig({ paymasterId }));

describe.each([
  { what: 'is not JSON', edit: () => 'suspended: true' },
  { what: 'is another JSON value', edit: () => 'null' },
  {
    what: 'says something else than its hash',
    edit: (text: string) => text.replace('"suspended":false', '"suspended":true'),
  },
])('a compiled object that somebody has edited and that $what', ({ edit }) => {
  function editIt(): void {
    const object = objects.get('edited')!;
    objects.set('edited', { ...object, spec: { ...object.spec, config: edit(object.spec.config) } });
  }
  beforeEach(async () => {
    await store.putPaymaster(edited!);
    await store.putPaymaster(other!);
    editIt();
  });

  test('counts as absent, and the others are still read', async () => {
    expect(await store.getPaymaster('edited')).toBeUndefined();
    expect((await store.listPaymasters()).map(({ config }) => config.paymasterId)).toEqual(['other']);
  });

  test('is written again, whatever the writer read before', async () => {
    for (const read of [undefined, { stored: undefined }]) {
      editIt();
      expect(await store.putPaymaster(edited!, read)).toMatchObject({ changed: true });
      expect((await store.getPaymaster('edited'))?.config).toMatchObject({ suspended: false });
    }
  });
});
