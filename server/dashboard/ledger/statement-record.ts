import { microDollars, type HourPrice, type Prices } from '../../../core/ledger/prices.js';
import {
  missingBalances,
  maxTransfers,
  type AccountStatement,
  type BalanceAt,
  type Transfer,
  type Worth,
} from '../../../core/ledger/statement.js';
import { startOf, type Range } from '../../../core/ledger/steps.js';
import type { AccountName } from '../../../core/ledger/query.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { formatInstant, type EpochMs } from '../../../core/units/time.js';
import { formatDecimal } from '../../../core/units/wei.js';
import { toTable, type Table } from '../call.js';
import { about, inCoins, shapeOf } from '../shape.js';
import { accountNameShape } from './funds.js';
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

type Line = {
  readonly line: LineName;
  readonly paymasterId?: string;
  readonly paymaster?: string | undefined;
  readonly amountWei?: bigint;
  readonly usd?: string | undefined;
  readonly unpricedWei?: bigint;
  readonly oldestMs?: number;
  readonly count?: number;
  readonly blockNumber?: number;
  readonly note?: string | undefined;
};

export const lineShape = shapeOf<Line>()({
  line: [{ enum: Object.keys(sources) }, 'mined'],
  paymasterId: [about(schemas.textOrNull, 'Of mined and losses.'), '0f8fad5b-d9cb-569f-a165-70867728950e'],
  paymaster: [about(schemas.textOrNull, 'What it is called, or was called when it was deleted.'), 'shop'],
  ...inCoins(
    'amount',
    about(
      schemas.weiOrNull,
      'What it adds to the balance: less than 0 for what went out. All lines before closing add up to closing. Null: not known, see note.',
    ),
    -1_100_000_000_000_000n,
    (line: Line) => line.amountWei,
  ),
  usd: [
    about(
      schemas.textOrNull,
      'In US dollars, with 6 decimals at most: each hour at its price (prices). Rounded away from 0 for what went out, else towards 0; each line by itself. Null: no price, or not an amount that moved.',
    ),
    '-2.2',
  ],
  unpricedWei: [
    about(
      schemas.wei,
      'The part of hours that have no price and none within 6 hours before: it is not in usd.',
    ),
    '0',
    ({ unpricedWei = 0n }) => unpricedWei,
  ],
  oldestPriceSeconds: [
    about(schemas.count, 'Age of the oldest price in usd when its hour began.'),
    0,
    ({ oldestMs = 0 }) => Math.ceil(oldestMs / 1_000),
  ],
  count: [about(schemas.count, 'Events or operations.'), 11, ({ count = 0 }) => count],
  blockNumber: [about(schemas.integerOrNull, 'Of a balance.'), null],
  source: [about(schemas.text, 'What the figure comes from.'), sources.mined, ({ line }) => sources[line]],
  note: [about(schemas.textOrNull, 'Why it is not known, or not whole.'), null],
});

const transferShape = shapeOf<Transfer>()({
  kind: [{ enum: ['deposit', 'withdrawal'] }],
  at: [schemas.time],
  blockNumber: [schemas.integer],
  transactionHash: [about(schemas.hashOrNull, 'Of the first one in the block.')],
  count: [schemas.count],
  ...inCoins(
    'amount',
    about(schemas.weiOrNull, 'Of all of its kind in the block; null: no node showed it.'),
    null,
  ),
});

type Account = AccountName &
  Pick<AccountStatement, 'transfers' | 'unreadBlocks'> & { readonly lines: readonly Line[] };

const accountShape = shapeOf<Account>()({
  ...accountNameShape.members,
  lines: [arrayOf(lineShape.schema), [lineShape.example], ({ lines }) => lines.map(lineShape.render)],
  transfers: [
    arrayOf(transferShape.schema, `Deposits and withdrawals, the oldest first; at most ${maxTransfers}.`),
    [],
    ({ transfers }) => transfers.map(transferShape.render),
  ],
  unreadBlocks: [
    arrayOf(
      record({ fromBlock: schemas.integer, toBlock: schemas.integer }),
      'Blocks whose events nobody has read: what they changed is in others.',
    ),
    [],
  ],
});

const priceShape = shapeOf<HourPrice>()({
  chainId: [schemas.integer, 31337],
  hour: [schemas.time, '2026-01-01T00:00:00.000Z'],
  usdPerCoin: [schemas.text, '2000', ({ usdPerNative }) => formatDecimal(usdPerNative, 18)],
  pricedAt: [schemas.time, '2026-01-01T00:00:12.000Z', ({ at }) => at],
});

type Statement = Range & { readonly accounts: readonly Account[]; readonly prices: readonly HourPrice[] };

