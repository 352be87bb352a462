import type { AccountName } from '../../../core/ledger/query.js';
import { layouts } from '../../../core/paymaster/layouts.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { parseAddressKey } from '../../../core/units/address.js';
import { gwei, gweiToWei } from '../../../core/units/wei.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { ChainSpec } from '../../../core/resources/chain.js';
import { findChain } from '../paymasters.js';
import { amount } from './amounts.js';
import { endpoint, tableOf } from './endpoint.js';
import { ownPaymaster, type ReadConfig } from './own-paymaster.js';
import { uuid } from './parameters.js';
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
const columns = Object.keys(members).filter((name) => name !== 'chainId');

export const fundsEndpoint = endpoint({
  operationId: 'getFunds',
  summary: 'What the accounts that pay for a paymaster hold, and for how long it lasts',
  path: '/funds',
  parameters: { paymasterId: uuid('The paymaster; required.') },
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

  async answer(tools, { principal, given }) {
    const ledger = requireLedger(tools, principal);
    const config = await ownPaymaster(tools, principal, given.paymasterId);
    const { chainId } = config;
    const { chain } = await tools.lastSeen.of(`chain ${chainId}`, async () => ({
      chain: await findChain(tools, chainId),
    }));
    const accounts = chain === undefined ? [] : accountsOf(config, chain);
    const now = tools.clock.now();
    const known = await tools.usage.accounts(chainId);
    const histories = await ledger.funds({ accounts, from: (now - dayMs) as EpochMs, to: now });
    const rendered = accounts.map((account) => {
      const { contract, fundingAddress } = account;
      const state = known.find((one) => one.contract === contract && one.fundingAddress === fundingAddress);
      const spent =
        histories.find(
          (one) => one.account.contract === contract && one.account.fundingAddress === fundingAddress,
        )?.spentWei ?? 0n;
      const burn = spent / 24n;
      const balance = state?.balance === undefined ? undefined : gweiToWei(state.balance);
      return {
        account: fundingAddress ?? contract,
        kind: fundingAddress === undefined ? 'deposit' : 'wallet',
        contract,
        chainId,
        ...(balance === undefined ? { balanceWei: null, balance: null } : amount('balance', balance)),
        ...amount('promised', gweiToWei(state?.reserved ?? gwei(0))),
        burnWeiPerHour: burn.toString(),
        burnPerHour: amount('burn', burn)['burn'],
        hoursLeft: balance === undefined || burn === 0n ? null : Number((balance * 10n) / burn) / 10,
      };
    });
    return { data: { accounts: rendered }, table: tableOf(columns, rendered) };
  },
});

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
