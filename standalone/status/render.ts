import { table } from '../console.js';
import { countStates, formatStates, printable } from '../resource-state.js';
import type { DepositStatus, LimitStatus, Status } from './status.js';

/** The status as sections of text for a terminal. */
export function renderStatus({ resources, limits, deposits, refusals, missing }: Status): string {
  return [
    `Resources: ${countStates(resources)}`,
    ...formatStates(resources).map((line) => `  ${line}`),
    '',
    'Limits (spent and promised)',
    section(limits.map(limitRow), 'none'),
    '',
    'Deposits',
    section(deposits.map(depositRow), 'none was read yet'),
    '',
    'Last refusals',
    section(
      refusals.map(({ at, paymaster, reason, detail = '' }) => [at, paymaster, reason, printable(detail)]),
      'none since the start',
    ),
    ...missing.map((what) => `! ${printable(what)}`),
  ].join('\n');
}

function section(rows: readonly (readonly string[])[], empty: string): string {
  return rows.length === 0 ? `  ${empty}` : table(rows);
}

function limitRow({
  paymaster,
  name,
  threshold,
  used,
  percent,
  resetsAt,
  perUser,
}: LimitStatus): readonly string[] {
  if (perUser) return [paymaster, printable(name), `${threshold} per user`, '', ''];
  if (used === undefined) return [paymaster, printable(name), `? of ${threshold}`, '', ''];
  return [paymaster, printable(name), `${used} of ${threshold}`, `${percent} %`, `resets ${resetsAt}`];
}

function depositRow({
  chainId,
  contract,
  fundingAddress,
  balance,
  promised,
  symbol,
}: DepositStatus): readonly string[] {
  const whose = fundingAddress === undefined ? contract : `${fundingAddress} in ${contract}`;
  const held = balance === undefined ? 'not read yet' : `${balance} ${symbol}`;
  return [`chain ${chainId}`, whose, held, `promised ${promised} ${symbol}`];
}