export const statementShape = shapeOf<Statement>()({
  month: [schemas.text, '2026-01', ({ from }) => formatMonth(from)],
  from: [schemas.time, '2026-01-01T00:00:00.000Z'],
  to: [schemas.time, '2026-02-01T00:00:00.000Z'],
  items: [
    arrayOf(accountShape.schema),
    [accountShape.example],
    ({ accounts }) => accounts.map(accountShape.render),
  ],
  nextCursor: [schemas.textOrNull, null, () => null],
  prices: [
    arrayOf(priceShape.schema, 'That the dollars are made with, by hour.'),
    [priceShape.example],
    ({ prices }) => prices.map(priceShape.render),
  ],
});

export function formatMonth(from: EpochMs): string {
  return formatInstant(from).slice(0, 7);
}

/** A row for each line. */
export function statementTable(accounts: readonly Account[]): Table {
  const rows = accounts.flatMap((account) =>
    account.lines.map((line) => ({ ...accountNameShape.render(account), ...lineShape.render(line) })),
  );
  return toTable([...accountNameShape.columns, ...lineShape.columns], rows);
}

export function renderLines(
  statement: AccountStatement,
  { names, prices }: { readonly names: Names; readonly prices: Prices },
): readonly Line[] {
  const { opening, closing, openingReason, closingReason, others, paymasters, otherPaymasters } = statement;
  const { unreadDeposits, unreadBlocks } = statement;
  const { chainId } = statement.account;
  const out = (line: LineName, worth: Worth, more: object = {}) => ({
    ...movedLine(line, worth, -1n),
    ...more,
  });
  const ofPaymaster = (paymasterId: string) => ({ paymasterId, paymaster: names(paymasterId)?.name });
  const notes = [
    ...(unreadDeposits === 0 ? [] : [`${unreadDeposits} deposits whose amount no node showed`]),
    ...unreadBlocks.map(({ fromBlock, toBlock }) => `blocks ${fromBlock} to ${toBlock} were not read`),
  ];
  return [
    {
      line: 'opening',
      ...heldLine(opening, chainId, prices),
      note: openingReason && missingBalances[openingReason],
    },
    movedLine('deposits', statement.deposits, 1n),
    out('withdrawals', statement.withdrawals),
    ...paymasters.flatMap(({ paymasterId, mined, losses }) => [
      out('mined', mined, ofPaymaster(paymasterId)),
      ...(losses.count === 0 ? [] : [out('losses', losses, ofPaymaster(paymasterId))]),
    ]),
    out('minedByOthers', otherPaymasters.mined),
    out('lossesOfOthers', otherPaymasters.losses),
    out('burnt', statement.burnt),
    others === undefined
      ? { line: 'others', note: 'both balances must be known' }
      : { line: 'others', amountWei: others, note: notes.join('; ') || undefined },
    {
      line: 'closing',
      ...heldLine(closing, chainId, prices),
      note: closingReason && missingBalances[closingReason],
    },
  ];
}

function movedLine(line: LineName, { wei, dollars, count }: Worth, sign: 1n | -1n): Line {
  const { usd, unpricedWei, oldestMs } = dollars;
  const isUnpriced = wei !== 0n && unpricedWei === wei;
  const micros = sign * microDollars(usd, sign < 0n ? 'up' : 'down');
  return {
    line,
    amountWei: sign * wei,
    usd: isUnpriced ? undefined : formatDecimal(micros, 6),
    unpricedWei,
    oldestMs,
    count,
  };
}

function heldLine(balance: BalanceAt | undefined, chainId: number, prices: Prices): Omit<Line, 'line'> {
  if (balance === undefined) return {};
  const { balanceWei, blockNumber, at } = balance;
  const found = prices(chainId, at);
  const amount = { amountWei: balanceWei, blockNumber };
  if (found === undefined) return { ...amount, unpricedWei: balanceWei };
  return {
    ...amount,
    usd: formatDecimal(microDollars(balanceWei * found.usdPerNative, 'down'), 6),
    oldestMs: Math.max(0, startOf(at, 'hour') - found.at),
  };
}

export function usedPrices(
  used: readonly { readonly chainId: number; readonly hour: EpochMs }[],
  prices: Prices,
): readonly HourPrice[] {
  const hours = new Map(used.map((one) => [`${one.chainId} ${one.hour}`, one]));
  return [...hours.values()]
    .toSorted((a, b) => a.chainId - b.chainId || a.hour - b.hour)
    .flatMap(({ chainId, hour }) => {
      const found = prices(chainId, hour);
      return found === undefined ? [] : [{ ...found, chainId, hour }];
    });
}
