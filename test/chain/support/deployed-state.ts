import { createHash, randomUUID } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createChains } from '../../../adapters/chain/chains.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { Address } from '../../../core/units/address.js';
import { systemClock } from '../../../core/units/time.js';
import { findAnvil, startAnvil } from '../../../standalone/dev-chain/anvil.js';
import { devAccounts } from '../../../standalone/dev-chain/dev-accounts.js';
import { deployDevChain } from '../../../standalone/dev-chain/deployments.js';
import { paymasterContracts } from '../../../standalone/dev-chain/paymaster-contracts.js';
import { repositoryRoot } from '../../support/repository-root.js';

export const devChainId = 31_337;
/** Its price feeds are stale after a day. */
const maxAgeMs = 12 * 3_600_000;
const folder = join(repositoryRoot, 'node_modules', '.cache', 'paymaster-dev-chain');
/** Nothing that is hashed changes while a process of tests runs. */
const hashes = new Map<Address, string>();

/**
 * File with the state of a new dev chain on which everything is deployed. The first caller deploys; later ones, in other processes and
 * runs too, find the file. Starting a chain from it takes a tenth of the processor time.
 */
export async function deployedState(signer: Address): Promise<string> {
  let hash = hashes.get(signer);
  if (hash === undefined) hashes.set(signer, (hash = hashOfDeployment(signer)));
  const file = join(folder, `${hash}.json`);
  if (!existsSync(file) || Date.now() - statSync(file).mtimeMs > maxAgeMs) await writeState(file, signer);
  return file;
}

/** Puts that state into the file from which `make run` and a cluster continue their chain. */
export async function putDeployedState(stateFile: string): Promise<void> {
  copyFileSync(await deployedState(devAccounts.signer.address), stateFile);
}

async function writeState(file: string, signer: Address): Promise<void> {
  const anvil = await startAnvil({ log: silentLogger, chainId: devChainId });
  const chains = createChains({
    log: silentLogger,
    clock: systemClock,
    metrics: noMetrics,
    timeoutMs: 60_000,
  });
  try {
    await deployDevChain({ rpcUrl: anvil.url, signerAddress: signer, log: silentLogger });
    const chain = chains.get({ chainId: devChainId, rpc: { urls: [anvil.url] } });
    const dumped = String(await chain.request('anvil_dumpState', [false]));
    // Renamed when it is whole: two workers may write it at the same time.
    mkdirSync(folder, { recursive: true });
    const part = `${file}.${randomUUID()}`;
    writeFileSync(part, gunzipSync(Buffer.from(dumped.slice(2), 'hex')));
    renameSync(part, file);
  } finally {
    await chains.stop();
    await anvil.stop();
  }
}

/** Of all that decides what is on the chain: the contracts, the code that deploys them, the packages it reads, and anvil. */
function hashOfDeployment(signer: Address): string {
  const hash = createHash('sha256');
  hash.update(JSON.stringify(paymasterContracts(signer, devAccounts.deployer.address)));
  for (const part of ['contracts/artifacts', 'dist/standalone/dev-chain', 'package-lock.json'])
    for (const file of filesOf(join(repositoryRoot, part))) hash.update(file).update(readFileSync(file));
  hash.update(readFileSync(join(dirname(findAnvil()), '..', 'package.json')));
  return hash.digest('hex').slice(0, 32);
}

function filesOf(path: string): readonly string[] {
  if (path.endsWith('.json')) return [path];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(js|json)$/.test(name))
    .toSorted()
    .map((name) => join(path, name));
}
