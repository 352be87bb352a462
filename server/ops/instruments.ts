import type { ErrorCode } from '../../core/error-codes.js';
import type { Metrics } from '../../core/metrics.js';
import { refusals } from '../../core/refusal.js';

/**
 * Every metric of the server, in one table: names, units, label sets (adapters declare theirs beside their code). Label values come
 * from closed sets or are chain ids. An address is never a label value, since there may be a hundred thousand of them; a paymaster
 * only where paymaster-labels.ts bounds their number (and in adapters/store/usage-fullness.ts, with the policy).
 */
export function createInstruments(metrics: Metrics) {
  const by = <L extends string = never>(...labels: readonly L[]) => ({
    counter: (name: string, help: string) => metrics.counter<L>({ name, help, labels }),
    gauge: (name: string, help: string) => metrics.gauge<L>({ name, help, labels }),
    histogram: (name: string, help: string, buckets: readonly number[] = latencyBuckets) =>
      metrics.histogram<L>({ name, help, labels, buckets }),
  });
  const refused = by('reason').counter(
    'paymaster_refusals_total',
    'Operations that were not sponsored, by the reason that clients see.',
  );
  // Created at the start, so that dashboards and alerts see every reason at 0 before it first happens.
  for (const reason of Object.keys(refusals)) refused.with({ reason });

  const wouldRefuse = by('reason').counter(
    'paymaster_would_refuse_total',
    'What policies in Shadow would have refused, by reason: each policy once for a request.',
  );
  for (const reason of Object.keys(refusals)) wouldRefuse.with({ reason });

  return {
    wouldRefuse,
    /**
     * `outcome` is `sponsored`, `committed` (reserved, not signed yet), `refused`, `answered` (anything else that worked), or the code of the
     * error.
     */
    rpcRequests: by('method', 'outcome').counter(
      'paymaster_rpc_requests_total',
      'JSON-RPC calls, by method ("unknown" for any other) and outcome.',
    ),
    rpcDuration: by('method').histogram(
      'paymaster_rpc_request_duration_seconds',
      'Time from the parsed JSON-RPC call to its answer.',
    ),
    refusals: refused,
    /** `verdict` is `sponsored` or `refused`. `paymaster` is an id, or `other`; see paymaster-labels.ts. */
    paymasterOperations: by('paymaster', 'verdict').counter(
      'paymaster_operations_total',
      'Operations that were sponsored or refused, by paymaster: the first 1,000 that a process serves, the rest as "other".',
    ),
    paymasterSpent: by('paymaster').counter(
      'paymaster_spent_gwei_total',
      'Actual gas cost of mined operations, by paymaster as above. Counted when they are settled; a reorganisation takes nothing back.',
    ),
    openSponsorships: by().counter(
      'paymaster_open_sponsorships_total',
      'Operations that were signed for paymasters that sponsor calls to any contract.',
    ),
    openPaymasters: by().gauge(
      'paymaster_open_paymasters',
      'Paymasters served that sponsor calls to any contract: none is registered and defaultContractAction is Allow.',
    ),
    /** `dependency` is a {@link Dependency}; `outcome` is `ok` or `failed`. */
    dependencyDuration: by('dependency', 'outcome').histogram(
      'paymaster_dependency_duration_seconds',
      'Time that a sponsorship waited for something outside its own computation.',
    ),
    /** `kind` is `paymaster` or `chain`. */
    configsAhead: by('kind').counter(
      'paymaster_config_ahead_total',
      'Configs seen whose generation is more than 60 s ahead of the clock of this process: a clock is wrong.',
    ),
    /** `account` is `entry_point` (a contract's own deposit) or `funding` (a sponsor's balance inside a contract). */
    lowestDeposit: by('chain', 'account').gauge(
      'paymaster_deposit_lowest_gwei',
      'Lowest deposit among the accounts of a chain that are in use.',
    ),
    totalDeposit: by('chain', 'account').gauge(
      'paymaster_deposit_total_gwei',
      'Sum of the deposits of a chain.',
    ),
    reservedDeposit: by('chain', 'account').gauge(
      'paymaster_deposit_reserved_gwei',
      'Sum of the amounts promised to operations that are not settled yet.',
    ),
    reservations: by('chain').gauge(
      'paymaster_reservations',
      'Signed operations that are neither mined nor expired yet.',
    ),
    /** `unit` is the measure of a unit's row. */
    limitsReserved: by('unit').counter(
      'paymaster_limits_reserved_total',
      'What signed operations took from spending limits at most, over all limits, in the unit of each.',
    ),
    settlements: by('chain', 'outcome').counter(
      'paymaster_settlements_total',
      'Reservations that ended, by outcome: settled, released, forfeited (nonce used, no operation found), or unfinished (committed, never finalized).',
    ),
    unpaidOperations: by('chain').counter(
      'paymaster_token_unpaid_operations_total',
      'Operations that were mined in mode ERC20 and paid no token; their senders are barred.',
    ),
    /** `contract` is an address: one of the few that the Chains' profiles name. */
    tokenLosses: by('chain', 'contract').counter(
      'paymaster_token_losses_gwei_total',
      'What operations in mode ERC20 cost that were mined and did not pay in full, by contract. Counted when they are settled; a reorganisation takes nothing back.',
    ),
    unattributedOperations: by('chain').counter(
      'paymaster_unattributed_operations_total',
      'Operations that a paymaster contract paid for and nobody here has promised: the key leaked or usage data are lost.',
    ),
    unreadOperations: by('chain').gauge(
      'paymaster_follower_unread_operations',
      'Mined operations that wait because no node shows their transaction or the logs of their block.',
    ),
    passedOver: by('chain').counter(
      'paymaster_follower_passed_over_total',
      'Mined operations that were settled although no node has shown their transaction or the logs of their block.',
    ),
    restoredReservations: by('chain').counter(
      'paymaster_reorganised_reservations_total',
      'Reservations that are live again because their blocks were removed: limits may show more than their thresholds.',
    ),
    followerBlock: by('chain').gauge('paymaster_follower_block', 'Block up to which events are settled.'),
    followerLag: by('chain').gauge(
      'paymaster_follower_lag_seconds',
      'Seconds since settlement had last caught up with what the chain shows: 0 also on a chain that makes no blocks.',
    ),
    followerStalled: by('chain').gauge(
      'paymaster_follower_stalled_seconds',
      'Seconds for which the settled block has not moved although the chain has.',
    ),
    headAge: by('chain').gauge('paymaster_chain_head_age_seconds', 'Age of the newest block that was read.'),
    followerFailures: by('chain').counter(
      'paymaster_follower_failures_total',
      'Follower rounds that failed and will be repeated.',
    ),
    /** `cause` is `rate` or `space`. */
    ledgerDropped: by('cause').counter(
      'paymaster_ledger_dropped_total',
      'Records of refusals that were not kept, by cause: rate (more than are recorded of a paymaster and reason), space (no room in memory, in the size of the ledger, or in the share of the organisation).',
    ),
    signQueue: by().gauge(
      'paymaster_sign_queue_depth',
      'Operations waiting for their signature when the last batch was taken.',
    ),
    signBatch: by().histogram(
      'paymaster_sign_batch_size',
      'Operations signed together in one turn of the event loop.',
      [1, 2, 4, 8, 16, 32, 64],
    ),
    configs: by('kind').gauge(
      'paymaster_configs',
      'Compiled configs that are served, by kind: paymaster or chain.',
    ),
    /** `sender` is `key` (a known paymaster's) or `stranger`. */
    bodyBytes: by('sender').gauge(
      'paymaster_request_body_bytes',
      'Bytes of JSON-RPC request bodies that are held now, from their arrival to the answer.',
    ),
    configAge: by().gauge(
      'paymaster_config_confirmed_age_seconds',
      'Time since the config store last confirmed that the served configs are current.',
    ),
    dashboardRequests: by('route', 'status').counter(
      'paymaster_dashboard_requests_total',
      'Dashboard calls, by route (method and path template) and HTTP status.',
    ),
    dashboardDuration: by('route').histogram(
      'paymaster_dashboard_request_duration_seconds',
      'Time of a dashboard call.',
    ),
    /** 1 or 0 per readiness check; set whenever `/readyz` or `/metrics` is asked. */
    ready: by('check').gauge('paymaster_ready', 'Readiness checks: 1 passes, 0 does not.'),
  };
}

export type Instruments = ReturnType<typeof createInstruments>;

export type RpcOutcome = 'sponsored' | 'committed' | 'refused' | 'answered' | ErrorCode;
export type Dependency =
  'usage-store' | 'signer' | 'estimator' | 'account-validation' | 'token-payment' | 'webhook' | 'chain';

/** From a native signature to the longest budget of a request, in seconds. */
const latencyBuckets = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];
