import type { AccountName } from '../../../core/ledger/query.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { parseAddressKey } from '../../../core/units/address.js';
import { gwei, gweiToWei } from '../../../core/units/wei.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { AccountBalance } from '../../../core/usage/usage-store.js';
import type { ChainSpec } from '../../../core/resources/chain.js';
import { findChain } from '../paymasters.js';
import { amount } from './amounts.js';
import type { Tools } from '../deps.js';
import { tableOf } from '../call.js';
import { endpoint } from '../endpoint.js';
import { ownPaymasters, type ReadConfig } from './own-paymaster.js';
import { uuid } from '../parameters.js';
import { requireLedger } from './require-ledger.js';
import * as schemas from './schemas.js';

const dayMs = 86_400_000;

const members = {
  account: {
    ...schemas.address,
    description:
      'The contract for its EntryPoint deposit, else the wallet whose balance in the contract pays.',
  },
  kind: { enum: ['deposit', 'wallet'] },
  contract: schemas.address,
  chainId: { type: 'integer' },
  paymasters: { ...arrayOf(schemas.text), description: 'Names of your Paymaster objects that it pays for.' },
  balanceWei: { ...schemas.weiOrNull, description: 'Null until it was read.' },
  balance: schemas.coinsOrNull,
  promisedWei: { ...schemas.wei, description: 'Of all paymasters that the account pays for.' },
  promised: schemas.coins,
  burnWeiPerHour: {
    ...schemas.wei,
    description: 'Mean of the last 24 hours, of all paymasters of the account.',
  },
  burnPerHour: schemas.coins,
  hoursLeft: {
    type: ['number', 'null'],
    minimum: 0,
    description: 'Null when nothing was spent, or the balance is not known.',
  },
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
  example: {
    accounts: [
      {
        account: '0x00000000000000fb866daaa79352cc568a005d96',
        kind: 'deposit',
        contract: '0x00000000000000fb866daaa79352cc568a005d96',
        chainId: 31337,
        paymasters: ['shop'],
        balanceWei: '1000000000000000000',
        balance: '1',
        promisedWei: '0',
        promised: '0',
        burnWeiPerHour: '1000000000000000',
        burnPerHour: '0.001',
        hoursLeft: 1000,
      },
    ],
  },

  async handle(tools, { principal, given }) {
    const ledger = requireLedger(tools, principal);
    const paid = await accountsThatPay(tools, await ownPaymasters(tools, principal, given.paymasterId));
    const accounts = paid.map(({ account }) => account);
    const now = tools.clock.now();
    const histories = await ledger.funds({
      accounts,
      from: (now - dayMs) as EpochMs,
      to: now,
      samples: false,
    });
    const spent = new Map(histories.map(({ account, spentWei }) => [nameOf(account), spentWei]));
    const states = await statesOf(tools, accounts);
    const rendered = paid.map(({ account, paymasters }) => {
      const { chainId, contract, fundingAddress } = account;
      const state = states.get(nameOf(account));
      const burn = (spent.get(nameOf(account)) ?? 0n) / 24n;
      const balance = state?.balance === undefined ? undefined : gweiToWei(state.balance);
      return {
        account: fundingAddress ?? contract,
        kind: fundingAddress === undefined ? 'deposit' : 'wallet',
        contract,
        chainId,
        paymasters,
        ...(balance === undefined ? { balanceWei: null, balance: null } : amount('balance', balance)),
        ...amount('promised', gweiToWei(state?.reserved ?? gwei(0))),
        burnWeiPerHour: burn.toString(),
        burnPerHour: amount('burn', burn)['burn'],
        hoursLeft: balance === undefined || burn === 0n ? null : Number((balance * 10n) / burn) / 10,
      };
    });
    return { data: { accounts: rendered }, table: tableOf(Object.keys(members), rendered) };
  },
});

function nameOf({ chainId, contract, fundingAddress }: AccountName): string {
  return `${chainId} ${contract} ${fundingAddress ?? ''}`;
}

type Paid = { readonly account: AccountName; readonly paymasters: readonly string[] };

/** Each account once, with the paymasters that it pays for. */
async function accountsThatPay(
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
        const paymasters = accounts.get(nameOf(account))?.paymasters ?? [];
        accounts.set(nameOf(account), { account, paymasters: [...paymasters, config.objectName] });
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
      states.set(nameOf({ chainId, contract: state.contract, fundingAddress: state.fundingAddress }), state);
  return states;
}

/** The deposits of the contracts that sign for it, and the wallet that pays inside the contract, if its layout keeps balances. */
function accountsOf(config: ReadConfig, chain: ChainSpec): readonly AccountName[] {
  const profile = chain.profiles.find(({ version }) => version === config.version);
  if (profile === undefined) return [];
  const { chainId } = chain;
  const { addresses, defaultFunding } = profile;
  const { sponsorship, token } = addresses;
  const contracts = [...new Set([sponsorship, ...(token === undefined ? [] : [token])].map(parseAddressKey))];
  const deposits = contracts.map((contract) => ({ chainId, contract, fundingAddress: undefined }));
  const isServedByDefault =
    defaultFunding !== undefined &&
    (defaultFunding.organisations.includes('*') || defaultFunding.organisations.includes(config.namespace));
  const wallet = config.fundingAddress ?? (isServedByDefault ? defaultFunding.address : undefined);
  const keepsBalances = layouts[profile.layout]?.sponsorship.fundingBalanceCall !== undefined;
  return keepsBalances && wallet !== undefined
    ? [
        ...deposits,
        { chainId, contract: parseAddressKey(sponsorship), fundingAddress: parseAddressKey(wallet) },
      ]
    : deposits;
}
