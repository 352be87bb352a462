import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apiVersion } from '../../../core/resources/meta.js';
import type { ChainSpec } from '../../../core/resources/chain.js';
import type { PaymasterSpec } from '../../../core/resources/paymaster.js';
import type { DevChain } from '../../chain/support/dev-chain.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';
import { attachDevChain } from '../../system/support/dev-chain.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from '../../system/support/standalone.js';

/** The service with its dev chain, a platform that configures the Chain, and tenants who write YAML in their namespace. */
export type World = {
  readonly running: RunningStandalone;
  readonly devChain: DevChain;
  /** Writes a Paymaster, with the counter and its methods as what is sponsored; resolves with its JSON-RPC address. */
  paymaster(version: string, spec?: Partial<PaymasterSpec>): Promise<string>;
  stop(): Promise<void>;
};

const namespace = 'quickstart';

/** `chain`: what the platform adds to the Chain of the dev chain. `environment`: of the service, besides its manifests. */
export async function startWorld(
  chain: Partial<Pick<ChainSpec, 'accountFactories' | 'gas' | 'maxExpirySeconds' | 'rateLimit'>> = {},
  environment: Readonly<Record<string, string>> = {},
): Promise<World> {
  const manifests = mkdtempSync(join(tmpdir(), 'paymaster-attack-'));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const chainFile = join(manifests, 'chain.yaml');
  const added = Object.entries(chain).map(([name, value]) => `  ${name}: ${JSON.stringify(value)}\n`);
  writeFileSync(chainFile, `${readFileSync(chainFile, 'utf8')}${added.join('')}`);
  const running = await startStandalone({ environment: { ...environment, PAYMASTER_MANIFESTS: manifests } });
  const { chainRpcUrl, chainId } = running.connection();
  const devChain = attachDevChain(chainRpcUrl, chainId);
  let paymasters = 0;

  return {
    running,
    devChain,
    async paymaster(version, spec = {}) {
      const name = `tenant-${(paymasters += 1)}`;
      const { address, abi } = devChain.deployments.sponsoredContract;
      const documents = [
        manifest('Paymaster', name, {
          name,
          chainId,
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
      ];
      // One file: both are there when the paymaster is first compiled, or it would be seen open for a moment.
      writeFileSync(
        join(manifests, `${name}.yaml`),
        documents.map((each) => JSON.stringify(each)).join('\n---\n'),
      );
      const secret = join(running.dataDirectory, 'secrets', namespace, `${name}.json`);
      await until(`${name} has its key`, () => existsSync(secret), 30_000);
      return (JSON.parse(readFileSync(secret, 'utf8')) as { data: { rpcUrl: string } }).data.rpcUrl;
    },
    async stop() {
      await devChain.stop();
      await stopStandalone(running);
      removeDataDirectory(running.dataDirectory);
      rmSync(manifests, { recursive: true, force: true });
    },
  };
}

function manifest(kind: string, name: string, spec: object): object {
  return { apiVersion, kind, metadata: { name, namespace }, spec };
}
