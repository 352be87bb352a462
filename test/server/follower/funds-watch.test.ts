import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ProfileConfig } from '../../../core/config/chain-config.js';
import { silentLogger } from '../../../core/log.js';
import { createMemoryReports, type Reports } from '../../../core/reports/reports.js';
import { fundsSubject } from '../../../core/reports/serving-reports.js';
import { exposureCounter, shareCounter } from '../../../core/usage/counter-names.js';
import { contractLosses } from '../../../core/usage/token-losses.js';
import type { AccountBalance, CounterState } from '../../../core/usage/reserve-request.js';
import { toAddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import { createFundsWatch } from '../../../server/follower/funds-watch.js';
import { ReportBoard } from '../../../server/ops/report-board.js';
import { serveChain } from '../../../server/view/served-chain.js';
import { aChainConfig, addressOf } from '../../build/configs.js';
import { aTokenProfile } from '../../build/fee-tokens.js';
import { chainId, startMs } from '../../conformance/usage-requests.js';

const contract = toAddressKey(addressOf(0xd00d));
const wallet = toAddressKey(addressOf(0xf1));
/** An ordinary operation costs 300,000 gas at 1 gwei. */
const ordinary = 300_000;
const head = { baseFeePerGas: 400_000_000n, priorityFeePerGas: 600_000_000n };

let now: EpochMs;
let reports: Reports;
let accounts: AccountBalance[];
let counters: Map<string, CounterState>;
let profiles: readonly ProfileConfig[];
let organisations: readonly string[];
beforeEach(() => {
  now = startMs;
  reports = createMemoryReports({ clock: { now: () => now }, log: silentLogger });
  accounts = [];
  counters = new Map();
  profiles = [aTokenProfile('1.1.0')].map((profile) => ({ ...profile, sponsorship: addressOf(0xd00d) }));
  organisations = ['acme'];
});

const anAccount = (
  balance: number,
  reserved: number,
  change: Partial<AccountBalance> = {},
): AccountBalance => ({
  contract,
  fundingAddress: wallet,
  balance: gwei(balance),
  reserved: gwei(reserved),
  readAt: now,
  ...change,
});

/** What the operator reads after each of these steps. */
function watch() {
  const board = new ReportBoard({ reports, clock: { now: () => now }, log: silentLogger });
  const served = () =>
    serveChain(
      aChainConfig({ chainId, profiles }),
      { get: () => undefined, recover: () => undefined },
      silentLogger,
    );
  const funds = createFundsWatch({
    usage: {
      now: () => now,
      accounts: async () => accounts,
      counters: async (_chainId, asked) =>
        asked.map(({ counter }) => counters.get(counter) ?? { used: 0, reserved: 0 }),
    },
    board,
    view: {
      chain: served,
      organisationsOn: () => new Map(profiles.map(({ version }) => [version, new Set(organisations)])),
    },
    clock: { now: () => now },
  });
  return async (): Promise<Readonly<Record<string, string>>> => {
    now = (now + 5_000) as EpochMs;
    accounts = accounts.map((account) => ({ ...account, ...(account.readAt === 0 ? {} : { readAt: now }) }));
    await funds.followed(chainId, head);
    await board.write();
    return Object.fromEntries(Array.from(await reports.all('serving'), ([of, { trouble }]) => [of, trouble]));
  };
}

describe('an account', () => {
  const subject = fundsSubject(chainId, { contract, fundingAddress: wallet });

  test('is short when what is not promised covers no ordinary operation, and no longer when it covers two', async () => {
    const look = watch();
    accounts = [anAccount(10 * ordinary, 9 * ordinary)];
    expect(await look()).toEqual({});
    accounts = [anAccount(10 * ordinary, 9 * ordinary + 1)];
    expect(await look()).toEqual({ [subject]: 'Promised' });
    accounts = [anAccount(10 * ordinary, 8 * ordinary + 1)];
    expect(await look()).toEqual({ [subject]: 'Promised' });
    accounts = [anAccount(10 * ordinary, 8 * ordinary)];
    expect(await look()).toEqual({});
  });

  test('that nobody reads any longer, or whose balance is not known, says nothing', async () => {
    const look = watch();
    accounts = [
      anAccount(0, 0, { readAt: 0 as EpochMs }),
      anAccount(0, 0, { balance: undefined, fundingAddress: toAddressKey(addressOf(2)) }),
    ];
    expect(await look()).toEqual({});
  });

  test('is no longer reported half a minute after another replica follows the chain', async () => {
    const look = watch();
    accounts = [anAccount(ordinary, ordinary)];
    expect(await look()).toEqual({ [subject]: 'Promised' });
    now = (now + 31_000) as EpochMs;
    expect(await reports.all('serving')).toEqual(new Map());
  });
});

describe("an organisation's share of an account that several use", () => {
  const shared = { address: addressOf(0xf1), organisations: ['acme', 'rival'] };
  const account = { contract, fundingAddress: wallet };
  beforeEach(() => {
    profiles = profiles.map((profile) => ({ ...profile, defaultFunding: shared }));
    organisations = ['acme', 'rival', 'stranger'];
    accounts = [anAccount(100 * ordinary, 25 * ordinary)];
  });
  const holds = (organisation: string, reserved: number): void =>
    void counters.set(shareCounter(account, organisation), { used: 0, reserved });

  test('is full when less than an ordinary operation is left of it, for that organisation alone', async () => {
    const look = watch();
    holds('acme', 24 * ordinary + 1);
    holds('stranger', 25 * ordinary);
    expect(await look()).toEqual({ [fundsSubject(chainId, account, { organisation: 'acme' })]: 'ShareFull' });
    holds('acme', 23 * ordinary);
    expect(await look()).toEqual({});
  });

  test('of which nothing is promised lets one operation pass, however small it is', async () => {
    const look = watch();
    accounts = [anAccount(2 * ordinary, 0)];
    expect(await look()).toEqual({});
  });

  test('of a list with this organisation alone is the whole account, which says it itself', async () => {
    const look = watch();
    profiles = profiles.map((profile) => ({
      ...profile,
      defaultFunding: { ...shared, organisations: ['acme'] },
    }));
    holds('acme', 25 * ordinary);
    expect(await look()).toEqual({});
  });
});

test('the budget for losses of a token mode is full when promises and losses leave no ordinary operation', async () => {
  const token = addressOf(0x70);
  profiles = profiles.map((profile) => ({ ...profile, token, tokenLossBudget: '0.0009' }));
  const of = { chainId, contract: toAddressKey(token) };
  const look = watch();
  counters.set(exposureCounter(of.contract, 'all'), { used: 0, reserved: ordinary });
  counters.set(contractLosses(of, now).counter, { used: ordinary, reserved: 0 });
  expect(await look()).toEqual({});
  counters.set(exposureCounter(of.contract, 'all'), { used: 0, reserved: ordinary + 1 });
  expect(await look()).toEqual({ [fundsSubject(chainId, of, 'tokens')]: 'TokenBudgetFull' });
});
