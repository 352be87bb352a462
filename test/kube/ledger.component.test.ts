import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { decodeUserOperationEvent } from '../../core/entry-point/user-operation-event.js';
import type { ManagedProcess } from '../../standalone/cluster/managed-process.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { startPostgres, type PostgresServer } from '../support/postgres.js';
import { isSoak, soakSeconds } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { dashboard } from '../system/support/client.js';
import { attachDevChain } from '../system/support/dev-chain.js';
import { startInstallation, supervise, type Installation } from './support/installation.js';
import { readDecisions, readUsage, type DecisionRow } from './support/ledger-answers.js';
import { startLedger } from './support/ledger-process.js';
import { createLedgerTraffic, type Customer, type LedgerTraffic } from './support/ledger-traffic.js';

// The ledger of an installation equals the chain to the wei, whatever is killed meanwhile. `make soak` goes on for half an hour.

const version = 'singleton-0.7';
/** More than one round of traffic mines, so that a reorganisation finds nothing settled whoever follows the chain. */
const confirmations = 16;
const soakMs = isSoak ? soakSeconds * 30_000 : 0;

let postgres: PostgresServer;
let installation: Installation;
let stopSupervising: (() => void) | undefined;
let ledgers: readonly ManagedProcess[] = [];
let devChain: DevChain;
let customers: readonly [Customer, Customer];
let traffic: LedgerTraffic;
beforeAll(async () => {
  postgres = await startPostgres();
  const url = await postgres.createDatabase();
  installation = await startInstallation({
    rpc: { PAYMASTER_LEDGER: 'on' },
    dashboard: { PAYMASTER_LEDGER_URL: url },
  });
  stopSupervising = supervise(installation);
  const { cluster, connection, replicas } = installation;
  ledgers = await Promise.all([0, 1].map((index) => startLedger(cluster, url, index)));
  await confirm(installation);
  devChain = attachDevChain(connection.chainRpcUrl, connection.chainId);
  customers = await Promise.all([createPaymaster('first'), createPaymaster('second')]);
  traffic = await createLedgerTraffic(devChain, version, { replicas, customers });
}, 300_000);
afterAll(async () => {
  stopSupervising?.();
  await devChain?.stop();
  await Promise.all(ledgers.map((ledger) => ledger.stop()));
  await installation?.cluster.stop();
  await postgres?.stop();
}, 240_000);

test(
  'every signature has one decision and every mined operation one settlement that costs what the chain says',
  async () => {
    const [first, ...others] = installation.replicas;
    const [firstLedger, secondLedger] = ledgers;
    const { redis } = installation.cluster;
    const begun = performance.now();
    do {
      await during(() => killAndRestart([first!, firstLedger!]));
      await postgres.kill();
      await traffic.round();
      await during(() => postgres.start());
      await during(() => killAndRestart([...others, secondLedger!]));
      await reorganise();
      await during(() => killAndRestart([redis.process]));
    } while (performance.now() - begun < soakMs);

    await drain();
    const compared = [await expectChain(customers[0]), await expectChain(customers[1])];
    const mined = (await minedOperations()).size;
    expect(compared.reduce((sum, { minedHere }) => sum + minedHere, 0)).toBe(mined);
    console.info(
      JSON.stringify({
        seconds: Math.round((performance.now() - begun) / 1000),
        compared,
        failures: [...traffic.failures],
      }),
    );
  },
  soakMs + 590_000,
);

/** Traffic while something happens, and one round at least. */
async function during(fault: () => Promise<void>): Promise<void> {
  let isOver = false;
  const running = fault().finally(() => {
    isOver = true;
  });
  try {
    do {
      await traffic.round();
      await confirmAll();
    } while (!isOver);
  } finally {
    await running;
  }
}

async function confirmAll(): Promise<void> {
  await devChain.chain.request('anvil_mine', [`0x${confirmations.toString(16)}`]);
}

async function killAndRestart(processes: readonly ManagedProcess[]): Promise<void> {
  await Promise.all(
    processes.map(async (each) => {
      each.signal('SIGKILL');
      await each.ended();
      await each.restart();
    }),
  );
}

/** The chain forgets blocks that are not confirmed yet: some of their operations are mined again, some replaced, some stay out. */
async function reorganise(): Promise<void> {
  const snapshot = await devChain.chain.request('evm_snapshot', []);
  const ops = await traffic.signAll();
  for (const op of ops) await traffic.mine(op);
  await devChain.chain.request('evm_revert', [snapshot]);
  for (const [index, op] of ops.entries())
    if (index % 3 === 0) await traffic.mine(op);
    else if (index % 3 === 1) await traffic.replace(op);
}

