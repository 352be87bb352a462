import type { Checks } from '../check.js';

/** Money that is missing, or may be lost. */
export const money = {
  'deposit-empty': {
    severity: 'critical',
    what: 'The deposit that pays for gas covers no ordinary operation.',
    remedy: '`paymaster contract deposit`, or top up the wallet that the message names.',
    conditions: ['Funded/Empty', 'Deposited/Empty'],
    alert: 'PaymasterDepositLow',
  },
  'deposit-promised': {
    severity: 'critical',
    what: 'What is not promised of the deposit that pays for gas covers no ordinary operation.',
    conditions: ['Funded/Promised', 'Funded/ShareFull'],
    alert: 'PaymasterDepositLow',
  },
  'deposit-low': {
    severity: 'warning',
    what: 'The deposit that pays for gas covers few operations.',
    remedy: 'Top it up soon.',
    conditions: ['Funded/Low'],
    alert: 'PaymasterDepositLow',
  },
  'no-funding-wallet': {
    severity: 'critical',
    what: 'No wallet pays for a paymaster, or the wallet has not agreed to.',
    remedy: 'Give `spec.funding` with the signature of the wallet.',
    conditions: ['Funded/NoFundingWallet', 'Accepted/FundingNotProven'],
  },
  'open-funding': {
    severity: 'note',
    what: 'Every Organisation spends from a default wallet.',
    remedy: 'List the namespaces that it pays for.',
    conditions: ['OpenFunding/EveryOrganisation'],
    isOfPlatform: true,
  },
  'open-sponsorship': {
    severity: 'critical',
    what: 'A paymaster pays for calls of any contract.',
    conditions: ['OpenSponsorship/NoContracts', 'OpenSponsorship/ContractsInShadow'],
    alert: 'PaymasterOpenSponsorship',
  },
  'no-limit': {
    severity: 'warning',
    what: 'A paymaster has no active limit and no budget: anyone who has its key can spend all that pays for it.',
    remedy: 'Add a PaymasterPolicy with a limit (docs/policies.md).',
  },
  'usage-lost': {
    severity: 'critical',
    what: 'The usage store lost what was used of a limit, which refuses every operation until a person or its window begins it anew.',
    conditions: ['Exhausted/UsageLost'],
    alert: 'PaymasterUsageStoreLost',
  },
  'limit-full': {
    severity: 'warning',
    what: 'A limit that all users share is full.',
    conditions: ['Exhausted/LimitFull', 'Exhausted/BudgetFull'],
    alert: 'PaymasterLimitFull',
  },
  'shadow-refuses-much': {
    severity: 'warning',
    what: 'What is in Shadow would have refused many of the operations that were sponsored.',
    remedy:
      'Look at `groupBy=wouldRefuse` of the usage before Enforce is set, and change the rule or the DApp.',
  },
  'token-loss': {
    severity: 'warning',
    what: 'Operations that paid no token cost more than half of the budget of the day.',
    remedy: 'Find out why they did not pay.',
    conditions: ['TokenLoss/BudgetLow', 'Serving/TokenBudgetFull'],
    alert: 'PaymasterTokenUnpaid',
  },
  'token-unsecured': {
    severity: 'note',
    what: 'A contract takes tokens after the call, so a payment can be lost.',
    conditions: ['TokenSecured/AfterCall', 'TokenSecured/NoRefunds'],
  },
} as const satisfies Checks;
