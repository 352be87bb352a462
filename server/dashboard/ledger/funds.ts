import { formatAccount, type AccountName, type FundsHistory } from '../../../core/ledger/query.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { parseAddressKey } from '../../../core/units/address.js';
import { formatDecimal, gwei, gweiToWei } from '../../../core/units/wei.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import type { AccountBalance } from '../../../core/usage/reserve-request.js';
import type { ChainSpec } from '../../../core/resources/chain.js';
import { findChain } from '../paymasters.js';
import { amount, dollars } from './amounts.js';
import type { Tools } from '../deps.js';
import { tableOf } from '../call.js';
import { endpoint } from '../endpoint.js';
import type { Questions } from './fair-ledger.js';
import { ownPaymasters, type ReadConfig } from './own-paymaster.js';
import { uuid } from '../parameters.js';
import { requireLedger } from './require-ledger.js';
import * as schemas from './schemas.js';

const dayMs = 86_400_000;
/** Balances are sampled once a minute: without a sample for so long, the price is not known now. */
const freshMs = 300_000;

export const accountMembers = {
  account: {
    ...schemas.address,
    description:
      'The contract for its EntryPoint deposit, else the wallet whose balance in the contract pays.',
  },
  kind: { enum: ['deposit', 'wallet'] },
  contract: schemas.address,
  chainId: { type: 'integer' },
  balanceWei: { ...schemas.weiOrNull, description: 'Null until it was read.' },
  balance: schemas.coinsOrNull,
  balanceUsd: schemas.dollarsOrNull,
  promisedWei: { ...schemas.wei, description: 'Of all paymasters that the account pays for.' },
  promised: schemas.coins,
  promisedUsd: schemas.dollarsOrNull,
  burnWeiPerHour: {
    ...schemas.wei,
    description: 'Mean of the last 24 hours, of all paymasters of the account.',
  },
  burnPerHour: schemas.coins,
  burnUsdPerHour: schemas.dollarsOrNull,
  hoursLeft: {
    type: ['number', 'null'],
    minimum: 0,
    description: 'Null when nothing was spent, or the balance is not known.',
  },
  usdPerCoin: {
    ...schemas.textOrNull,
    description:
      'Price of the coin in US dollars, by nativePrice of the Chain; null where it has none, or none could be used in the last 5 minutes.',
  },
  pricedAt: { ...schemas.timeOrNull, description: 'When that was the price. UTC.' },
};
export const accountExample = {
  account: '0x00000000000000fb866daaa79352cc568a005d96',
  kind: 'deposit',
  contract: '0x00000000000000fb866daaa79352cc568a005d96',
  chainId: 31337,
  balanceWei: '1000000000000000000',
  balance: '1',
  balanceUsd: '2000',
  promisedWei: '0',
  promised: '0',
  promisedUsd: '0',
  burnWeiPerHour: '1000000000000000',
  burnPerHour: '0.001',
  burnUsdPerHour: '2',
  hoursLeft: 1000,
  usdPerCoin: '2000',
  pricedAt: '2026-01-01T00:00:00.000Z',
};
const members = {
  ...accountMembers,
  paymasters: { ...arrayOf(schemas.text), description: 'Names of your Paymaster objects that it pays for.' },
};

export const fundsEndpoint = endpoint({
  operationId: 'getFunds',
  summary: 'What the accounts that pay hold, each named once, and for how long it lasts',
  method: 'get',
  path: '/funds',
  scope: 'organisation',
  needs: ['read', 'finance'],
  cost: 'reading',
  parameters: { paymasterId: uuid('Only of this paymaster. Default: all of the organisation.') },
  form: 'table',
  schema: record({
    accounts: arrayOf(record(members)),
  }),
  example: { accounts: [{ ...accountExample, paymasters: ['shop'] }] },

  async handle(tools, { principal, given }) {
    const ledger = requireLedger(tools, principal);
    const paid = await accountsThatPay(tools, await ownPaymasters(tools, principal, given.paymasterId));
    const described = await describeAccounts(
      tools,
      ledger,
      paid.map(({ account }) => account),
    );
    const rendered = described.map((each, at) => ({ ...each, paymasters: paid[at]?.paymasters ?? [] }));
    return { data: { accounts: rendered }, table: tableOf(Object.keys(members), rendered) };
  },
});

