import { join } from 'node:path';
import type { Logger } from '../../core/log.js';
import { systemTimers } from '../../adapters/timers.js';
import type { StandaloneConfig } from '../config.js';
import type { Console } from '../console.js';
import { writePrivateFile, type DataDirectory } from '../data-directory.js';
import { devChainId, type RunningChain } from '../dev-chain.js';
import { PortInUse } from '../port-choice.js';
import { findRoot } from '../root.js';
import { findAlto, startBundler } from './bundler.js';

/** Where examples/quickstart finds its URL. */
export const devBundlersFile = 'dev-bundlers';

type BundlerBeside = {
  /** Waits until it listens, and puts it behind the JSON-RPC address. Undefined, and a warning on the terminal, when it does not start: everything else works without it. */
  url(): Promise<string | undefined>;
  stop(): Promise<void>;
};

/** BUNDLER=1 without what `make run BUNDLER=1` installs. */
export class BundlerMissing extends Error {}

/**
 * Starts the bundler of a dev chain while everything else starts; undefined when it is not wanted, not installed, or the chain is
 * not a dev chain, whose funded keys it uses. Throws BundlerMissing when it must run and is not installed.
 */
export function startBundlerBeside(deps: {
  readonly devChain: Pick<RunningChain, 'url' | 'chainId'>;
  readonly config: Pick<StandaloneConfig, 'bundler' | 'bundlerPort'>;
  readonly directory: Pick<DataDirectory, 'path' | 'urlDirectory'>;
  readonly log: Logger;
  readonly console: Console;
}): BundlerBeside | undefined {
  const { devChain, config, console } = deps;
  if (config.bundler === 'none') return undefined;
  if (devChain.chainId !== devChainId) {
    if (config.bundler === 'required')
      console.warn(`BUNDLER=1: no bundler is started for chain ${devChain.chainId}, only for a dev chain`);
    return undefined;
  }
  const script = findAlto(findRoot(import.meta.url));
  if (script === undefined) {
    if (config.bundler === 'required')
      throw new BundlerMissing('the bundler is not installed: "make run BUNDLER=1" installs it first');
    return undefined;
  }
  const bundler = startBundler({
    script,
    chainRpcUrl: devChain.url,
    port: config.bundlerPort,
    directory: deps.directory.path,
    timers: systemTimers,
    log: deps.log.child({ part: 'bundler' }),
    onRestart: () => console.warn('the bundler has ended by itself and is started again'),
  });
  return {
    async url() {
      const done = console.step('Starting the bundler');
      try {
        const url = await bundler.url;
        writePrivateFile(join(deps.directory.urlDirectory, devBundlersFile), `${url}\n`);
        done(url);
        return url;
      } catch (error) {
        done('failed');
        if (error instanceof PortInUse) throw error;
        console.warn(
          `${error instanceof Error ? error.message : String(error)}; everything else works without it`,
        );
        return undefined;
      }
    },
    stop: () => bundler.stop(),
  };
}
