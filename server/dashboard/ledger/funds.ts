import { formatAccount, type AccountName, type FundsHistory } from '../../../core/ledger/query.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import type { ChainSpec } from '../../../core/resources/chain.js';
import { arrayOf } from '../../../core/schema/json-schema.js';
import { parseAddressKey } from '../../../core/units/address.js';
import type { EpochMs } from '../../../core/units/time.js';
import { formatDecimal, gwei, gweiFloor, gweiToWei, type Gwei } from '../../../core/units/wei.js';
import type { AccountBalance } from '../../../core/usage/reserve-request.js';
import { toTable } from '../call.js';
import type { Tools } from '../deps.js';
import { endpoint, reading } from '../endpoint.js';
import { uuid } from '../parameters.js';
import { findChain } from '../paymasters.js';
import { about, coins, inCoins, shapeOf, showsList, wholeList } from '../shape.js';
import { requireLedger, type Questions } from './fair-ledger.js';
import { ownPaymasters, type ReadConfig } from './own-paymaster.js';
import * as schemas from './schemas.js';

const dayMs = 86_400_000;
/** Balances are sampled once a minute: without a sample for so long, the price is not known now. */
const freshMs = 300_000;

/** What is known of an account that pays. */
export type Held = AccountName & {
  readonly balanceWei: bigint | undefined;
  readonly promisedWei: bigint;
  readonly burnWeiPerHour: bigint;
  readonly usdPerNative: bigint | undefined;
  /** When that was the price. */
  readonly at: EpochMs | undefined;
};

export const accountNameShape = shapeOf<AccountName>()({
  account: [
    about(
      schemas.address,
      'The contract for its EntryPoint deposit, else the wallet whose balance in the contract pays.',
    ),
    '0x00000000000000fb866daaa79352cc568a005d96',
    ({ contract, fundingAddress }) => fundingAddress ?? contract,
  ],
  kind: [
    { enum: ['deposit', 'wallet'] },
    'deposit',
    ({ fundingAddress }) => (fundingAddress === undefined ? 'deposit' : 'wallet'),
  ],
  contract: [schemas.address, '0x00000000000000fb866daaa79352cc568a005d96'],
  chainId: [schemas.integer, 31337],
});

/** An account that pays. */
export const accountShape = shapeOf<Held>()({
  ...accountNameShape.members,
  ...inCoins('balance', about(schemas.weiOrNull, 'Null until it was read.'), 10n ** 18n),
  balanceUsd: [schemas.dollarsOrNull, '2000', (held) => dollars(held.balanceWei, held.usdPerNative)],
  ...inCoins('promised', about(schemas.wei, 'Of all paymasters that the account pays for.'), 0n),
  promisedUsd: [schemas.dollarsOrNull, '0', (held) => dollars(held.promisedWei, held.usdPerNative)],
  burnWeiPerHour: [
    about(schemas.wei, 'Mean of the last 24 hours, of all paymasters of the account.'),
    '1000000000000000',
  ],
  burnPerHour: [coins, '0.001', ({ burnWeiPerHour }) => formatDecimal(burnWeiPerHour, 18)],
  burnUsdPerHour: [schemas.dollarsOrNull, '2', (held) => dollars(held.burnWeiPerHour, held.usdPerNative)],
  hoursLeft: [
    {
      type: ['number', 'null'],
      minimum: 0,
      description: 'Null when nothing was spent, or the balance is not known.',
    },
    1000,
    ({ balanceWei, burnWeiPerHour: burn }) =>
      balanceWei === undefined || burn === 0n ? null : Number((balanceWei * 10n) / burn) / 10,
  ],
  usdPerCoin: [
    about(
      schemas.textOrNull,
      'Price of the coin in US dollars, by nativePrice of the Chain; null where it has none, or none could be used in the last 5 minutes.',
    ),
    '2000',
    ({ usdPerNative }) => usdPerNative && formatDecimal(usdPerNative, 18),
  ],
  pricedAt: [
    about(schemas.timeOrNull, 'When that was the price. UTC.'),
    '2026-01-01T00:00:00.000Z',
    ({ at }) => at,
  ],
});
const fundsShape = shapeOf<Held & { readonly paymasters: readonly string[] }>()({
  ...accountShape.members,
  paymasters: [arrayOf(schemas.text, 'Names of your Paymaster objects that it pays for.'), ['shop']],
});

