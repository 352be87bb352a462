import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiVersion } from '../../../core/meta/meta.js';
import type { ChainSpec } from '../../../core/resources/chain.js';
import type { PaymasterSpec } from '../../../core/resources/paymaster.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';
import { attachDevChain } from '../../system/support/dev-chain.js';
import { removeDataDirectory, startStandalone, stopStandalone } from '../../system/support/standalone.js';
import { startReplicatedPlatform } from './replicated-platform.js';
import type { StoreKind } from './stores.js';

/** The service with its dev chain, a platform that configures the Chain, and tenants who write YAML in their namespace. */
export type World = {
  readonly devChain: DevChain;
  /** authToken of the tenants' Organisation. */
  readonly authToken: string;
  /**
   * Writes a Paymaster that sponsors the counter's methods, and `more` manifests for its name. Resolves
   * with its JSON-RPC address, which leads to another replica with each connection.
   */
  paymaster(
    version: string,
    spec?: Partial<PaymasterSpec>,
    more?: (name: string) => readonly object[],
  ): Promise<string>;
  stop(): Promise<void>;
};

/** A running service over a folder of manifests. */
export type Platform = Pick<World, 'devChain' | 'authToken' | 'stop'> & {
  /** Folder of connection secrets. */
  readonly secrets: string;
};

const namespace = 'quickstart';

/** `chain`: what the platform adds to the Chain of the dev chain. `rpcUrl`: a node to use instead of a new dev chain. */
export async function startWorld(
  store: StoreKind,
  chain: Partial<Pick<ChainSpec, 'accountFactories' | 'gas' | 'maxExpirySeconds' | 'rateLimit'>> = {},
  rpcUrl?: string,
): Promise<World> {
  const manifests = mkdtempSync(join(tmpdir(), 'paymaster-attack-'));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const chainFile = join(manifests, 'chain.yaml');
  const added = Object.entries(chain).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`);
  writeFileSync(chainFile, `${readFileSync(chainFile, 'utf8')}${added.join('')}`);
  const start = store === 'the embedded store' ? startStandalonePlatform : startReplicatedPlatform;
  const { devChain, authToken, secrets, stop } = await start(manifests, rpcUrl);
  let paymasters = 0;

  return {
    devChain,
    authToken,
    async paymaster(version, spec = {}, more = () => []) {
      const name = `tenant-${(paymasters += 1)}`;
      const { address, abi } = devChain.deployments.sponsoredContract;
      const documents = [
        manifest('Paymaster', name, {
          name,
          chainId: devChain.chainId,
          type: 'HYBRID',
          version,
          writeConnectionSecretToRef: { name },
          ...spec,
        }),
        manifest('SmartContract', `${name}-counter`, {
          paymasterRef: { name },
          name: 'counter',
          address,
          abi: typeof abi === 'string' ? abi : JSON.stringify(abi),
          whitelistedMethods: ['increment', 'burn'],
        }),
        ...more(name),
      ];
      // One file: both are there when the paymaster is first compiled, or it would be seen open for a moment.
      writeFileSync(
        join(manifests, `${name}.yaml`),
        documents.map((each) => JSON.stringify(each)).join('\n---\n'),
      );
      const secret = join(secrets, namespace, `${name}.json`);
      await until(`${name} has its key`, () => existsSync(secret));
      return (JSON.parse(readFileSync(secret, 'utf8')) as { data: { rpcUrl: string } }).data.rpcUrl;
    },
    async stop() {
      await stop();
      rmSync(manifests, { recursive: true, force: true });
    },
  };
}

/** The real command in a separate process. */
async function startStandalonePlatform(manifests: string, rpcUrl?: string): Promise<Platform> {
  const environment = {
    PAYMASTER_MANIFESTS: manifests,
    ...(rpcUrl === undefined ? {} : { CHAIN_RPC_URL: rpcUrl }),
  };
  const running = await startStandalone({ environment });
  const { chainRpcUrl, chainId, authToken } = running.connection();
  const devChain = attachDevChain(chainRpcUrl, chainId);
  return {
    devChain,
    authToken,
    secrets: join(running.dataDirectory, 'secrets'),
    async stop() {
      await devChain.stop();
      await stopStandalone(running);
      removeDataDirectory(running.dataDirectory);
    },
  };
}

/** An object in the tenants' namespace. */
export function manifest(kind: string, name: string, spec: object): object {
  return { apiVersion, kind, metadata: { name, namespace }, spec };
}
