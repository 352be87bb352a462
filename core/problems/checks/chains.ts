import type { Checks } from '../check.js';

/** What a chain, its clock or its prices lack. */
export const chains = {
  'chain-away': {
    severity: 'critical',
    what: 'No node of the chain answers.',
    conditions: ['Reachable/Unreachable'],
    readiness: ['chains-answer'],
    alert: 'PaymasterChainNotReady',
  },
  'wrong-chain': {
    severity: 'critical',
    what: 'The node serves another chain.',
    conditions: ['Reachable/WrongChain'],
    alert: 'PaymasterChainNotReady',
  },
  'chain-not-followed': {
    severity: 'critical',
    what: 'Mined operations are not settled: limits and deposits fill early.',
    remedy: 'Put a node first in `spec.rpc` that is up to date.',
    conditions: ['Following/Failing', 'Following/Waiting', 'Following/NoFinality'],
    readiness: ['chains-followed'],
    alert: 'PaymasterFollowerStalled',
  },
  'nothing-to-serve': {
    severity: 'warning',
    what: 'A Chain has no contract profile, so no paymaster can use it.',
    conditions: ['Ready/NothingToServe'],
  },
  'clock-ahead': {
    severity: 'critical',
    what: 'The chain is so far ahead of the clock that nothing is signed.',
    remedy: 'Set the clock of the cluster (NTP).',
    conditions: ['ClockSkew/FarAhead'],
    alert: 'PaymasterChainNotReady',
  },
  'clock-skew': {
    severity: 'warning',
    what: 'The chain is ahead of the clock.',
    conditions: ['ClockSkew/Ahead'],
  },
  'price-unusable': {
    severity: 'warning',
    what: 'A price cannot be used: payments in the token, or limits in dollars, are refused.',
    remedy: 'Check the price source that the message names.',
    conditions: [
      'PriceUsable/Stale',
      'PriceUsable/Deviation',
      'PriceUsable/TooFewSources',
      'PriceUsable/DecimalsMismatch',
      'PriceUsable/SymbolMismatch',
      'PriceUsable/Unreachable',
      'PriceUsable/Reverted',
      'PriceUsable/Malformed',
      'PriceUsable/OutOfRange',
      'PriceUsable/SequencerDown',
      'PriceUsable/Incomplete',
      'Serving/TokensUnpriced',
    ],
  },
  'price-jump': {
    severity: 'critical',
    what: 'A price has fallen further than is accepted: limits in dollars, or payments in the token, are refused.',
    conditions: ['PriceUsable/Jump'],
    alert: 'PaymasterPriceJump',
  },
  'no-native-price': {
    severity: 'critical',
    what: 'A limit or a budget in dollars counts on a chain whose coin has no price.',
    conditions: ['Accepted/NoNativePrice', 'Ready/NoNativePrice'],
  },
  'data-fee-unknown': {
    severity: 'warning',
    what: 'What the chain charges for posted data cannot be read.',
    remedy: 'Check the node and `spec.dataFee` of the Chain.',
    conditions: ['DataFeeUsable/Unreachable', 'DataFeeUsable/Unsupported'],
    alert: 'PaymasterDataFeeUnknown',
  },
} as const satisfies Checks;
