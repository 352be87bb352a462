import { microDollars, type Dollars, type Prices } from '../../../core/ledger/prices.js';
import {
  missingBalances,
  mostTransfers,
  type AccountStatement,
  type BalanceAt,
  type MissingBalance,
  type Worth,
} from '../../../core/ledger/statement.js';
import { startOf } from '../../../core/ledger/steps.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import { amount } from './amounts.js';
import type { Names } from './object-names.js';
import * as schemas from './schemas.js';

/** Lines of an account in their order, and where each figure comes from. */
const sources = {
  opening: 'balance after the last block before the month',
  deposits: 'Deposited of the EntryPoint, or GasDeposited of the contract',
  withdrawals: 'Withdrawn of the EntryPoint, or GasWithdrawn of the contract',
  mined: 'UserOperationEvent of operations that kept a promise of this paymaster',
  losses: 'the same in mode ERC20, where the account did not pay',
  minedByOthers: 'UserOperationEvent of operations that kept a promise of any other paymaster',
  lossesOfOthers: 'the same in mode ERC20, where the account did not pay',
  burnt: 'UserOperationEvent of operations that nobody promised; what the contract takes above the cost',
  others: 'what no event explains: closing less everything above',
  closing: 'balance after the last block of the month',
} as const;
type LineName = keyof typeof sources;

/** The columns of the table. */
export const statementMembers = {
  account: schemas.address,
  kind: { enum: ['deposit', 'wallet'], description: 'As in funds.' },
  contract: schemas.address,
  chainId: { type: 'integer' },
  line: { enum: Object.keys(sources) },
  paymasterId: { ...schemas.textOrNull, description: 'Of mined and losses.' },
  paymaster: { ...schemas.textOrNull, description: 'What it is called, or was called when it was deleted.' },
  amountWei: {
    ...schemas.weiOrNull,
    description:
      'What it adds to the balance: less than 0 for what went out. All lines before closing add up to closing. Null: not known, see note.',
  },
  amount: schemas.coinsOrNull,
  usd: {
    ...schemas.textOrNull,
    description:
      'In US dollars, with 6 decimals at most: each hour at its price (prices). Rounded away from 0 for what went out, else towards 0; each line by itself. Null: no price, or not an amount that moved.',
  },
  unpricedWei: {
    ...schemas.wei,
    description: 'The part of hours that have no price and none within 6 hours before: it is not in usd.',
  },
  oldestPriceSeconds: {
    ...schemas.count,
    description: 'Age of the oldest price in usd when its hour began.',
  },
  count: { ...schemas.count, description: 'Events or operations.' },
  blockNumber: { type: ['integer', 'null'], description: 'Of a balance.' },
  source: { ...schemas.text, description: 'What the figure comes from.' },
  note: { ...schemas.textOrNull, description: 'Why it is not known, or not whole.' },
};
const price = {
  chainId: { type: 'integer' },
  hour: schemas.time,
  usdPerCoin: schemas.text,
  pricedAt: schemas.time,
};
const transfer = {
  kind: { enum: ['deposit', 'withdrawal'] },
  at: schemas.time,
  blockNumber: { type: 'integer' },
  transactionHash: { ...schemas.hashOrNull, description: 'Of the first one in the block.' },
  count: schemas.count,
  amountWei: {
    ...schemas.weiOrNull,
    description: 'Of all of its kind in the block; null: no node showed it.',
  },
  amount: schemas.coinsOrNull,
};
const ofAccount = ['account', 'kind', 'contract', 'chainId'] as const;
const line = Object.fromEntries(
  Object.entries(statementMembers).filter(([name]) => !ofAccount.some((one) => one === name)),
);

const exampleLine = {
  line: 'mined',
  paymasterId: '0f8fad5b-d9cb-569f-a165-70867728950e',
  paymaster: 'shop',
  amountWei: '-1100000000000000',
  amount: '-0.0011',
  usd: '-2.2',
  unpricedWei: '0',
  oldestPriceSeconds: 0,
  count: 11,
  blockNumber: null,
  source: sources.mined,
  note: null,
};

export const statementSchema = record({
  month: schemas.text,
  from: schemas.time,
  to: schemas.time,
  accounts: arrayOf(
    record({
      account: statementMembers.account,
      kind: statementMembers.kind,
      contract: statementMembers.contract,
      chainId: statementMembers.chainId,
      lines: arrayOf(record(line)),
      transfers: {
        ...arrayOf(record(transfer)),
        description: `Deposits and withdrawals, the oldest first; at most ${mostTransfers}.`,
      },
      unreadBlocks: {
        ...arrayOf(record({ fromBlock: { type: 'integer' }, toBlock: { type: 'integer' } })),
        description: 'Blocks whose events nobody has read: what they changed is in others.',
      },
    }),
  ),
  prices: { ...arrayOf(record(price)), description: 'That the dollars are made with, by hour.' },
});

export const statementExample = {
  month: '2026-01',
  from: '2026-01-01T00:00:00.000Z',
  to: '2026-02-01T00:00:00.000Z',
  accounts: [
    {
      account: '0x00000000000000fb866daaa79352cc568a005d96',
      kind: 'deposit',
      contract: '0x00000000000000fb866daaa79352cc568a005d96',
      chainId: 31337,
      lines: [exampleLine],
      transfers: [],
      unreadBlocks: [],
    },
  ],
  prices: [
    {
      chainId: 31337,
      hour: '2026-01-01T00:00:00.000Z',
      usdPerCoin: '2000',
      pricedAt: '2026-01-01T00:00:12.000Z',
    },
  ],
};

