import type { Command } from 'commander';
import { createChains } from '../adapters/chain/chains.js';
import type { Chain } from '../core/chain/chain.js';
import { invalidInput } from '../core/errors.js';
import { silentLogger } from '../core/log.js';
import { noMetrics } from '../core/metrics.js';
import { systemClock } from '../core/units/time.js';
import { readInput, type Terminal } from './terminal.js';

const variable = 'PAYMASTER_RPC_URL';
const timeoutMs = 10_000;

export type RpcOptions = { readonly rpcFile?: string };

/** The URL is not an argument: it often holds a key, and everybody on the machine can see arguments. */
export function withRpc(command: Command): Command {
  return command.option('--rpc-file <file>', `file with the URL of the chain's node; default: ${variable}`);
}

/** Runs `use` with the node of the options. The chain's id is for messages: what the node says is compared where it matters. */
export async function withChain<T>(
  terminal: Terminal,
  { rpcFile }: RpcOptions,
  chainId: number,
  use: (chain: Chain) => Promise<T>,
): Promise<T> {
  const urls = rpcFile === undefined ? [terminal.env[variable] ?? ''] : readLines(rpcFile);
  if (urls.length === 0 || !urls.every((url) => /^https?:\/\//.test(url)))
    throw invalidInput({ field: rpcFile ?? `${variable} (or --rpc-file)`, expected: 'an http or https URL' });
  const chains = createChains({ log: silentLogger, clock: systemClock, metrics: noMetrics, timeoutMs });
  try {
    return await use(chains.get({ chainId, rpc: { urls } }));
  } finally {
    await chains.stop();
  }
}

function readLines(file: string): readonly string[] {
  const lines = readInput(file).split('\n');
  return lines.map((line) => line.trim()).filter((line) => line !== '' && !line.startsWith('#'));
}
