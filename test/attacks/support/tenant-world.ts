import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync, cpSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createStops } from '../../../adapters/process/stops.js';
import { apiVersion } from '../../../core/meta/meta.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { startInstallation } from '../../kube/support/installation.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';
import { attachDevChain } from '../../system/support/dev-chain.js';
import { removeDataDirectory, startStandalone, stopStandalone } from '../../system/support/standalone.js';
import { expectServed } from './wallet.js';

/** Where objects of tenants are: manifests of `make run`; or a real API server, with the operators and three replicas on PostgreSQL. */
export const planes = ['standalone', 'a Kubernetes API server'] as const;

/** The profile version that all these tests use: its contract keeps a balance for each sponsor. */
export const version = '1.1.0';
/** The tenants' namespace; their Organisation has the same name. */
export const namespace = 'quickstart';

/** Writes objects as tenants do and asks as wallets do; the service runs in separate processes. */
export type TenantWorld = {
  readonly devChain: DevChain;
  /** Writes objects of the tenants' namespace, or their Organisation. */
  apply(...objects: readonly Manifest[]): Promise<void>;
  remove(kind: string, ...names: readonly string[]): Promise<void>;
  /** The condition message that the operator gives the tenant for an object. */
  says(kind: string, name: string): string;
  /** JSON-RPC addresses of a Paymaster by its connection Secret, one of each replica; none while there is no Secret. */
  urls(paymaster: string): readonly string[];
  stop(): Promise<void>;
};

export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec: object;
};

export function startTenantWorld(plane: (typeof planes)[number]): Promise<TenantWorld> {
  return plane === 'standalone' ? startOnManifests() : startOnKubernetes();
}

/** An object of the tenants. */
export function anObject(kind: string, name: string, spec: object): Manifest {
  return { apiVersion, kind, metadata: { name, namespace }, spec };
}

/** A Paymaster that sponsors the counter; `spec` changes it. */
export function aShop(
  world: Pick<TenantWorld, 'devChain'>,
  name: string,
  spec: object = {},
): readonly Manifest[] {
  const { address, abi } = world.devChain.deployments.sponsoredContract;
  const text = typeof abi === 'string' ? abi : JSON.stringify(abi);
  const whitelistedMethods = ['increment'];
  return [
    anObject('Paymaster', name, {
      name,
      chainId: world.devChain.chainId,
      type: 'HYBRID',
      version,
      defaultContractAction: 'Deny',
      writeConnectionSecretToRef: { name },
      ...spec,
    }),
    anObject('SmartContract', `${name}-counter`, {
      paymasterRef: { name },
      name: 'counter',
      address,
      abi: text,
      whitelistedMethods,
    }),
  ];
}

/** The tenants' Organisation as the quickstart has it, changed. */
export function theOrganisation(spec: object): Manifest {
  const quotas = { paymasters: 1000, contractsPerPaymaster: 1000, policiesPerPaymaster: 100 };
  return {
    apiVersion,
    kind: 'Organisation',
    metadata: { name: namespace },
    spec: { namespace, quotas, ...spec },
  };
}

/** The control: once it knows the paymaster, each replica serves an honest account, and the operations are mined. */
export async function servesEverywhere(world: TenantWorld, paymaster: string): Promise<void> {
  await until(`${paymaster} has its key`, () => world.urls(paymaster).length > 0);
  for (const [replica] of world.urls(paymaster).entries()) await serves(world, paymaster, replica);
}

async function serves(world: TenantWorld, paymaster: string, replica: number): Promise<void> {
  let last: unknown;
  await until(`${paymaster} is served by replica ${replica}`, async () => {
    try {
      await expectServed(world.devChain, version, world.urls(paymaster)[replica] ?? '');
      return true;
    } catch (error) {
      last = error;
      return false;
    }
  }).catch((error: unknown) => {
    throw new Error(String(error), { cause: last });
  });
}

async function startOnManifests(): Promise<TenantWorld> {
  const stops = createStops();
  const manifests = mkdtempSync(join(tmpdir(), 'paymaster-tenants-'));
  stops.add(() => rmSync(manifests, { recursive: true, force: true }));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  try {
    const running = await startStandalone({ environment: { PAYMASTER_MANIFESTS: manifests } });
    stops.add(async () => {
      await stopStandalone(running);
      removeDataDirectory(running.dataDirectory);
    });
    const { chainRpcUrl, chainId } = running.connection();
    const devChain = attachDevChain(chainRpcUrl, chainId);
    stops.add(() => devChain.stop());
    const fileOf = (kind: string, name: string): string =>
      join(manifests, kind === 'Organisation' ? 'organisation.yaml' : `${kind}-${name}.yaml`);
    return {
      devChain,
      apply: async (...objects) => {
        for (const object of objects)
          writeFileSync(fileOf(object.kind, object.metadata.name), JSON.stringify(object));
      },
      remove: async (kind, ...names) => {
        for (const name of names) rmSync(fileOf(kind, name));
      },
      says: (kind, name) =>
        running
          .output()
          .split('\n')
          .filter((line) => line.includes(`${kind} ${namespace}/${name}`))
          .join('\n'),
      urls: (paymaster) => {
        const secret = join(running.dataDirectory, 'secrets', namespace, `${paymaster}.json`);
        if (!existsSync(secret)) return [];
        return [(JSON.parse(readFileSync(secret, 'utf8')) as { data: { rpcUrl: string } }).data.rpcUrl];
      },
      stop: () => stops.run(),
    };
  } catch (error) {
    await stops.run();
    throw error;
  }
}

async function startOnKubernetes(): Promise<TenantWorld> {
  const { cluster, connection, replicas } = await startInstallation();
  const devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
  const kubectl = (args: readonly string[], input?: string): string =>
    cluster.plane.kubectl(args, input === undefined ? {} : { input });
  return {
    devChain,
    apply: async (...objects) => {
      // Server-side apply: the annotation in which client-side `kubectl apply` keeps an object is limited to 256 KiB.
      const args = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
      kubectl(args, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    },
    remove: async (kind, ...names) => void kubectl(['delete', kind, ...names, '-n', namespace]),
    says: (kind, name) =>
      kubectl(['get', kind, name, '-n', namespace, '-o', 'jsonpath={.status.conditions}']),
    urls: (paymaster) => {
      const args = [
        'get',
        'secret',
        paymaster,
        '-n',
        namespace,
        '--ignore-not-found',
        '-o',
        'jsonpath={.data.apiKey}',
      ];
      const apiKey = Buffer.from(kubectl(args), 'base64').toString();
      return apiKey === ''
        ? []
        : replicas.map(({ origin }) => `${origin}/api/v1/${devChain.chainId}/${apiKey}`);
    },
    async stop() {
      await devChain.stop();
      await cluster.stop();
    },
  };
}
