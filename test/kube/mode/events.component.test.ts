import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { KubeList, KubeObject } from '../../../adapters/kube/objects.js';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock } from '../../../core/units/time.js';
import { graceMs } from '../../../operator/reconcilers/announcer.js';
import { systemTimers, type Timers } from '../../../adapters/timers.js';
import { aChain, aPaymaster, aSmartContract } from '../../build/resources.js';
import { until } from '../../support/until.js';
import { connectionOfThisRun } from './connection.js';
import { openResources, startKubeOperator } from './dashboard-world.js';
import { openUserParts } from './kube-worlds.js';
import { ensureNamespace } from './system-namespace.js';

// What `kubectl events` shows on a real API server when a folder is applied in the wrong order. The test itself ends the
// grace period, so that nothing depends on the speed of the machine.

const namespace = 'acme';
let stop: () => Promise<void>;
let admin: KubeTransport;
let resources: ResourceStore;
const grace = holdGrace();
beforeAll(async () => {
  const connection = connectionOfThisRun();
  if (connection === undefined) throw new Error('start jest with --config=jest.kubernetes.config.js');
  const opened = await openUserParts(connection);
  stop = opened.stop;
  admin = opened.parts.transport('admin');
  resources = openResources(opened.parts, admin);
  await ensureNamespace(admin, namespace);
  await startKubeOperator(opened.parts, systemClock, grace.timers);
});
afterAll(() => stop?.(), 60_000);

test('a parent that arrives after its child causes no warning', async () => {
  const child = 'early-contract';
  await applyContract(child, 'late-shop');
  await untilReason(child, 'ResolvedRefs', 'PaymasterNotFound');
  const manager = 'kubectl';
  const { spec, metadata } = aChain();
  await resources.apply({ manager, kind: 'Chain', key: { name: metadata.name }, spec });
  await resources.apply({ manager, kind: 'Organisation', key: { name: namespace }, spec: { namespace } });
  const key = { namespace, name: 'late-shop' };
  await resources.apply({ manager, kind: 'Paymaster', key, spec: aPaymaster().spec });
  await untilReason(child, 'Ready', 'Ready');
  // The status is there before the operator has an answer to its write. Only then does it drop the warning that waits.
  await until('it is told that the child is ready', async () =>
    (await eventsOf(child)).includes('Normal Ready'),
  );
  grace.letGo();
  expect(await eventsOf(child)).toEqual(['Normal Ready']);
});

test('a parent that does not arrive is a warning when the grace is over, and not before', async () => {
  const child = 'orphan-contract';
  await applyContract(child, 'no-such-shop');
  await untilReason(child, 'ResolvedRefs', 'PaymasterNotFound');
  expect(await eventsOf(child)).toEqual([]);
  grace.letGo();
  await until('it is told', async () => (await eventsOf(child)).length === 2);
  expect(await eventsOf(child)).toEqual(['Warning NotResolved', 'Warning PaymasterNotFound']);
  // An event about the other child at the end of its grace would have arrived before.
  expect(await eventsOf('early-contract')).toEqual(['Normal Ready']);
});

async function applyContract(name: string, paymaster: string): Promise<void> {
  const spec = { ...aSmartContract().spec, paymasterRef: { name: paymaster } };
  await resources.apply({ manager: 'kubectl', kind: 'SmartContract', key: { namespace, name }, spec });
}

async function untilReason(name: string, type: string, reason: string): Promise<void> {
  await until(`condition ${type} of ${name} is ${reason}`, async () => {
    const contract = await resources.get('SmartContract', { namespace, name });
    return (
      contract?.status?.conditions?.some((each) => each.type === type && each.reason === reason) === true
    );
  });
}

type Event = KubeObject & {
  readonly type: string;
  readonly reason: string;
  readonly regarding: { readonly name: string };
};

async function eventsOf(name: string): Promise<readonly string[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events`;
  const { items } = (await admin.request({ method: 'GET', path })) as KubeList<Event>;
  return items
    .filter(({ regarding }) => regarding.name === name)
    .map(({ type, reason }) => `${type} ${reason}`)
    .toSorted();
}

/** Real timers, except that the grace period of an event lasts until the test ends it. */
function holdGrace(): { readonly timers: Timers; letGo(): void } {
  const held = new Set<() => void>();
  return {
    timers: {
      after(ms, action) {
        if (ms !== graceMs) return systemTimers.after(ms, action);
        held.add(action);
        return () => void held.delete(action);
      },
    },
    letGo() {
      held.forEach((action) => action());
      held.clear();
    },
  };
}