export const fundsEndpoint = endpoint({
  ...reading,
  operationId: 'getFunds',
  summary: 'What the accounts that pay hold, each named once, and for how long it lasts',
  path: '/funds',
  needs: ['read', 'finance'],
  parameters: { paymasterId: uuid('Only of this paymaster. Default: all of the organisation.') },
  form: 'table',
  ...showsList(fundsShape),

  async handle(tools, { principal, given }) {
    const ledger = requireLedger(tools, principal);
    const paid = await accountsThatPay(tools, await ownPaymasters(tools, principal, given.paymasterId));
    const held = await readAccounts(
      tools,
      ledger,
      paid.map(({ account }) => account),
    );
    const accounts = held.map((each, at) =>
      fundsShape.render({ ...each, paymasters: paid[at]?.paymasters ?? [] }),
    );
    return { data: wholeList(accounts), table: toTable(fundsShape.columns, accounts) };
  },
});

/** In the order of the accounts. */
export async function readAccounts(
  tools: Pick<Tools, 'clock' | 'usage'>,
  ledger: Pick<Questions, 'funds'>,
  accounts: readonly AccountName[],
): Promise<readonly Held[]> {
  const now = tools.clock.now();
  const from = (now - dayMs) as EpochMs;
  const histories = await ledger.funds({ accounts, from, to: now, samples: false });
  const spent = new Map(histories.map(({ account, spentWei }) => [formatAccount(account), spentWei]));
  const sampled = await ledger.funds({ accounts, from: (now - freshMs) as EpochMs, to: now });
  const prices = new Map(sampled.map((history) => [formatAccount(history.account), newestPrice(history)]));
  const samples = new Map(sampled.map(({ account, samples: of }) => [formatAccount(account), of.at(-1)]));
  const states = await readStates(tools, accounts);
  return accounts.map((account) => {
    const name = formatAccount(account);
    const { balance, reserved = gwei(0) } = states.get(name) ?? {};
    const { at, usdPerNative } = prices.get(name) ?? {};
    return {
      ...account,
      balanceWei: balance === undefined ? undefined : exactly(balance, samples.get(name)?.balanceWei),
      promisedWei: gweiToWei(reserved),
      burnWeiPerHour: (spent.get(name) ?? 0n) / 24n,
      usdPerNative,
      at,
    };
  });
}

/** A balance that limits count in gwei: in wei, if the newest record is of the same balance. */
function exactly(balance: Gwei, recorded: bigint | undefined): bigint {
  return recorded !== undefined && gweiFloor(recorded) === balance ? recorded : gweiToWei(balance);
}

/** The newest sample with a price. */
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
      for (const account of listAccounts(config, chain)) {
        const paymasters = accounts.get(formatAccount(account))?.paymasters ?? [];
        accounts.set(formatAccount(account), { account, paymasters: [...paymasters, config.objectName] });
      }
  }
  return [...accounts.values()];
}

/** What the usage store knows, by name of the account. */
async function readStates(
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
function listAccounts(config: ReadConfig, chain: ChainSpec): readonly AccountName[] {
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

/** Dollars of an amount, exact; null where there is no price. `usdPerNative`: dollars per coin with 18 implied decimals. */
function dollars(wei: bigint | undefined, usdPerNative: bigint | undefined): string | null {
  return wei === undefined || usdPerNative === undefined ? null : formatDecimal(wei * usdPerNative, 36);
}
