import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from '@jest/globals';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { compareLedger, type LedgerComparison } from '../kube/support/ledger-comparison.js';
import { createLedgerFaults, type LedgerFaults } from '../kube/support/ledger-faults.js';
import { createCustomer, createLedgerTraffic, type LedgerTraffic } from '../kube/support/ledger-traffic.js';
import { repositoryRoot } from '../support/repository-root.js';
import { isSoak, soakSeconds } from '../support/soak-seconds.js';
import {
  newDataDirectory,
  removeDataDirectory,
  startStandalone,
  type RunningStandalone,
} from './support/standalone.js';

// The ledger in files equals the chain to the wei under kill -9: one beside a reorganisation. `make soak` goes on for ten minutes.

const version = '1.1.0';
/** More than one round of traffic mines, so that a reorganisation finds nothing settled, whichever process follows the chain. */
const confirmations = 16;
const soakMs = isSoak ? soakSeconds * 10_000 : 0;

const manifests = mkdtempSync(join(tmpdir(), 'manifests-'));
const dataDirectory = newDataDirectory();
let devChain: DevChain;
let running: RunningStandalone;
let traffic: LedgerTraffic;
let comparison: LedgerComparison;
let faults: LedgerFaults;
const done = { kills: 0, reorganisations: 0 };
beforeAll(async () => {
  devChain = await startDevChain();
  // The follower reads the chain as of a confirmed block, and the dev chain has no states of the blocks that it begins with.
  await devChain.chain.request('anvil_mine', [`0x${confirmations.toString(16)}`]);
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const chain = join(manifests, 'chain.yaml');
  const text = readFileSync(chain, 'utf8');
  writeFileSync(chain, text.replace('confirmations: 0', `confirmations: ${confirmations}`));
  await start();
  const access = running.connection();
  const customers = await Promise.all([
    createCustomer(access, 'first', version),
    createCustomer(access, 'second', version),
  ]);
  traffic = await createLedgerTraffic(devChain, version, { replicas: [access.dashboardUrl], customers });
  faults = createLedgerFaults(devChain, traffic, confirmations);
  comparison = compareLedger({ access, devChain, version, customers, traffic });
});
afterAll(async () => {
  running?.signal('SIGKILL');
  await running?.ended;
  await devChain?.stop();
  removeDataDirectory(dataDirectory);
  rmSync(manifests, { recursive: true, force: true });
});

test(
  'every signature has one decision and every mined operation one settlement that costs what the chain says',
  async () => {
    const begun = performance.now();
    do {
      if (isSoak) await faults.during(kill);
      await Promise.all([faults.reorganise(), kill()]);
      done.reorganisations += 1;
    } while (performance.now() - begun < soakMs);

    await comparison.drain(faults.confirmAll);
    const compared = await comparison.expectEqual();
    const seconds = Math.round((performance.now() - begun) / 1000);
    console.info(JSON.stringify({ seconds, ...done, ...compared, failures: [...traffic.failures] }));
  },
  soakMs + 590_000,
);

async function start(): Promise<void> {
  const environment = { CHAIN_RPC_URL: devChain.url, PAYMASTER_MANIFESTS: manifests };
  const port = running === undefined ? {} : { port: running.port };
  running = await startStandalone({ dataDirectory, environment, ...port });
}

async function kill(): Promise<void> {
  running.signal('SIGKILL');
  await running.ended;
  done.kills += 1;
  await start();
}
