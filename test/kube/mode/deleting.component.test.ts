import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isStatus } from '../../../adapters/kube/api-error.js';
import type { KubeTransport } from '../../../adapters/kube/transport.js';
import { derivePaymasterId } from '../../../core/config/ids.js';
import { group, version } from '../../../core/meta/meta.js';
import { kindNames, type Kind } from '../../../core/resources/kinds.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import { systemClock } from '../../../core/units/time.js';
import {
  aChain,
  aFeeToken,
  anOrganisation,
  aPaymaster,
  aPolicy,
  aSmartContract,
} from '../../build/resources.js';
import { until } from '../../support/until.js';
import { connectionOfThisRun } from './connection.js';
import { openResources, startKubeOperator } from './dashboard-world.js';
import { openUserParts, type KubeParts } from './kube-worlds.js';
import { ensureNamespace } from './system-namespace.js';

// Everybody who may edit in a namespace can put a finalizer on an object, so that its deletion never ends. On a real API server such an
// object, or one that is deleted in the foreground, counts as absent from the moment its deletion begins.

const namespace = 'acme';
const { chainId } = aChain().spec;
let stop: () => Promise<void>;
let admin: KubeTransport;
let resources: ResourceStore;
let configs: ReturnType<KubeParts['configs']>;
beforeAll(async () => {
  const connection = connectionOfThisRun();
  if (connection === undefined) throw new Error('start jest with --config=jest.kubernetes.config.js');
  const opened = await openUserParts(connection);
  stop = opened.stop;
  admin = opened.parts.transport('admin');
  resources = openResources(opened.parts, admin);
  configs = opened.parts.configs(opened.parts.transport('operator'), systemClock);
  await ensureNamespace(admin, namespace);
  await startKubeOperator(opened.parts, systemClock);
  for (const object of [aChain(), aFeeToken(), anOrganisation(), aPaymaster(), aSmartContract(), aPolicy()])
    await make(object.kind, object.metadata.name, object.spec);
  await until('all is served', async () => {
    const [served, chain] = [await paymaster(), await configs.getChain(chainId)];
    return (
      served?.notReady === undefined &&
      served?.contracts.length === 1 &&
      served.limits.length === 1 &&
      chain?.config.feeTokens.length === 1
    );
  });
});
afterAll(() => stop?.(), 60_000);

const paymaster = async () => (await configs.getPaymaster(derivePaymasterId(namespace, 'shop')))?.config;
const keyOf = (kind: Kind, name: string) =>
  kindNames[kind].scope === 'Namespaced' ? { namespace, name } : { name };
const make = (kind: Kind, name: string, spec: object) =>
  resources.apply({ manager: 'kubectl', kind, key: keyOf(kind, name), spec: spec as never });

function pathOf(kind: Kind, name: string): string {
  const { plural, scope } = kindNames[kind];
  const place = scope === 'Namespaced' ? `namespaces/${namespace}/` : '';
  return `/apis/${group}/${version}/${place}${plural}/${name}`;
}

async function setFinalizers(kind: Kind, name: string, finalizers: readonly string[]): Promise<void> {
  await admin.request({
    method: 'PATCH',
    path: pathOf(kind, name),
    contentType: 'application/merge-patch+json',
    body: { metadata: { finalizers } },
  });
}

const beginnings = {
  'with a finalizer': async (kind: Kind, name: string) => {
    await setFinalizers(kind, name, ['example.com/keep']);
    await admin.request({ method: 'DELETE', path: pathOf(kind, name) });
  },
  // No garbage collector runs here, so this never ends by itself either.
  'in the foreground': async (kind: Kind, name: string) => {
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', propagationPolicy: 'Foreground' };
    await admin.request({ method: 'DELETE', path: pathOf(kind, name), body });
  },
} as const;

const isAbsent: Readonly<Record<string, () => Promise<boolean>>> = {
  PaymasterPolicy: async () => (await paymaster())?.limits.length === 0,
  SmartContract: async () => (await paymaster())?.contracts.length === 0,
  FeeToken: async () => (await configs.getChain(chainId))?.config.feeTokens.length === 0,
  Organisation: async () => (await paymaster())?.notReady !== undefined,
  Chain: async () => (await configs.getChain(chainId)) === undefined,
  Paymaster: async () => (await paymaster()) === undefined,
};

const objects = [aPolicy(), aSmartContract(), aFeeToken(), anOrganisation(), aChain(), aPaymaster()];

test.each(
  objects.flatMap((object) =>
    Object.entries(beginnings).map(([how, begin]) => ({ kind: object.kind, how, begin, object })),
  ),
)(
  '$kind, deleted $how, is absent at once, says Deleting, and can be made again',
  async ({
    kind,
    begin,
    object: {
      metadata: { name },
      spec,
    },
  }) => {
    await begin(kind, name);
    await until('it counts as absent', () => isAbsent[kind]!());
    const condition = async (type: string) =>
      (await resources.get(kind, keyOf(kind, name)))?.status?.conditions?.find((each) => each.type === type);
    await until('its status says so', async () => (await condition('Ready'))?.reason === 'Deleting');
    expect(await condition('Ready')).toMatchObject({ status: 'False' });
    expect(await condition('Programmed')).toMatchObject({ status: 'False', reason: 'Deleting' });
    if (kind === 'SmartContract') {
      // To begin to delete the last contract does not open the paymaster.
      expect((await paymaster())?.contractsRegistered).toBe(true);
    }
    await setFinalizers(kind, name, []);
    await until('it is gone', () =>
      admin.request({ method: 'GET', path: pathOf(kind, name) }).then(
        () => false,
        (error: unknown) => isStatus(error, 404),
      ),
    );
    if (kind === 'SmartContract')
      await until(
        'no contract is registered',
        async () => (await paymaster())?.contractsRegistered === false,
      );
    await make(kind, name, spec);
    await until('it is served again', async () => !(await isAbsent[kind]!()));
  },
);
