import { mkdtempSync, copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { systemTimers, type Timers } from '../../../adapters/timers.js';
import { loadSigners, type LoadedSigners } from '../../../adapters/signer/signers.js';
import type { Environment } from '../../../adapters/signer/kind.js';
import type { ProfileConfig } from '../../../core/config/chain-config.js';
import { defaultMaxExpirySeconds } from '../../../core/config/caps.js';
import { silentLogger } from '../../../core/log.js';
import type { Chain } from '../../../core/resources/chain.js';
import type { ProfileSpec } from '../../../core/resources/profile.js';
import { apiVersion } from '../../../core/meta/meta.js';
import {
  startReplicatedPlatform,
  type ReplicatedPlatform,
} from '../../attacks/support/replicated-platform.js';
import { createChainClock, type ChainClock } from '../../chain/support/chain-clock.js';
import { sponsorSignerKey, type DevChain } from '../../chain/support/dev-chain.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { until } from '../../support/until.js';
import { freshUserOp, rpc } from './client.js';

/** Who has signing keys mounted: the operator, or a replica of the rpc role. */
export type Mounting = 'operator' | number;
export const replicas = [0, 1, 2] as const;
export const everybody: readonly Mounting[] = ['operator', ...replicas];

/** The key file that the dev chain begins with. */
export const firstKeyFile = 'dev';

/**
 * A platform on a real chain whose signing keys are rotated as docs/key-rotation.md says: the manifest of its Chain is edited, and every
 * process has its own key files, since a changed Secret reaches each at a different time.
 */
export type Rotation = Pick<ReplicatedPlatform, 'devChain' | 'configs' | 'databaseUrl' | 'stop'> & {
  readonly clock: ChainClock;
  /** JSON-RPC address of the paymaster of a version, at each replica. */
  urls(version: string): Promise<readonly string[]>;
  /** Edits the profiles of these versions. */
  editProfiles(versions: readonly string[], edit: (profile: ProfileSpec) => ProfileSpec): void;
  /** `text`: a private key, or what says where the key is. */
  mount(file: string, text: string, processes: readonly Mounting[]): Promise<void>;
  unmount(file: string): Promise<void>;
  /** Resolves when the served profile of a version is as expected. */
  serves(version: string, what: string, isAsWanted: (profile: ProfileConfig) => boolean): Promise<void>;
};

const patienceMs = 120_000;
/** The operator looks at the chain soon after each step, instead of every five seconds. */
const timers: Timers = { after: (ms, action) => systemTimers.after(Math.min(ms, 500), action) };
const namespace = 'quickstart';

/** `environment`: of every process, for clouds that hold keys. */
export async function startRotation(
  versions: readonly string[],
  environment: Environment = {},
): Promise<Rotation> {
  const scratch = mkdtempSync(join(tmpdir(), 'paymaster-rotation-'));
  const manifests = join(scratch, 'manifests');
  mkdirSync(manifests);
  for (const file of ['chain.yaml', 'organisation.yaml'])
    copyFileSync(join(repositoryRoot, 'examples/quickstart', file), join(manifests, file));
  for (const version of versions) writePaymaster(manifests, version);

  const mounted = new Map<Mounting, { readonly directory: string; readonly signers: LoadedSigners }>();
  for (const process of everybody) {
    const directory = join(scratch, `signers-${process}`);
    mkdirSync(directory);
    writeFileSync(join(directory, firstKeyFile), sponsorSignerKey, { mode: 0o600 });
    // A busy machine takes longer than callers of a service can wait.
    const limits = { deadlineMs: 60_000, calls: 100 };
    const signers = await loadSigners({ directory, environment, limits, log: silentLogger });
    mounted.set(process, { directory, signers });
  }
  const mountOf = (process: Mounting) => {
    const found = mounted.get(process);
    if (found === undefined) throw new Error(`no process is called ${process}`);
    return found;
  };
  const clock = createChainClock();
  const platform = await startReplicatedPlatform(manifests, undefined, {
    clock,
    timers,
    signersOf: (process) => Promise.resolve(mountOf(process).signers),
  });
  const { devChain, configs, databaseUrl, origins, secrets } = platform;
  await clock.keepUp(devChain);
  for (const version of versions) for (const url of await urls(version)) await signs(devChain, url);
  // What was signed to see that everything is there.
  await clock.pass(devChain, defaultMaxExpirySeconds);

  return {
    devChain,
    configs,
    databaseUrl,
    clock,
    urls,
    editProfiles(edited, edit) {
      const file = join(manifests, 'chain.yaml');
      const chain = parse(readFileSync(file, 'utf8')) as Chain;
      const profiles = chain.spec.profiles.map((profile) =>
        edited.includes(profile.version) ? edit(profile) : profile,
      );
      writeFileSync(file, stringify({ ...chain, spec: { ...chain.spec, profiles } }));
    },
    async mount(file, text, processes) {
      for (const process of processes) {
        const { directory, signers } = mountOf(process);
        writeFileSync(join(directory, file), text, { mode: 0o600 });
        await signers.reload();
      }
    },
    async unmount(file) {
      for (const { directory, signers } of mounted.values()) {
        rmSync(join(directory, file));
        await signers.reload();
      }
    },
    serves: (version, what, isAsWanted) =>
      until(
        `${version} is served ${what}`,
        async () => {
          const stored = await configs.getChain(devChain.chainId);
          const profile = stored?.config.profiles.find((each) => each.version === version);
          return profile !== undefined && isAsWanted(profile);
        },
        patienceMs,
      ),
    async stop() {
      await platform.stop();
      for (const { signers } of mounted.values()) signers.stop();
      rmSync(scratch, { recursive: true, force: true });
    },
  };

  async function urls(version: string): Promise<readonly string[]> {
    const file = join(secrets, namespace, `${nameOf(version)}.json`);
    let path: string | undefined;
    const isWritten = () => (path = pathIn(file)) !== undefined;
    await until(`${version} has its key`, isWritten, patienceMs);
    return origins.map((origin) => `${origin}${path}`);
  }
}

/** Resolves when a replica signs: it has read the configs, and the balances on the chain. */
async function signs({ deployments }: DevChain, url: string): Promise<void> {
  await until(
    'a replica signs',
    async () => {
      const params = [freshUserOp(deployments), { mode: 'SPONSORED' }];
      const { result } = await rpc(url, 'pm_sponsorUserOperation', params);
      return result !== undefined && result['paymasterAndData'] !== '0x';
    },
    patienceMs,
  );
}

function nameOf(version: string): string {
  return `shop-${version.replaceAll('.', '-')}`;
}

/** A paymaster that sponsors any contract: here it is about keys. */
function writePaymaster(manifests: string, version: string): void {
  const name = nameOf(version);
  const spec = { name, chainId: 31_337, type: 'HYBRID', version, writeConnectionSecretToRef: { name } };
  const paymaster = { apiVersion, kind: 'Paymaster', metadata: { name, namespace }, spec };
  writeFileSync(join(manifests, `${name}.yaml`), stringify(paymaster));
}

/** Path of the JSON-RPC address in a connection secret; undefined until it is written. */
function pathIn(file: string): string | undefined {
  try {
    const { data } = JSON.parse(readFileSync(file, 'utf8')) as { readonly data: { readonly rpcUrl: string } };
    return new URL(data.rpcUrl).pathname;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}
