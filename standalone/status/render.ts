import { table } from '../console.js';
import { printable } from '../../core/terminal-text.js';
import { countStates, formatStates } from '../resource-state.js';
import type { DecisionStatus, DepositStatus, RuleStatus, SpentStatus, Status } from './status.js';

/** The status as sections of text for a terminal. */
export function renderStatus(status: Status): string {
  const { resources, rules, deposits, spent, decisions, refusals, missing } = status;
  return [
    `Resources: ${countStates(resources)}`,
    ...formatStates(resources).map((line) => `  ${line}`),
    '',
    'Rules',
    section(rules.map(ruleRow), 'none'),
    '',
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

function ruleRow(rule: RuleStatus): readonly string[] {
  const { paymaster, policyType, name, enforcement, says, verdict, remaining, turnsAt } = rule;
  const rest = [
    verdict === 'refuse' ? 'refuses' : '',
    remaining === undefined ? '' : `${remaining} left`,
    turnsAt === undefined ? '' : `until ${turnsAt}`,
  ];
  const marked = enforcement === 'Shadow' ? `${name} (Shadow)` : name;
  return [paymaster, policyType, marked, says, rest.filter(Boolean).join(', ')];
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