/** In the order of the accounts. */
export async function describeAccounts(
  tools: Pick<Tools, 'clock' | 'usage'>,
  ledger: Pick<Questions, 'funds'>,
  accounts: readonly AccountName[],
) {
  const now = tools.clock.now();
  const from = (now - dayMs) as EpochMs;
  const histories = await ledger.funds({ accounts, from, to: now, samples: false });
  const spent = new Map(histories.map(({ account, spentWei }) => [formatAccount(account), spentWei]));
  const sampled = await ledger.funds({ accounts, from: (now - freshMs) as EpochMs, to: now });
  const prices = new Map(sampled.map((history) => [formatAccount(history.account), newestPrice(history)]));
  const states = await statesOf(tools, accounts);
  return accounts.map((account) => {
    const { chainId, contract, fundingAddress } = account;
    const state = states.get(formatAccount(account));
    const burn = (spent.get(formatAccount(account)) ?? 0n) / 24n;
    const balance = state?.balance === undefined ? undefined : gweiToWei(state.balance);
    const promised = gweiToWei(state?.reserved ?? gwei(0));
    const { at, usdPerNative } = prices.get(formatAccount(account)) ?? {};
    return {
      account: fundingAddress ?? contract,
      kind: fundingAddress === undefined ? 'deposit' : 'wallet',
      contract,
      chainId,
      ...(balance === undefined ? { balanceWei: null, balance: null } : amount('balance', balance)),
      balanceUsd: dollars(balance, usdPerNative),
      ...amount('promised', promised),
      promisedUsd: dollars(promised, usdPerNative),
      burnWeiPerHour: burn.toString(),
      burnPerHour: amount('burn', burn)['burn'],
      burnUsdPerHour: dollars(burn, usdPerNative),
      hoursLeft: balance === undefined || burn === 0n ? null : Number((balance * 10n) / burn) / 10,
      usdPerCoin: usdPerNative === undefined ? null : formatDecimal(usdPerNative, 18),
      pricedAt: at === undefined ? null : formatInstant(at),
    };
  });
}

/** Of the samples that have one. */
function newestPrice({ samples }: FundsHistory): FundsHistory['samples'][number] | undefined {
  return samples.findLast(({ usdPerNative }) => usdPerNative !== undefined);
}

type Paid = { readonly account: AccountName; readonly paymasters: readonly string[] };

/** Each account once, with the paymasters that it pays for. */
export async function accountsThatPay(
  tools: Pick<Tools, 'resources' | 'lastSeen'>,
  configs: readonly ReadConfig[],
): Promise<readonly Paid[]> {
  const accounts = new Map<string, Paid>();
  for (const [chainId, ofChain] of Map.groupBy(configs, (config) => config.chainId)) {
    const { chain } = await tools.lastSeen.of(`chain ${chainId}`, async () => ({
      chain: await findChain(tools, chainId),
    }));
    if (chain === undefined) continue;
    for (const config of ofChain)
      for (const account of accountsOf(config, chain)) {
        const paymasters = accounts.get(formatAccount(account))?.paymasters ?? [];
        accounts.set(formatAccount(account), { account, paymasters: [...paymasters, config.objectName] });
      }
  }
  return [...accounts.values()];
}

/** What the usage store knows, by name of the account. */
async function statesOf(
  { usage }: Pick<Tools, 'usage'>,
  accounts: readonly AccountName[],
): Promise<ReadonlyMap<string, AccountBalance>> {
  const states = new Map<string, AccountBalance>();
  for (const chainId of new Set(accounts.map((account) => account.chainId)))
    for (const state of await usage.accounts(chainId))
      states.set(
        formatAccount({ chainId, contract: state.contract, fundingAddress: state.fundingAddress }),
        state,
      );
  return states;
}

/** The deposits of the contracts that sign for it, and the wallet that pays inside the contract, if its layout keeps balances. */
function accountsOf(config: ReadConfig, chain: ChainSpec): readonly AccountName[] {
  const profile = chain.profiles.find(({ version }) => version === config.version);
  if (profile === undefined) return [];
  const { defaultFunding } = profile;
  const isServedByDefault =
    defaultFunding !== undefined &&
    (defaultFunding.organisations.includes('*') || defaultFunding.organisations.includes(config.namespace));
  const wallet = config.fundingAddress ?? (isServedByDefault ? defaultFunding.address : undefined);
  return accountsOfProfile(chain.chainId, profile, wallet);
}

export function accountsOfProfile(
  chainId: number,
  { addresses: { sponsorship, token }, layout }: ChainSpec['profiles'][number],
  wallet: string | undefined,
): readonly AccountName[] {
  const contracts = [...new Set([sponsorship, ...(token === undefined ? [] : [token])].map(parseAddressKey))];
  const deposits = contracts.map((contract) => ({ chainId, contract, fundingAddress: undefined }));
  const keepsBalances = layouts[layout]?.sponsorship.fundingBalanceCall !== undefined;
  if (!keepsBalances || wallet === undefined) return deposits;
  return [
    ...deposits,
    { chainId, contract: parseAddressKey(sponsorship), fundingAddress: parseAddressKey(wallet) },
  ];
}
