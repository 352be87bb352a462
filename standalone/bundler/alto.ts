import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { entryPoints } from '../../core/entry-point/address.js';
import { devAccounts } from '../dev-chain/dev-accounts.js';

/** The script that starts alto, as hack/bundler/install.sh installs it; undefined when it has not. */
export function findAlto(root: string): string | undefined {
  const folder = join(root, 'hack/bundler/node_modules');
  const script = join(folder, '@pimlico/alto/esm/cli/alto.js');
  return existsSync(join(folder, '.installed')) && existsSync(script) ? script : undefined;
}

/**
 * Starts alto for the EntryPoints of a dev chain, on all interfaces (it offers no other choice) and on `port`; 0 for a free one. It
 * writes JSON lines to its standard output. At its start it deploys its contracts to the chain, for estimates.
 */
export function spawnAlto(
  script: string,
  at: { readonly chainRpcUrl: string; readonly port: number; readonly directory: string },
): ChildProcess {
  const options = {
    'rpc-url': at.chainRpcUrl,
    port: String(at.port),
    entrypoints: Object.values(entryPoints).join(','),
    'executor-private-keys': devAccounts.bundler.privateKey,
    'utility-private-key': devAccounts.bundlerUtility.privateKey,
    'min-executor-balance': '1000000000000000000',
    // Its safe mode, with the rules of ERC-7562, needs a tracer that anvil lacks.
    'safe-mode': 'false',
    'api-version': 'v1,v2',
    // A dev chain mines a block for every transaction: nothing is gained by waiting, or by collecting operations.
    'block-time': '100',
    'max-bundle-interval': '100',
    // Otherwise it bids what the operations pay. anvil then suggests that tip, of which viem offers the double, so that fees would
    // double with every operation until they are above their cap.
    'bundler-initial-commission': '100',
    'enable-cors': 'true',
    json: 'true',
    'log-level': 'warn',
    // For one line, which says where it listens.
    'rpc-log-level': 'info',
  };
  const values = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return spawn(process.execPath, ['--no-warnings', script, 'run', ...values], {
    // alto reads a file .env of its folder, and variables ALTO_…: neither is meant for it here.
    cwd: at.directory,
    env: { OTEL_SDK_DISABLED: 'true' },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal reaches only us; alto ends before the chain that it uses.
    detached: true,
  });
}
