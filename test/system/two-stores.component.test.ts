import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { createStops } from '../../adapters/process/stops.js';
import { loadSigners } from '../../adapters/signer/signers.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { createPostgresLedger, type StoredLedger } from '../../adapters/store/ledger/postgres-ledger.js';
import { createSqliteLedger } from '../../adapters/store/ledger/sqlite-ledger.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { silentLogger } from '../../core/log.js';
import type { DecisionView } from '../../core/ledger/query.js';
import type { Hex } from '../../core/units/hex.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { createServer } from '../../server/server.js';
import { aDirectory } from '../adapters/usage/sqlite-usage.js';
import { startReplicatedPlatform, type ReplicatedPlatform } from '../attacks/support/replicated-platform.js';
import { openEmbedded } from '../attacks/support/stores.js';
import { manifest } from '../attacks/support/world.js';
import { buildAccount, encodeWith, type Call, type TestAccount } from '../chain/support/account.js';
import { createChainClock } from '../chain/support/chain-clock.js';
import { sponsorSignerKey, startDevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { approval, mint } from '../chain/support/tokens.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { openStore } from '../adapters/usage/postgres-usage.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { rpc, toWire, unlessBusy } from './support/client.js';

// The same manifests and the same traffic at the same time on both stores: the embedded one, and three replicas on PostgreSQL. What one
// answers and remembers, the other does, too.

const version = '1.1.0';
const threshold = 5;
const counter = new Interface(['function increment()', 'function burn(uint256 rounds)']);
const stops = createStops();
/** Stands still while both are asked. */
const running = createChainClock();
let held: EpochMs | undefined;
const clock: Clock = { now: () => held ?? running.now() };

let platform: ReplicatedPlatform;
let urls: readonly [embedded: string, shared: string];
let usages: readonly UsageStore[];
let ledgers: readonly StoredLedger[];
beforeAll(async () => {
  const manifests = mkdtempSync(join(tmpdir(), 'two-stores-'));
  stops.add(() => rmSync(manifests, { recursive: true }));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const paymaster = join(manifests, 'paymaster.yaml');
  appendFileSync(paymaster, '  writeConnectionSecretToRef: { name: shop }\n');
  const limit = {
    scope: 'PAYMASTER',
    cycleDuration: { value: 30, unit: 'day' },
    threshold: String(threshold),
    thresholdType: 'COUNT',
  };
  writeFileSync(
    join(manifests, 'limit.yaml'),
    JSON.stringify(
      manifest('PaymasterPolicy', 'few', {
        paymasterRef: { name: 'shop' },
        name: 'few',
        policyType: 'PAYMASTER_SA_LIMIT',
        spendingLimit: limit,
      }),
    ),
  );
  const chain = await startDevChain();
  stops.add(() => chain.stop());
  // Replicas read the chain at different times. While it is ahead of their clock, what they sign does not depend on that.
  await chain.chain.request('evm_increaseTime', [60]);
  await chain.chain.request('evm_mine', []);
  platform = await startReplicatedPlatform(manifests, chain.url, { clock, isRecorded: true });
  stops.add(() => platform.stop());
  const { configs, chains, databaseUrl, secrets } = platform;

  const directory = aDirectory();
  stops.add(() => directory.remove());
  const db = openDatabase(`${directory.path}/store.db`, { durability: 'process', exclusive: true });
  stops.add(() => db.close());
  const { records, ...store } = openEmbedded(directory.path, { db, clock });
  stops.add(() => store.stop());
  const environment = { PAYMASTER_SIGNER_KEY_DEV: sponsorSignerKey };
  const server = createServer({
    ...store,
    roles: ['rpc'],
    configs,
    chains,
    signers: await loadSigners({ environment, log: silentLogger }),
    webhooks: { call: () => Promise.resolve([]), stop: () => Promise.resolve() },
    ledger: records,
    clock,
    log: silentLogger,
    metrics: createMetrics({ process: false }),
  });
  stops.add(() => server.stop());
  const { port } = await server.listen(0, '127.0.0.1');
  const secret = join(secrets, 'quickstart', 'shop.json');
  await until('the paymaster has its key', () => existsSync(secret));
  const shared = (JSON.parse(readFileSync(secret, 'utf8')) as { data: { rpcUrl: string } }).data.rpcUrl;
  urls = [`http://127.0.0.1:${port}${new URL(shared).pathname}`, shared];

  const observer = await openStore(databaseUrl, { clock });
  stops.add(() => observer.stop());
  usages = [store.usage, observer];
  ledgers = [
    await createSqliteLedger({ path: `${directory.path}/usage.db` }),
    createPostgresLedger({ address: parsePostgresUrl('url', databaseUrl), clock }),
  ];
  for (const ledger of ledgers) stops.add(() => ledger.stop());
});
afterAll(() => stops.run());

test('equal manifests and traffic get equal answers and equal ledgers on both stores', async () => {
  const { devChain } = platform;
  const { feeToken, sponsoredContract, treasury } = devChain.deployments;
  const profile = devChain.profile(version);
  const increment = { to: sponsoredContract.address, data: encodeWith(counter, 'increment', []) };
  const inTokens = { mode: 'ERC20', tokenInfo: { feeTokenAddress: feeToken.address } };
  /** Requests that were decided. */
  let recorded = 0;
  const chainId = `0x${devChain.chainId.toString(16)}`;
  const first = toWire(await buildUserOp(await anAccount(), [increment]));
  await until('every replica has read the chain', async () => {
    const [embedded, shared] = urls;
    const answers = await Promise.all(
      [embedded, shared, shared, shared].map((url) =>
        rpc(url, 'pm_getPaymasterStubData', [first, profile.entryPoint, chainId, { mode: 'SPONSORED' }]),
      ),
    );
    return answers.every(({ error }) => error === undefined);
  });

  for (let nth = 0; nth < threshold + 1; nth++) {
    const account = await anAccount();
    const signed = await sponsor(account, [increment]);
    // Every second one is mined; the others expire.
    if (signed !== undefined && nth % 2 === 0) await mine(signed, account);
    if (nth === 0) await sponsor(account, [increment], { expiryDuration: 86_401 });
  }
  await sponsor(await anAccount(), [{ ...increment, data: encodeWith(counter, 'burn', [1]) }]);
  await sponsor(await anAccount(), [{ to: treasury, data: '0x12345678' }]);
  await sponsor(await anAccount(), [increment], {}, { maxFeePerGas: 10n ** 16n });
  const payer = await anAccount();
  await mint(devChain, feeToken.address, payer.address, 10n ** 10n);
  const paid = await sponsor(payer, [approval(feeToken.address, profile, 10n ** 10n), increment], inTokens);
  if (paid === undefined) throw new Error('the payment was not signed');
  await mine(paid, payer);

  await running.pass(devChain, 3_600);
  await until('everything has ended on both', async () => {
    await devChain.chain.request('evm_mine', []);
    await running.keepUp(devChain);
    const live = await Promise.all(usages.map((usage) => usage.liveCount(devChain.chainId)));
    return live.every((count) => count === 0);
  });
  // Refusals are written a moment after they were answered.
  await until('everything is recorded on both', async () => {
    const found = await Promise.all(ledgers.map(readAll));
    return found.every(({ decisions }) => decisions.length === recorded);
  });
  for (const ledger of ledgers) while (await ledger.rollUp());

  const [embedded, shared] = await Promise.all(ledgers.map(readAll));
  expect(embedded).toEqual(shared);
  const verdicts = embedded!.decisions.map(({ decision }) => decision.reason ?? decision.verdict);
  expect(verdicts).toEqual(
    expect.arrayContaining([
      'sponsored',
      'CONTRACT_NOT_REGISTERED',
      'FEE_TOO_HIGH',
      'LIMIT_REACHED',
      'METHOD_NOT_WHITELISTED',
    ]),
  );
  // A month may have ended meanwhile.
  const sum = (name: 'sponsored' | 'mined' | 'expired'): number =>
    embedded!.usage.reduce((all, row) => all + row[name], 0);
  expect([sum('sponsored'), sum('mined'), sum('expired')]).toEqual([threshold + 1, 4, 2]);

  /** Asks both; they answer the same. What they signed, if they did. */
  async function sponsor(
    account: TestAccount,
    calls: readonly Call[],
    mode: object = {},
    limits: Partial<FinalUserOperation> = {},
  ) {
    const op = await buildUserOp(account, calls, limits);
    held = running.now();
    const asked = { mode: 'SPONSORED', calculateGasLimits: false, ...mode };
    const both = await Promise.all(
      urls.map(async (url) => {
        const { result, error, reason } = await unlessBusy(() =>
          rpc(url, 'pm_sponsorUserOperation', [toWire(op), asked]),
        );
        return {
          result: withoutIds(result),
          error: error && { ...error, data: withoutIds(error.data) },
          reason,
        };
      }),
    );
    held = undefined;
    expect(both[0]).toEqual(both[1]);
    if (both[0]?.result !== undefined) recorded += 1;
    const data = both[0]?.result?.['paymasterAndData'];
    return typeof data === 'string' && data !== '0x' ? { op, data: data as Hex } : undefined;
  }

  async function mine({ op, data }: { op: FinalUserOperation; data: Hex }, account: TestAccount) {
    await handleOp(devChain, profile.entryPointVersion, await signByAccount(account, op, data));
  }

  function anAccount(): Promise<TestAccount> {
    return buildAccount(devChain, profile.entryPointVersion);
  }
});

function withoutIds(of: Readonly<Record<string, unknown>> | undefined) {
  return of && Object.fromEntries(Object.entries(of).filter(([name]) => name !== 'requestId'));
}

const all = { organisation: 'quickstart', from: 0 as EpochMs, to: 4e12 as EpochMs };

/** Everything that a ledger says, without its ids and times. */
async function readAll(ledger: StoredLedger) {
  const { decisions } = await ledger.decisions({ ...all, limit: 500 });
  const usage = async (groupBy?: 'reason' | 'policy' | 'contract') => {
    const rows = await ledger.usage({
      ...all,
      paymasterId: undefined,
      step: 'month',
      groupBy,
      limit: 100,
    });
    return rows.map((row) => ({ ...row, from: 0, to: 0 }));
  };
  return {
    decisions: decisions.map(plain).toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
    usage: await usage(),
    byReason: await usage('reason'),
    byPolicy: await usage('policy'),
    byContract: await usage('contract'),
  };
}

function plain({ decision, settlement }: DecisionView) {
  return {
    decision: { ...decision, id: '', at: 0, requestId: '' },
    settlement: settlement && { ...settlement, at: 0 },
  };
}

const keyOf = ({ decision: { sender, nonce, verdict, reason } }: ReturnType<typeof plain>) =>
  [sender, nonce, verdict, reason].join('/');
