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
  /** As the node reports it. */
  readonly chainId: number;
  /** True when anvil was started here, false for CHAIN_RPC_URL. */
  readonly isLocal: boolean;
  /** True for a chain that was started here and does not continue an earlier one. */
  readonly isFresh: boolean;
  /** Resolves when a local chain has ended by itself, with what happened. */
  readonly failed: Promise<string>;
  stop(): Promise<void>;
};

/** Name under which examples/quickstart finds the URL and the signing key. */
const quickstartFile = 'dev';
export const devChainId = 31337;

/**
 * Starts anvil, or uses the chain of CHAIN_RPC_URL. If it is a dev chain (id 31337), deploys every missing contract, at the
 * same addresses each time. Any other chain is not changed: its Chain resource, contracts and signing keys are up to the
 * user.
 */
export async function startDevChain(deps: {
  readonly config: Pick<StandaloneConfig, 'chainRpcUrl' | 'chainPort'>;
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
    // The chain's file may be older than the usage store's last settled block. A new block at a lower height proves that.
    if (found.isLocal && !found.isFresh) await asking(found, log, (node) => node.request('evm_mine', []));
    if (chainId !== devChainId) {
      console.line(
        `  Chain ${chainId}: nothing is deployed there; its contracts and keys are those of your manifests`,
      );
      return chain;
    }
    // This key of a public mnemonic is known to everybody: it signs only for contracts on dev chains.
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

async function startLocal(deps: Parameters<typeof startDevChain>[0]): Promise<ReachedChain> {
  const { config, directory, log, console } = deps;
  const done = console.step('Starting anvil');
  const anvil = await startAnvil({
    log,
    stateFile: directory.chainStateFile,
    chainId: devChainId,
    port: config.chainPort,
  }).catch((error: unknown) => {
    done('failed');
    throw error;
  });
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

/** A chain before it was asked for its id. */
type ReachedChain = Omit<RunningChain, 'chainId'>;

function reachRemote(url: string): ReachedChain {
  return {
    url,
    isLocal: false,
    isFresh: false,
    failed: new Promise(() => {}),
    stop: () => Promise.resolve(),
  };
}

/** Throws UNAVAILABLE; for the user's chain the message names the setting. */
async function readChainId(found: ReachedChain, log: Logger): Promise<number> {
  try {
    return await asking(found, log, (node) => node.chainId());
  } catch (cause) {
    if (found.isLocal) throw cause;
    // The host only: the rest of the address may be a key.
    const message = `the chain of CHAIN_RPC_URL, ${new URL(found.url).host}, does not answer eth_chainId: start it, or leave CHAIN_RPC_URL unset`;
    throw new DomainError('UNAVAILABLE', message, { cause });
  }
}

async function asking<T>({ url }: ReachedChain, log: Logger, ask: (node: Chain) => Promise<T>): Promise<T> {
  const chains = createChains({ log, clock: systemClock, metrics: noMetrics, timeoutMs: 5_000 });
  try {
    return await ask(chains.get({ chainId: 0, rpc: { urls: [url] } }));
  } finally {
    await chains.stop();
  }
}
