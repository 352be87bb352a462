import type { ErrorCode } from '../../core/errors.js';
import type { Metrics } from '../../core/metrics.js';
import { refusals } from '../../core/refusal.js';

/**
 * Every metric of the server, in one table: names, units, label sets (adapters declare theirs beside their code). Label values come
 * from closed sets or are chain ids. A policy or address is never a label value, since there may be a hundred thousand of them; a
 * paymaster only where paymaster-labels.ts bounds their number.
 */
export function createInstruments(metrics: Metrics) {
  const refused = metrics.counter<'reason'>({
    name: 'paymaster_refusals_total',
    help: 'Operations that were not sponsored, by the reason that clients see.',
    labels: ['reason'],
  });
  // Created at the start, so that dashboards and alerts see every reason at 0 before it first happens.
  for (const reason of Object.keys(refusals)) refused.with({ reason });

  return {
    /** `outcome` is `sponsored`, `committed` (reserved, not signed yet), `refused`, `answered` (anything else that worked) or the code of the error. */
    rpcRequests: metrics.counter<'method' | 'outcome'>({
      name: 'paymaster_rpc_requests_total',
      help: 'JSON-RPC calls, by method ("unknown" for any other) and outcome.',
      labels: ['method', 'outcome'],
    }),
    rpcDuration: metrics.histogram<'method'>({
      name: 'paymaster_rpc_request_duration_seconds',
      help: 'Time from the parsed JSON-RPC call to its answer.',
      labels: ['method'],
      buckets: latencyBuckets,
    }),
    refusals: refused,
    /** `verdict` is `sponsored` or `refused`. `paymaster` is an id, or `other`; see paymaster-labels.ts. */
    paymasterOperations: metrics.counter<'paymaster' | 'verdict'>({
      name: 'paymaster_operations_total',
      help: 'Operations that were sponsored or refused, by paymaster: the first 1,000 that a process serves, the rest as "other".',
      labels: ['paymaster', 'verdict'],
    }),
    paymasterSpent: metrics.counter<'paymaster'>({
      name: 'paymaster_spent_gwei_total',
      help: 'Actual gas cost of mined operations, by paymaster as above. Counted when they are settled; a reorganisation takes nothing back.',
      labels: ['paymaster'],
    }),
    openSponsorships: metrics.counter({
      name: 'paymaster_open_sponsorships_total',
      help: 'Operations that were signed for paymasters that sponsor calls to any contract.',
    }),
    openPaymasters: metrics.gauge({
      name: 'paymaster_open_paymasters',
      help: 'Paymasters served that sponsor calls to any contract: none is registered and defaultContractAction is Allow.',
    }),
    /** `dependency` is one of {@link dependencies}; `outcome` is `ok` or `failed`. */
    dependencyDuration: metrics.histogram<'dependency' | 'outcome'>({
      name: 'paymaster_dependency_duration_seconds',
      help: 'Time that a sponsorship waited for something outside its own computation.',
      labels: ['dependency', 'outcome'],
      buckets: latencyBuckets,
    }),
    /** `kind` is `paymaster` or `chain`. */
    configsAhead: metrics.counter<'kind'>({
      name: 'paymaster_config_ahead_total',
      help: 'Configs seen whose generation is more than 60 s ahead of the clock of this process: a clock is wrong.',
      labels: ['kind'],
    }),
    /** `account` is `entry_point` (a contract's own deposit) or `funding` (a sponsor's balance inside a contract). */
    lowestDeposit: metrics.gauge<'chain' | 'account'>({
      name: 'paymaster_deposit_lowest_gwei',
      help: 'Lowest deposit among the accounts of a chain that are in use.',
      labels: ['chain', 'account'],
    }),
    totalDeposit: metrics.gauge<'chain' | 'account'>({
      name: 'paymaster_deposit_total_gwei',
      help: 'Sum of the deposits of a chain.',
      labels: ['chain', 'account'],
    }),
    reservedDeposit: metrics.gauge<'chain' | 'account'>({
      name: 'paymaster_deposit_reserved_gwei',
      help: 'Sum of the amounts promised to operations that are not settled yet.',
      labels: ['chain', 'account'],
    }),
    reservations: metrics.gauge<'chain'>({
      name: 'paymaster_reservations',
      help: 'Signed operations that are neither mined nor expired yet.',
      labels: ['chain'],
    }),
    /** `unit` is `operations` or `gwei`. */
    limitsReserved: metrics.counter<'unit'>({
      name: 'paymaster_limits_reserved_total',
      help: 'What signed operations took from spending limits at most, over all limits: operations or gwei.',
      labels: ['unit'],
    }),
    settlements: metrics.counter<'chain' | 'outcome'>({
      name: 'paymaster_settlements_total',
      help: 'Reservations that ended, by outcome: settled, released, forfeited (nonce used, no operation found), or unfinished (committed, never finalized).',
      labels: ['chain', 'outcome'],
    }),
    unpaidOperations: metrics.counter<'chain'>({
      name: 'paymaster_token_unpaid_operations_total',
      help: 'Operations that were mined in mode ERC20 and paid no token; their senders are barred.',
      labels: ['chain'],
    }),
    unattributedOperations: metrics.counter<'chain'>({
      name: 'paymaster_unattributed_operations_total',
      help: 'Operations that a paymaster contract paid for and nobody here has promised: the key leaked or usage data are lost.',
      labels: ['chain'],
    }),
    restoredReservations: metrics.counter<'chain'>({
      name: 'paymaster_reorganised_reservations_total',
      help: 'Reservations that are live again because their blocks were removed: limits may show more than their thresholds.',
      labels: ['chain'],
    }),
    followerBlock: metrics.gauge<'chain'>({
      name: 'paymaster_follower_block',
      help: 'Block up to which events are settled.',
      labels: ['chain'],
    }),
    followerLag: metrics.gauge<'chain'>({
      name: 'paymaster_follower_lag_seconds',
      help: 'Seconds since settlement had last caught up with what the chain shows: 0 also on a chain that makes no blocks.',
      labels: ['chain'],
    }),
    headAge: metrics.gauge<'chain'>({
      name: 'paymaster_chain_head_age_seconds',
      help: 'Age of the newest block that was read.',
      labels: ['chain'],
    }),
    followerFailures: metrics.counter<'chain'>({
      name: 'paymaster_follower_failures_total',
      help: 'Follower rounds that failed and will be repeated.',
      labels: ['chain'],
    }),
    /** `cause` is `rate` or `space`. */
    ledgerDropped: metrics.counter<'cause'>({
      name: 'paymaster_ledger_dropped_total',
      help: 'Records of refusals that were not kept, by cause: rate (more than are recorded of a paymaster and reason), space (no room).',
      labels: ['cause'],
    }),
    ledgerInputsDropped: metrics.counter({
      name: 'paymaster_ledger_inputs_dropped_total',
      help: 'Inputs of decisions that were not kept because there was no room. A replay cannot decide these again.',
    }),
    signQueue: metrics.gauge({
      name: 'paymaster_sign_queue_depth',
      help: 'Operations waiting for their signature when the last batch was taken.',
    }),
    signBatch: metrics.histogram({
      name: 'paymaster_sign_batch_size',
      help: 'Operations signed together in one turn of the event loop.',
      buckets: [1, 2, 4, 8, 16, 32, 64],
    }),
    configs: metrics.gauge<'kind'>({
      name: 'paymaster_configs',
      help: 'Compiled configs that are served, by kind: paymaster or chain.',
      labels: ['kind'],
    }),
    /** `sender` is `key` (a known paymaster's) or `stranger`. */
    bodyBytes: metrics.gauge<'sender'>({
      name: 'paymaster_request_body_bytes',
      help: 'Bytes of JSON-RPC request bodies that are held now, from their arrival to the answer.',
      labels: ['sender'],
    }),
    configAge: metrics.gauge({
      name: 'paymaster_config_confirmed_age_seconds',
      help: 'Time since the config store last confirmed that the served configs are current.',
    }),
    dashboardRequests: metrics.counter<'route' | 'status'>({
      name: 'paymaster_dashboard_requests_total',
      help: 'Dashboard calls, by route (method and path template) and HTTP status.',
      labels: ['route', 'status'],
    }),
    dashboardDuration: metrics.histogram<'route'>({
      name: 'paymaster_dashboard_request_duration_seconds',
      help: 'Time of a dashboard call.',
      labels: ['route'],
      buckets: latencyBuckets,
    }),
    /** 1 or 0 per readiness check; set whenever `/readyz` or `/metrics` is asked. */
    ready: metrics.gauge<'check'>({
      name: 'paymaster_ready',
      help: 'Readiness checks: 1 passes, 0 does not.',
      labels: ['check'],
    }),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;

export type RpcOutcome = 'sponsored' | 'committed' | 'refused' | 'answered' | ErrorCode;
const dependencies = [
  'usage-store',
  'signer',
  'estimator',
  'account-validation',
  'token-payment',
  'webhook',
  'chain',
] as const;
export type Dependency = (typeof dependencies)[number];

/** From a native signature to the longest budget of a request, in seconds. */
const latencyBuckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
