import { createChains } from '../adapters/chain/chains.js';
import type { Chain } from '../core/chain/chain.js';
import { DomainError } from '../core/errors.js';
import type { Logger } from '../core/log.js';
import { noMetrics } from '../core/metrics.js';
import { systemClock } from '../core/units/time.js';
import { join } from 'node:path';
import type { StandaloneConfig } from './config.js';
import type { Console } from './console.js';
import { writePrivateFile, type DataDirectory } from './data-directory.js';
import { startAnvil } from './dev-chain/anvil.js';
import { deployDevChain } from './dev-chain/deployments.js';
import { devAccounts } from './dev-chain/dev-accounts.js';

/** The chain that this instance works on. */
export type RunningChain = {
  readonly url: string;
  /** As the node says. */
  readonly chainId: number;
  /** True when anvil was started here, false for CHAIN_RPC_URL. */
  readonly isLocal: boolean;
  /** True for a chain that was started here and continues no earlier one. */
  readonly isFresh: boolean;
  /** Resolves with what happened when a local chain ended by itself. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
};

/** Name under which examples/quickstart finds the URL and the signing key. */
const quickstartFile = 'dev';
const devChainId = 31337;

/**
 * Starts anvil, or takes the chain of CHAIN_RPC_URL, and makes it complete when it is a dev chain (id 31337): every
 * contract that is missing is deployed, at the same addresses each time. Another chain is left as it is: its Chain
 * resource, contracts and signing keys are the user's.
 */
export async function startDevChain(deps: {
  readonly config: Pick<StandaloneConfig, 'chainRpcUrl'>;
  readonly directory: Pick<DataDirectory, 'urlDirectory' | 'signerDirectory' | 'chainStateFile'>;
  readonly log: Logger;
  readonly console: Console;
}): Promise<RunningChain> {
  const { config, directory, console } = deps;
  const log = deps.log.child({ part: 'dev-chain' });
  const found = config.chainRpcUrl === undefined ? await startLocal(deps) : reachRemote(config.chainRpcUrl);
  try {
    writePrivateFile(join(directory.urlDirectory, quickstartFile), `${found.url}\n`);
    const chainId = await readChainId(found, log);
    const chain = { ...found, chainId };
    // Its file may be older than what the usage store has settled. A block of now, at a lower height, proves that.
    if (found.isLocal && !found.isFresh) await asking(found, log, (node) => node.request('evm_mine', []));
    if (chainId !== devChainId) {
      console.line(
        `  Chain ${chainId}: nothing is deployed there; its contracts and keys are those of your manifests`,
      );
      return chain;
    }
    // A public key of a public mnemonic: it signs for contracts that exist on dev chains only.
    writePrivateFile(join(directory.signerDirectory, quickstartFile), `${devAccounts.signer.privateKey}\n`);
    const done = console.step('Deploying EntryPoints and paymaster contracts');
    let steps = 0;
    await deployDevChain({
      rpcUrl: chain.url,
      signerAddress: devAccounts.signer.address,
      log,
      progress: () => {
        steps += 1;
      },
    });
    done(steps === 0 ? 'all there already' : `${steps} deployed`);
    return chain;
  } catch (error) {
    await found.stop();
    throw error;
  }
}

async function startLocal({
  directory,
  log,
  console,
}: Parameters<typeof startDevChain>[0]): Promise<FoundChain> {
  const done = console.step('Starting anvil');
  const anvil = await startAnvil({ log, stateFile: directory.chainStateFile, chainId: devChainId });
  done(anvil.url);
  let isStopping = false;
  const { promise: failed, resolve: fail } = Promise.withResolvers<string>();
  anvil.exited.then(
    () => isStopping || fail('the dev chain (anvil) has ended: start again with make run'),
    () => fail('the dev chain (anvil) has failed: start again with make run'),
  );
  return {
    url: anvil.url,
    isLocal: true,
    isFresh: anvil.isFresh,
    failed,
    stop() {
      isStopping = true;
      return anvil.stop();
    },
  };
}

/** Before it was asked which chain it is. */
type FoundChain = Omit<RunningChain, 'chainId'>;

function reachRemote(url: string): FoundChain {
  return {
    url,
    isLocal: false,
    isFresh: false,
    failed: new Promise(() => {}),
    stop: () => Promise.resolve(),
  };
}

/** Throws UNAVAILABLE that names the setting, where the chain is the user's. */
async function readChainId(found: FoundChain, log: Logger): Promise<number> {
  try {
    return await asking(found, log, (node) => node.chainId());
  } catch (cause) {
    if (found.isLocal) throw cause;
    // The host only: the rest of the address may be a key.
    const message = `the chain of CHAIN_RPC_URL, ${new URL(found.url).host}, does not answer eth_chainId: start it, or leave CHAIN_RPC_URL unset`;
    throw new DomainError('UNAVAILABLE', message, { cause });
  }
}

async function asking<T>({ url }: FoundChain, log: Logger, ask: (node: Chain) => Promise<T>): Promise<T> {
  const chains = createChains({ log, clock: systemClock, metrics: noMetrics, timeoutMs: 5_000 });
  try {
    return await ask(chains.get({ chainId: 0, rpc: { urls: [url] } }));
  } finally {
    await chains.stop();
  }
}
