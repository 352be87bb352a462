import { afterAll, beforeAll, test } from '@jest/globals';
import type { ManagedProcess } from '../support/cluster/managed-process.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { isSoak, soakSeconds } from '../support/soak-seconds.js';
import { succeeds, until } from '../support/until.js';
import { attachDevChain } from '../system/support/dev-chain.js';
import { startInstallation, type Installation } from './support/installation.js';
import { compareLedger, type LedgerComparison } from './support/ledger-comparison.js';
import { createLedgerFaults, type LedgerFaults } from './support/ledger-faults.js';
import { createCustomer, createLedgerTraffic, type LedgerTraffic } from './support/ledger-traffic.js';

// The ledger of an installation equals the chain to the wei, whatever is killed meanwhile. `make soak` goes on for half an hour.

const version = 'singleton-0.7';
/** More than one round of traffic mines, so that a reorganisation finds nothing settled, whichever process follows the chain. */
const confirmations = 16;
const soakMs = isSoak ? soakSeconds * 30_000 : 0;

let installation: Installation;
let devChain: DevChain;
let traffic: LedgerTraffic;
let comparison: LedgerComparison;
let faults: LedgerFaults;
const done = {
  rounds: 0,
  kills: 0,
  crashesOfPostgres: 0,
  reorganisations: 0,
};
beforeAll(async () => {
  installation = await startInstallation();
  const { connection, replicas } = installation;
  await confirm(installation);
  devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
  const customers = await Promise.all([
    createCustomer(connection, 'first', version),
    createCustomer(connection, 'second', version),
  ]);
  const origins = replicas.map(({ origin }) => origin);
  traffic = await createLedgerTraffic(devChain, version, { replicas: origins, customers });
  faults = createLedgerFaults(devChain, traffic, confirmations);
  comparison = compareLedger({ access: connection, devChain, version, customers, traffic });
}, 600_000);
afterAll(async () => {
  await devChain?.stop();
  await installation?.cluster.stop();
});

test(
  'every signature has one decision and every mined operation one settlement that costs what the chain says',
  async () => {
    const [first, ...others] = installation.replicas;
    const begun = performance.now();
    do {
      await faults.during(() => killAndRestart([first!]));
      await faults.during(crashPostgres);
      await faults.during(() => killAndRestart(others));
      // The process that follows the chain now may miss the reorganisation.
      await Promise.all([faults.reorganise(), killAndRestart([others[done.rounds % 2]!])]);
      done.reorganisations += 1;
      await faults.during(crashPostgres);
      done.rounds += 1;
    } while (performance.now() - begun < soakMs);

    await comparison.drain(faults.confirmAll);
    const compared = await comparison.expectEqual();
    const seconds = Math.round((performance.now() - begun) / 1000);
    console.info(JSON.stringify({ seconds, ...done, ...compared, failures: [...traffic.failures] }));
  },
  soakMs + 590_000,
);

async function killAndRestart(
  processes: readonly Pick<ManagedProcess, 'signal' | 'ended' | 'restart'>[],
): Promise<void> {
  done.kills += processes.length;
  await Promise.all(
    processes.map(async (each) => {
      each.signal('SIGKILL');
      await each.ended();
      await each.restart();
    }),
  );
}

async function crashPostgres(): Promise<void> {
  const { process } = installation.cluster.postgres;
  done.crashesOfPostgres += 1;
  process.signal('SIGKILL');
  await process.ended();
  // Until its last process has ended, it does not start again.
  await until('PostgreSQL starts again', () => succeeds(process.restart()));
}

/** Every replica has it from its restart on, at the latest. */
async function confirm({ cluster, connection: { chainId } }: Installation): Promise<void> {
  const [chain] = cluster.plane.kubectl(['get', 'chains', '-A', '-o', 'name']).trim().split('\n');
  cluster.plane.kubectl(['patch', chain!, '--type=merge', '-p', JSON.stringify({ spec: { confirmations } })]);
  await until(
    'the chain is compiled',
    async () => (await cluster.configs.getChain(chainId))?.config.confirmations === confirmations,
  );
}
