import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import type { ProfileConfig } from '../../../core/config/chain-config.js';
import { DomainError } from '../../../core/errors.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryReports, type Reports, type TokenLossReport } from '../../../core/reports/reports.js';
import { lossCharges } from '../../../core/usage/token-losses.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { createLossReporter, type LossReporter } from '../../../server/follower/loss-reporter.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { aChainConfig, addressOf } from '../../build/configs.js';
import { aTokenProfile } from '../../build/fee-tokens.js';
import { aHash, chainId, hourMs, seconds, sender, startMs } from '../../conformance/usage-requests.js';
import { until } from '../../support/until.js';
import { aClock } from '../../adapters/usage/clock.js';
import { aDirectory } from '../../adapters/usage/sqlite-usage.js';

const contract = addressOf(0xd00d);
const otherChainId = chainId + 1;
const inTokens = (version: string, tokenLossBudget?: string): ProfileConfig => ({
  ...aTokenProfile(version),
  token: contract,
  ...(tokenLossBudget === undefined ? {} : { tokenLossBudget }),
});
const tenthOfACoin = 100_000_000;
const quiet = { unpaid: 0 };
const endOfDay = (startMs + 24 * hourMs) as EpochMs;

let clock: ReturnType<typeof aClock>;
let usage: UsageStore;
let reports: Reports;
let profiles: readonly ProfileConfig[];
let reporter: LossReporter;
const cleanUps: (() => Promise<void> | void)[] = [];

beforeEach(() => {
  clock = aClock();
  const directory = aDirectory();
  usage = createSqliteUsageStore({
    path: `${directory.path}/usage.db`,
    clock,
    log: silentLogger,
    durability: 'process',
  });
  reports = createMemoryReports({ clock, log: silentLogger });
  profiles = [inTokens('1.1.0')];
  reporter = open();
  cleanUps.push(
    () => directory.remove(),
    () => usage.stop(),
  );
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

function open(place: Reports = reports): LossReporter {
  const opened = createLossReporter({
    usage,
    reports: place,
    chain: (id) =>
      serveChain(
        aChainConfig({ chainId: id, profiles }),
        { get: () => undefined, recover: () => undefined },
        silentLogger,
      ),
    clock,
    log: silentLogger,
  });
  cleanUps.push(() => opened.stop());
  return opened;
}

/** Mines a token payment that costs this much and pays nothing. */
async function lose(amount: number): Promise<void> {
  const of = { chainId, contract: toAddressKey(contract) };
  const expected = await usage.cursor(chainId);
  const blockNumber = (expected?.blockNumber ?? 0) + 1;
  const next = { blockNumber, blockHash: aHash(blockNumber), timestamp: seconds(blockNumber) };
  const charges = lossCharges(of, sender, { loss: gwei(amount), bars: true, at: clock.now() });
  const nothing = { settled: [], released: [], forfeited: [], restored: [], balances: [] };
  expect(await usage.advance({ chainId, expected, next, charges, ...nothing })).toMatchObject({
    isTaken: true,
  });
}

const report = async (): Promise<TokenLossReport | undefined> =>
  (await reports.all('losses')).get(String(chainId));
const stopped = (...versions: readonly string[]) => ({
  stopped: versions.map((version) => ({ version, until: endOfDay })),
});
async function says(want: TokenLossReport): Promise<void> {
  await until(
    `the report is ${JSON.stringify(want)}`,
    async () => JSON.stringify(await report()) === JSON.stringify(want),
    300_000,
  );
}

describe('the report of a follower on token payments', () => {
  test('is empty while losses are within half of the budget, and names the contract above it until the day ends', async () => {
    reporter.followed(chainId, quiet);
    await says({ stopped: [] });
    await lose(tenthOfACoin / 2);
    reporter.followed(chainId, { unpaid: 1 });
    await reporter.stop();
    expect(await report()).toEqual({ stopped: [] });

    reporter = open();
    await lose(1);
    reporter.followed(chainId, { unpaid: 1 });
    await says(stopped('1.1.0'));
    clock.advance(24 * hourMs);
    reporter.followed(chainId, quiet);
    await says({ stopped: [] });
  });

  test('covers each chain separately: contracts have the same address on many', async () => {
    await lose(tenthOfACoin + 1);
    reporter.followed(otherChainId, { unpaid: 1 });
    reporter.followed(chainId, { unpaid: 1 });
    await reporter.stop();
    expect(await report()).toEqual(stopped('1.1.0'));
    expect((await reports.all('losses')).get(String(otherChainId))).toEqual({ stopped: [] });
  });

  test('adds up the losses of all versions of one contract, and compares them with the budget of each', async () => {
    profiles = [inTokens('1.1.0'), inTokens('singleton-0.6', '0'), inTokens('singleton-0.7', '5')];
    await lose(tenthOfACoin / 2);
    reporter.followed(chainId, { unpaid: 1 });
    await says(stopped('singleton-0.6'));
    await lose(1);
    reporter.followed(chainId, { unpaid: 1 });
    await says(stopped('1.1.0', 'singleton-0.6'));
  });

  test('follows a raised budget', async () => {
    await lose(tenthOfACoin + 1);
    reporter.followed(chainId, { unpaid: 1 });
    await says(stopped('1.1.0'));
    profiles = [inTokens('1.1.0', '1')];
    clock.advance(5_000);
    reporter.followed(chainId, quiet);
    await says({ stopped: [] });
  });

  test('is written again after a write failed', async () => {
    let isAway = true;
    const flaky: Reports = {
      all: (subject) => reports.all(subject),
      merge: (subject, next) =>
        isAway ? Promise.reject(new DomainError('UNAVAILABLE', 'away')) : reports.merge(subject, next),
    };
    const other = open(flaky);
    await lose(tenthOfACoin + 1);
    other.followed(chainId, { unpaid: 1 });
    isAway = false;
    await until('it is reported', async () => {
      clock.advance(5_000);
      other.followed(chainId, quiet);
      return (await report()) !== undefined;
    });
    expect(await report()).toEqual(stopped('1.1.0'));
  });

  test('does not exist for a chain without token mode', async () => {
    const { token: _token, ...sponsorOnly } = inTokens('1.1.0');
    profiles = [sponsorOnly];
    reporter.followed(chainId, { unpaid: 1 });
    await reporter.stop();
    expect(await report()).toBeUndefined();
  });
});