/** Ends every promise, and waits until the ledger knows all of them and how they ended. */
async function drain(): Promise<void> {
  await devChain.chain.request('evm_increaseTime', [86_400]);
  let waiting = '';
  await until(
    () => `the ledger has everything: ${waiting}`,
    async () => {
      await confirmAll();
      const rows = await allRows();
      const known = new Set(rows.map(({ callerRequestId }) => callerRequestId));
      const missing = traffic.answered.filter(({ requestId }) => !known.has(requestId)).length;
      const open = rows.filter(({ settlement }) => settlement === null).length;
      waiting = `${missing} signatures without a decision, ${open} decisions without an end`;
      return missing + open === 0;
    },
    200_000,
    250,
  );
}

type MinedOperation = {
  readonly transactionHash: string;
  readonly success: boolean;
  readonly actualGasCost: bigint;
};

/** What the chain says about operations that the contract paid for, by userOpHash. */
async function minedOperations(): Promise<ReadonlyMap<string, MinedOperation>> {
  const { sponsorship, entryPoint } = devChain.profile(version);
  const head = await devChain.chain.block('latest');
  const logs = await devChain.chain.logs({ address: entryPoint, fromBlock: 0, toBlock: head!.number });
  return new Map(
    logs.flatMap((log) => {
      const event = decodeUserOperationEvent(log);
      if (event === undefined || event.paymaster !== sponsorship.toLowerCase()) return [];
      const { userOpHash, success, actualGasCost } = event;
      return [[userOpHash, { transactionHash: log.transactionHash, success, actualGasCost }] as const];
    }),
  );
}

async function expectChain(customer: Customer) {
  const rows = await readDecisions(installation.connection, customer.paymasterId);
  const answered = traffic.answered.filter((each) => each.customer === customer);
  const ofRequest = Map.groupBy(rows, ({ callerRequestId }) => callerRequestId);
  expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length);
  // Requests that lost their answer may have one too; nothing else does.
  expect([...ofRequest.values()].filter(({ length }) => length !== 1)).toEqual([]);
  expect([...ofRequest.keys()].filter((id) => !traffic.requestIds.has(id))).toEqual([]);
  expect(answered.filter(({ requestId }) => !ofRequest.has(requestId))).toEqual([]);

  const chain = await minedOperations();
  const own = [...new Set(answered.map(({ userOpHash }) => userOpHash))].filter((hash) => chain.has(hash));
  const settled = rows.filter(({ settlement }) => settlement?.outcome === 'mined');
  expect(settled.map(settlementOf).toSorted(byHash)).toEqual(
    own.map((userOpHash) => ({ userOpHash, ...chain.get(userOpHash)! })).toSorted(byHash),
  );

  const spentWei = own.reduce((sum, hash) => sum + chain.get(hash)!.actualGasCost, 0n);
  const reverted = own.filter((hash) => !chain.get(hash)!.success).length;
  expect(await readUsage(installation.connection, customer.paymasterId)).toEqual({
    sponsored: rows.length,
    mined: own.length,
    reverted,
    expired: rows.length - own.length,
    spentWei,
  });
  return {
    answered: answered.length,
    decisions: rows.length,
    minedHere: own.length,
    reverted,
    spentElsewhere: rows.filter(({ settlement }) => settlement?.outcome === 'spent-elsewhere').length,
    spentWei: String(spentWei),
  };
}

function settlementOf({ userOpHash, settlement }: DecisionRow) {
  const { transactionHash, success, actualGasCostWei } = settlement!;
  return { userOpHash, transactionHash, success, actualGasCost: BigInt(actualGasCostWei) };
}

function byHash(
  a: { readonly userOpHash: string | null },
  b: { readonly userOpHash: string | null },
): number {
  return String(a.userOpHash) < String(b.userOpHash) ? -1 : 1;
}

async function allRows(): Promise<readonly DecisionRow[]> {
  const lists = await Promise.all(
    customers.map(({ paymasterId }) => readDecisions(installation.connection, paymasterId)),
  );
  return lists.flat();
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

async function createPaymaster(name: string): Promise<Customer> {
  const { connection } = installation;
  const created = await dashboard(connection, 'POST', '/paymaster', {
    body: { name, type: 'HYBRID', chainId: connection.chainId, version },
  });
  expect(created.status).toBe(200);
  const { paymasterId, apiKey } = created.body.data as { paymasterId: string; apiKey: string };
  return { paymasterId, path: `/api/v1/${connection.chainId}/${apiKey}` };
}