type Rendering = { readonly names: Names; readonly prices: Prices };

export function renderAccount(statement: AccountStatement, rendering: Rendering) {
  const { account, transfers, unreadBlocks } = statement;
  const { chainId, contract, fundingAddress } = account;
  return {
    account: fundingAddress ?? contract,
    kind: fundingAddress === undefined ? 'deposit' : 'wallet',
    contract,
    chainId,
    lines: linesOf(statement, rendering),
    transfers: transfers.map(({ kind, at, blockNumber, transactionHash, count, amountWei }) => ({
      kind,
      at: formatInstant(at),
      blockNumber,
      transactionHash: transactionHash ?? null,
      count,
      ...(amountWei === undefined ? { amountWei: null, amount: null } : amount('amount', amountWei)),
    })),
    unreadBlocks,
  };
}

function linesOf(statement: AccountStatement, { names, prices }: Rendering): readonly object[] {
  const { account, opening, closing, others, paymasters, otherPaymasters } = statement;
  const { unreadDeposits, unreadBlocks } = statement;
  const out = (name: LineName, worth: Worth, more: object = {}): object => movedLine(name, worth, -1n, more);
  const ofPaymaster = (paymasterId: string) => ({ paymasterId, paymaster: names(paymasterId)?.name ?? null });
  const notes = [
    ...(unreadDeposits === 0 ? [] : [`${unreadDeposits} deposits whose amount no node showed`]),
    ...unreadBlocks.map(({ fromBlock, toBlock }) => `blocks ${fromBlock} to ${toBlock} were not read`),
  ];
  const isKnown = others !== undefined;
  return [
    balanceLine('opening', opening, { account, prices, reason: statement.openingReason }),
    movedLine('deposits', statement.deposits, 1n),
    out('withdrawals', statement.withdrawals),
    ...paymasters.flatMap(({ paymasterId, mined, losses }) => [
      out('mined', mined, ofPaymaster(paymasterId)),
      ...(losses.count === 0 ? [] : [out('losses', losses, ofPaymaster(paymasterId))]),
    ]),
    out('minedByOthers', otherPaymasters.mined),
    out('lossesOfOthers', otherPaymasters.losses),
    out('burnt', statement.burnt),
    {
      ...emptyLine('others'),
      ...(isKnown ? amount('amount', others) : {}),
      note: isKnown ? notes.join('; ') || null : 'both balances must be known',
    },
    balanceLine('closing', closing, { account, prices, reason: statement.closingReason }),
  ];
}

function emptyLine(name: LineName) {
  return {
    line: name,
    paymasterId: null,
    paymaster: null,
    amountWei: null,
    amount: null,
    usd: null,
    unpricedWei: '0',
    oldestPriceSeconds: 0,
    count: 0,
    blockNumber: null,
    source: sources[name],
    note: null,
  };
}

function movedLine(
  name: LineName,
  { wei, dollars, count }: Worth,
  sign: 1n | -1n,
  more: object = {},
): object {
  return {
    ...emptyLine(name),
    ...amount('amount', sign * wei),
    ...dollarsOf(dollars, wei, sign),
    count,
    ...more,
  };
}

function dollarsOf({ usd, unpricedWei, oldestMs }: Dollars, wei: bigint, sign: 1n | -1n) {
  const isUnpriced = wei !== 0n && unpricedWei === wei;
  const micros = sign * microDollars(usd, sign < 0n ? 'up' : 'down');
  return {
    usd: isUnpriced ? null : formatDecimal(micros, 6),
    unpricedWei: unpricedWei.toString(),
    oldestPriceSeconds: Math.ceil(oldestMs / 1_000),
  };
}

function balanceLine(
  name: 'opening' | 'closing',
  balance: BalanceAt | undefined,
  {
    account: { chainId },
    prices,
    reason,
  }: Pick<Rendering, 'prices'> &
    Pick<AccountStatement, 'account'> & { readonly reason: MissingBalance | undefined },
): object {
  const note = reason === undefined ? null : missingBalances[reason];
  if (balance === undefined) return { ...emptyLine(name), note };
  const { balanceWei, blockNumber, at } = balance;
  const found = prices(chainId, at);
  return {
    ...emptyLine(name),
    ...amount('amount', balanceWei),
    usd: found === undefined ? null : formatDecimal(microDollars(balanceWei * found.usdPerNative, 'down'), 6),
    unpricedWei: found === undefined ? balanceWei.toString() : '0',
    oldestPriceSeconds:
      found === undefined ? 0 : Math.ceil(Math.max(0, startOf(at, 'hour') - found.at) / 1_000),
    blockNumber,
    note,
  };
}

export function renderPrices(
  used: readonly { readonly chainId: number; readonly hour: EpochMs }[],
  prices: Prices,
): readonly object[] {
  const hours = new Map(used.map((one) => [`${one.chainId} ${one.hour}`, one]));
  return [...hours.values()]
    .toSorted((a, b) => a.chainId - b.chainId || a.hour - b.hour)
    .flatMap(({ chainId, hour }) => {
      const found = prices(chainId, hour);
      if (found === undefined) return [];
      const { usdPerNative, at } = found;
      return [
        {
          chainId,
          hour: formatInstant(hour),
          usdPerCoin: formatDecimal(usdPerNative, 18),
          pricedAt: formatInstant(at),
        },
      ];
    });
}
