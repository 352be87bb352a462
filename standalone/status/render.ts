import { table } from '../console.js';
import { printable } from '../../core/terminal-text.js';
import { countStates, formatStates } from '../resource-state.js';
import type { DecisionStatus, DepositStatus, LimitStatus, SpentStatus, Status } from './status.js';

/** The status as sections of text for a terminal. */
export function renderStatus(status: Status): string {
  const { resources, limits, rules, deposits, spent, decisions, refusals, missing } = status;
  return [
    `Resources: ${countStates(resources)}`,
    ...formatStates(resources).map((line) => `  ${line}`),
    '',
    'Limits (spent and promised)',
    section(limits.map(limitRow), 'none'),
    '',
    ...(rules.length === 0
      ? []
      : ['Rules', table(rules.map((rule) => [rule.paymaster, rule.policyType, rule.name, rule.says])), '']),
    'Deposits',
    section(deposits.map(depositRow), 'none was read yet'),
    '',
    'Last 24 hours',
    section(spent.map(spentRow), 'no ledger'),
    '',
    'Last decisions',
    section(decisions.map(decisionRow), 'none'),
    '',
    'Last refusals',
    section(
      refusals.map(({ at, paymaster, reason, detail = '' }) => [at, paymaster, reason, detail]),
      'none since the start',
    ),
    ...missing.map((what) => `! ${printable(what)}`),
  ].join('\n');
}

function section(rows: readonly (readonly string[])[], empty: string): string {
  return rows.length === 0 ? `  ${empty}` : table(rows);
}

function limitRow(limit: LimitStatus): readonly string[] {
  const { paymaster, name, threshold, used, percent, resetsAt, perUser } = limit;
  if (perUser) return [paymaster, name, `${threshold} per user`, '', ''];
  if (used === undefined) return [paymaster, name, `? of ${threshold}`, '', ''];
  return [paymaster, name, `${used} of ${threshold}`, `${percent} %`, `resets ${resetsAt}`];
}

function spentRow({ organisation, sponsored, refused, mined, spent }: SpentStatus): readonly string[] {
  return [organisation, `${sponsored} sponsored`, `${refused} refused`, `${mined} mined`, `${spent} spent`];
}

function decisionRow(decision: DecisionStatus): readonly string[] {
  const { at, id, paymaster, sender, verdict, reason = '', cost = '' } = decision;
  return [at, id, paymaster, sender, verdict, `${reason}${cost}`];
}

function depositRow(deposit: DepositStatus): readonly string[] {
  const { chainId, contract, fundingAddress, balance, promised, symbol } = deposit;
  const whose = fundingAddress === undefined ? contract : `${fundingAddress} in ${contract}`;
  const held = balance === undefined ? 'not read yet' : `${balance} ${symbol}`;
  return [`chain ${chainId}`, whose, held, `promised ${promised} ${symbol}`];
}
