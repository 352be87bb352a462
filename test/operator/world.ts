import { createPace } from '../../adapters/pace.js';
import { createSqliteConfigStore } from '../../adapters/configs/sqlite/configs.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { AnyResource, Kind, Resources } from '../../core/resources/kinds.js';
import { objectKey } from '../../core/meta/meta.js';
import type { ObjectKey } from '../../core/meta/meta.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { ConnectionSecrets } from '../../core/secrets.js';
import { createOperator } from '../../operator/operator.js';
import type { Operator } from '../../operator/operator.js';
import type { OperatorDeps } from '../../operator/operator-deps.js';
import { aChain, anOrganisation } from '../build/resources.js';
import { createScriptedChain, signerAddress } from './scripted-chain.js';
import type { ChainState } from './scripted-chain.js';
import { createVirtualTime, turn } from './virtual-time.js';
import type { VirtualTime } from './virtual-time.js';

/** An operator over real SQLite stores and a scripted chain, in virtual time. */
export type World = {
  readonly resources: ResourceStore;
  readonly configs: ConfigStore;
  readonly chain: ChainState;
  readonly time: VirtualTime;
  readonly secrets: Map<string, { owner: string; data: Readonly<Record<string, string>> }>;
  operator: Operator;
  /** Writes the spec of a built resource, as the manager `manifests`. */
  apply(...objects: readonly AnyResource[]): Promise<void>;
  remove(kind: Kind, name: string): Promise<void>;
  get<K extends Kind>(kind: K, name: string): Promise<Resources[K]>;
  config(name: string): Promise<PaymasterConfig | undefined>;
  /** Lets time pass until the condition holds; fails after more than ten virtual minutes. */
  until(what: string, condition: () => Promise<boolean> | boolean): Promise<void>;
  /** Runs everything that is due within a virtual minute. */
  settle(): Promise<void>;
  restart(deps?: Partial<OperatorDeps>): Promise<void>;
  /** Another operator over the same stores; not started. */
  create(deps: Partial<OperatorDeps>): Operator;
  close(): Promise<void>;
};

/** With `anOrganisation()` and `aChain()`, unless the test starts from nothing. */
export async function startWorld(
  options: { readonly isEmpty?: boolean; readonly deps?: Partial<OperatorDeps> } = {},
): Promise<World> {
  const time = createVirtualTime();
  const { clock, timers } = time;
  const db = openDatabase(':memory:', { durability: 'process' });
  const resources = createSqliteResourceStore({ db, clock });
  const configs = createSqliteConfigStore({ db, clock });
  const { state, chains } = createScriptedChain();
  const secrets: World['secrets'] = new Map();
  const operatorOf = (deps: Partial<OperatorDeps> = {}): Operator =>
    createOperator({
      resources,
      configs,
      chains,
      signers: {
        get: (file) =>
          file === 'dev' ? { address: signerAddress, implementation: 'test', sign: () => [] } : undefined,
      },
      masterKeys: { current: new Uint8Array(32).fill(1), webhook: new Uint8Array(32).fill(2) },
      connectionSecrets: secretsIn(secrets),
      rpcUrlOf: ({ chainId }, apiKey) => `http://rpc.test/api/v1/${chainId}/${apiKey}`,
      clock,
      log: silentLogger,
      metrics: noMetrics,
      timers,
      // By virtual time: how much is done in one turn must not depend on the machine.
      pace: createPace(clock.now),
      ...deps,
    });

  const world: World = {
    resources,
    configs,
    chain: state,
    time,
    secrets,
    operator: operatorOf(options.deps),
    async apply(...objects) {
      for (const object of objects) await applyOne(resources, object);
    },
    async remove(kind, name) {
      await resources.delete(kind, keyFor(kind, name));
    },
    async get(kind, name) {
      const object = await resources.get(kind, keyFor(kind, name));
      if (object === undefined) throw new Error(`there is no ${kind} ${name}`);
      return object;
    },
    config: async (name) => (await configs.getPaymaster(derivePaymasterId('acme', name)))?.config,
    async until(what, condition) {
      for (let round = 0; round < 7000; round += 1) {
        if (await condition()) return;
        await turn();
        time.advance(100);
      }
      throw new Error(`it never came true that ${what}`);
    },
    async settle() {
      for (let round = 0; round < 120; round += 1) {
        await turn();
        time.advance(500);
      }
      await turn();
    },
    async restart(deps) {
      await world.operator.stop();
      world.operator = operatorOf(deps ?? options.deps);
      await world.operator.start();
    },
    create: operatorOf,
    async close() {
      await world.operator.stop();
      db.close();
    },
  };
  if (options.isEmpty !== true) await world.apply(anOrganisation(), aChain());
  await world.operator.start();
  return world;
}

export function conditionOf(object: AnyResource, type: string): string {
  const condition = object.status?.conditions?.find((each) => each.type === type);
  return condition === undefined ? 'absent' : `${condition.status}/${condition.reason}`;
}

/** For `until`: whether a paymaster of `acme` is ready. */
export function isReady(world: World, name = 'shop'): () => Promise<boolean> {
  return async () => conditionOf(await world.get('Paymaster', name), 'Ready') === 'True/Ready';
}

async function applyOne(resources: ResourceStore, object: AnyResource): Promise<void> {
  const key = objectKey(object);
  const manager = 'manifests';
  switch (object.kind) {
    case 'Chain':
      await resources.apply({ manager, kind: 'Chain', key, spec: object.spec });
      return;
    case 'FeeToken':
      await resources.apply({ manager, kind: 'FeeToken', key, spec: object.spec });
      return;
    case 'Organisation':
      await resources.apply({ manager, kind: 'Organisation', key, spec: object.spec });
      return;
    case 'Paymaster':
      await resources.apply({ manager, kind: 'Paymaster', key, spec: object.spec });
      return;
    case 'SmartContract':
      await resources.apply({ manager, kind: 'SmartContract', key, spec: object.spec });
      return;
    case 'PaymasterPolicy':
      await resources.apply({ manager, kind: 'PaymasterPolicy', key, spec: object.spec });
      return;
    case 'DashboardToken':
      await resources.apply({ manager, kind: 'DashboardToken', key, spec: object.spec });
  }
}

function keyFor(kind: Kind, name: string): ObjectKey {
  const isNamespaced = kind === 'Paymaster' || kind === 'SmartContract' || kind === 'PaymasterPolicy';
  return isNamespaced ? { namespace: 'acme', name } : { name };
}

function secretsIn(secrets: World['secrets']): ConnectionSecrets {
  return {
    write: async ({ namespace, name, owner, data }) => {
      const present = secrets.get(`${namespace}/${name}`);
      if (present !== undefined && present.owner !== owner.name) return 'not-ours';
      secrets.set(`${namespace}/${name}`, { owner: owner.name, data });
      return present === undefined ? 'written' : 'unchanged';
    },
  };
}
