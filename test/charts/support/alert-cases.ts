/** Series in promtool's notation, e.g. `0+1x30`: 30 steps of a minute that rise by one. */
type Series = Readonly<Record<string, string>>;

/** Series that make an alert fire at minute `at` (default 20), and similar ones that do not. */
export type AlertCase = {
  readonly alert: string;
  readonly at?: number;
  /** Labels by which it names what it is about. */
  readonly naming?: string;
  readonly fires: Series;
  readonly quiet: Series;
};

const calls = (outcome: string) => `paymaster_rpc_requests_total{outcome="${outcome}"}`;
const signerCalls = (result: string) => `paymaster_signer_calls_total{signer="far.yaml",result="${result}"}`;
const signerTook = (le: string) => `paymaster_signer_call_duration_seconds_bucket{signer="far.yaml",le="${le}"}`;
const limit = 'paymaster_limit_nearly_full_ratio{paymaster="p-1",policy="l-1",unit="COUNT",pod="a"}';
const waited = (le: string) => `paymaster_dependency_duration_seconds_bucket{dependency="usage-store",le="${le}"}`;
const volume = (name: string, claim = 'gas-paymaster-postgres') =>
  `kubelet_volume_stats_${name}_bytes{persistentvolumeclaim="${claim}"}`;
const rows = (state: string, schema = 'usage') =>
  `pg_stat_user_tables_n_${state}_tup{schemaname="${schema}",relname="counter"}`;
const deposit = 'paymaster_deposit_lowest_gwei{chain="1",account="entry_point"}';
const condition = (kind: string, type: string) =>
  `paymaster_resource_condition{kind="${kind}",type="${type}",tenant="team-a",resource="shop"}`;
const once = '0x14 1x20';
const never = '0x30';

export const alertCases: readonly AlertCase[] = [
  {
    alert: 'PaymasterRpcAbsent',
    fires: { 'paymaster_configs{kind="chain"}': '1x30' },
    quiet: { 'paymaster_configs{kind="paymaster"}': '0x30' },
  },
  {
    alert: 'PaymasterRpcErrors',
    fires: { [calls('sponsored')]: '0+98x30', [calls('UNAVAILABLE')]: '0+2x30' },
    // Errors that callers cause are not errors of the service.
    quiet: {
      [calls('sponsored')]: '0+98x30',
      [calls('UNAVAILABLE')]: '0+0.9x30',
      [calls('INVALID_INPUT')]: '0+90x30',
    },
  },
  {
    alert: 'PaymasterRpcSlow',
    fires: {
      'paymaster_rpc_request_duration_seconds_bucket{le="2.5"}': '0+90x30',
      'paymaster_rpc_request_duration_seconds_bucket{le="5"}': '0+100x30',
      'paymaster_rpc_request_duration_seconds_bucket{le="+Inf"}': '0+100x30',
    },
    quiet: {
      'paymaster_rpc_request_duration_seconds_bucket{le="2.5"}': '0+100x30',
      'paymaster_rpc_request_duration_seconds_bucket{le="5"}': '0+100x30',
      'paymaster_rpc_request_duration_seconds_bucket{le="+Inf"}': '0+100x30',
    },
  },
  {
    alert: 'PaymasterNotReady',
    fires: { 'paymaster_ready{pod="a",check="serving"}': '1x5 0x30' },
    quiet: { 'paymaster_ready{pod="a",check="serving"}': '0x15 1x30' },
  },
  {
    alert: 'PaymasterConfigStale',
    fires: { 'paymaster_config_confirmed_age_seconds{}': '301x30' },
    quiet: { 'paymaster_config_confirmed_age_seconds{}': '300x30' },
  },
  {
    alert: 'PaymasterConfigAhead',
    fires: { 'paymaster_config_ahead_total{kind="chain"}': once },
    quiet: { 'paymaster_config_ahead_total{kind="chain"}': never },
  },
  {
    alert: 'PaymasterDatabaseDown',
    fires: { 'paymaster_usage_store_connected{pod="a"}': '0x30', 'paymaster_usage_store_connected{pod="b"}': '1x30' },
    quiet: { 'paymaster_usage_store_connected{pod="a"}': '0x19 1x30' },
  },
  {
    alert: 'PaymasterDatabaseSlow',
    fires: { [waited('0.5')]: '0+98x30', [waited('1')]: '0+100x30', [waited('+Inf')]: '0+100x30' },
    quiet: { [waited('0.5')]: '0+100x30', [waited('1')]: '0+100x30', [waited('+Inf')]: '0+100x30' },
  },
  {
    alert: 'PaymasterUsageStoreLost',
    fires: { 'paymaster_usage_store_lost{chain="1"}': '1x30' },
    quiet: { 'paymaster_usage_store_lost{chain="1"}': '1x10 0x30' },
  },
  {
    alert: 'PaymasterDatabaseFull',
    fires: { [volume('available')]: '19x30', [volume('capacity')]: '100x30' },
    // Volumes of others in the namespace are theirs.
    quiet: {
      [volume('available')]: '20x30',
      [volume('capacity')]: '100x30',
      [volume('available', 'logs')]: '1x30',
      [volume('capacity', 'logs')]: '100x30',
    },
  },
  {
    alert: 'PaymasterDatabaseFull',
    // Of an instance of CloudNativePG.
    fires: { [volume('available', 'gas-paymaster-postgres-2')]: '1x30', [volume('capacity', 'gas-paymaster-postgres-2')]: '9x30' },
    quiet: { [volume('available', 'gas-paymaster-postgres-2')]: '8x30', [volume('capacity', 'gas-paymaster-postgres-2')]: '9x30' },
  },
  {
    alert: 'PaymasterDatabaseBloated',
    at: 25,
    fires: { [rows('dead')]: '1000001x30', [rows('live')]: '1000000x30' },
    quiet: {
      [rows('dead')]: '1000001x30',
      [rows('live')]: '1000001x30',
      [rows('dead', 'theirs')]: '9000000x30',
      [rows('live', 'theirs')]: '1x30',
    },
  },
  {
    alert: 'PaymasterDatabaseConnections',
    fires: { 'pg_stat_activity_count{instance="a",state="idle"}': '41x30', 'pg_stat_activity_count{instance="a",state="active"}': '40x30', 'pg_settings_max_connections{instance="a"}': '100x30' },
    // Two servers with half of their connections each.
    quiet: {
      'pg_stat_activity_count{instance="a",state="idle"}': '50x30',
      'pg_settings_max_connections{instance="a"}': '100x30',
      'pg_stat_activity_count{instance="b",state="idle"}': '50x30',
      'pg_settings_max_connections{instance="b"}': '100x30',
    },
  },
  {
    alert: 'PaymasterDatabaseTransactionIds',
    fires: { 'pg_database_wraparound_age_datfrozenxid_seconds{datname="paymaster"}': '1000000001x30' },
    quiet: { 'pg_database_wraparound_age_datfrozenxid_seconds{datname="paymaster"}': '1000000000x30' },
  },
  {
    alert: 'PaymasterDepositLow',
    fires: { [deposit]: '49999999x30' },
    quiet: { [deposit]: '50000000x30', 'paymaster_deposit_lowest_gwei{chain="1",account="funding"}': '1x30' },
  },
  {
    // 100,000 an hour: 240 hours' worth of 24,000,000 is safe, 20 hours' worth is not.
    alert: 'PaymasterDepositRunsOut',
    at: 150,
    fires: { [deposit]: '2200000-1666x180' },
    quiet: { [deposit]: '24000000-1666x180' },
  },
  {
    alert: 'PaymasterLimitNearlyFull',
    naming: `,paymaster="p-1",policy="l-1"`,
    fires: { [limit]: '0.81x30', [limit.replace('"a"', '"b"')]: '0.8x30' },
    quiet: { [limit]: '0.8x30' },
  },
  {
    alert: 'PaymasterLimitFull',
    naming: `,paymaster="p-1",policy="l-1"`,
    fires: {
      [limit]: '0.96x30',
      'paymaster_refusals_total{reason="LIMIT_REACHED"}': '0+1x30',
    },
    // Accounts that have used up their limit are normal.
    quiet: {
      [limit]: '0.95x30',
      'paymaster_refusals_total{reason="LIMIT_REACHED"}': '0+1x30',
    },
  },
  {
    alert: 'PaymasterSigningStopped',
    fires: { 'paymaster_operator_stopped_profiles{chain="1"}': '0x5 1x30' },
    quiet: { 'paymaster_operator_stopped_profiles{chain="1"}': '1x5 0x30' },
  },
  {
    alert: 'PaymasterUnattributedOperation',
    fires: { 'paymaster_unattributed_operations_total{chain="1"}': once },
    quiet: { 'paymaster_unattributed_operations_total{chain="1"}': never },
  },
  {
    alert: 'PaymasterTokenUnpaid',
    fires: { 'paymaster_token_unpaid_operations_total{chain="1"}': once },
    quiet: { 'paymaster_token_unpaid_operations_total{chain="1"}': never },
  },
  {
    alert: 'PaymasterOpenSponsorship',
    fires: { 'paymaster_open_sponsorships_total{}': once },
    quiet: { 'paymaster_open_sponsorships_total{}': never, 'paymaster_open_paymasters{}': '3x30' },
  },
  {
    alert: 'PaymasterWebhookFailing',
    fires: {
      'paymaster_webhook_calls_total{outcome="verified"}': '0+8x30',
      'paymaster_webhook_calls_total{outcome="failed"}': '0+2x30',
    },
    quiet: {
      'paymaster_webhook_calls_total{outcome="verified"}': '0+2x30',
      'paymaster_webhook_calls_total{outcome="refused"}': '0+8x30',
    },
  },
  {
    alert: 'PaymasterSignerUnavailable',
    naming: ',signer="far.yaml"',
    fires: { 'paymaster_signer_unavailable{signer="far.yaml",pod="a"}': '0x15 1x20' },
    // Away for a reading of the files, and back at the next.
    quiet: { 'paymaster_signer_unavailable{signer="far.yaml",pod="a"}': '0x18 1x1 0x20' },
  },
  {
    alert: 'PaymasterSignerSlow',
    naming: ',signer="far.yaml"',
    fires: { [signerCalls('signed')]: '0+94x30', [signerCalls('busy')]: '0+6x30' },
    quiet: { [signerCalls('signed')]: '0+96x30', [signerCalls('busy')]: '0+4x30' },
  },
  {
    alert: 'PaymasterSignerSlow',
    naming: ',signer="far.yaml"',
    fires: { [signerTook('1')]: '0+98x30', [signerTook('2')]: '0+100x30', [signerTook('+Inf')]: '0+100x30' },
    quiet: { [signerTook('1')]: '0+100x30', [signerTook('2')]: '0+100x30', [signerTook('+Inf')]: '0+100x30' },
  },
  {
    alert: 'PaymasterOperationPassedOver',
    fires: { 'paymaster_follower_passed_over_total{chain="1"}': once },
    quiet: {
      'paymaster_follower_passed_over_total{chain="1"}': never,
      'paymaster_follower_unread_operations{chain="1"}': '3x30',
    },
  },
  {
    alert: 'PaymasterReorganised',
    fires: { 'paymaster_reorganised_reservations_total{chain="1"}': once },
    quiet: { 'paymaster_reorganised_reservations_total{chain="1"}': never },
  },
  {
    alert: 'PaymasterReservationsForfeited',
    fires: { 'paymaster_settlements_total{chain="1",outcome="forfeited"}': once },
    quiet: { 'paymaster_settlements_total{chain="1",outcome="released"}': once },
  },
  {
    alert: 'PaymasterFollowerBehind',
    fires: { 'paymaster_follower_lag_seconds{chain="1"}': '301x30' },
    // A chain that makes no blocks while nobody uses it: its head gets old, and nothing waits for a block.
    quiet: {
      'paymaster_follower_lag_seconds{chain="1"}': '300x30',
      'paymaster_chain_head_age_seconds{chain="1"}': '0+60x30',
      'paymaster_follower_block{chain="1"}': '7x30',
      'paymaster_reservations{chain="1"}': '3x30',
    },
  },
  {
    alert: 'PaymasterFollowerBehind',
    at: 60,
    // A node that stands still, on a chain that makes a block every two seconds.
    fires: {
      'paymaster_follower_lag_seconds{chain="1"}': '0x60',
      'paymaster_chain_head_age_seconds{chain="1"}': '1x40 60+60x20',
      'paymaster_follower_block{chain="1"}': '0+30x40 1200x20',
      'paymaster_reservations{chain="1"}': '3x60',
    },
    // The same, and nothing is promised there.
    quiet: {
      'paymaster_follower_lag_seconds{chain="1"}': '0x60',
      'paymaster_chain_head_age_seconds{chain="1"}': '1x40 60+60x20',
      'paymaster_follower_block{chain="1"}': '0+30x40 1200x20',
      'paymaster_reservations{chain="1"}': '0x60',
    },
  },
  {
    alert: 'PaymasterFollowerStalled',
    fires: { 'paymaster_follower_stalled_seconds{chain="1"}': '301x30' },
    quiet: { 'paymaster_follower_stalled_seconds{chain="1"}': '300x30' },
  },
  {
    alert: 'PaymasterDataFeeUnknown',
    fires: { 'paymaster_data_fee_age_seconds{chain="8453"}': '0+60x30' },
    quiet: {
      'paymaster_data_fee_age_seconds{chain="8453"}': '300x30',
      'paymaster_data_fee_reads_total{chain="8453",outcome="ok"}': '0+6x30',
      'paymaster_data_fee_reads_total{chain="8453",outcome="unsupported"}': never,
    },
  },
  {
    alert: 'PaymasterDataFeeUnknown',
    // A chain that charges by another rule has no reading, so no age.
    fires: { 'paymaster_data_fee_reads_total{chain="8453",outcome="unsupported"}': '0+6x30' },
    quiet: { 'paymaster_data_fee_reads_total{chain="8453",outcome="unreachable"}': '0+6x30' },
  },
  {
    alert: 'PaymasterPriceJump',
    fires: { 'paymaster_price_reads_total{source="http",outcome="jump"}': '0+6x30' },
    quiet: {
      'paymaster_price_reads_total{source="http",outcome="ok"}': '0+6x30',
      'paymaster_price_reads_total{source="chainlink",outcome="jump"}': '7x30',
    },
  },
  {
    alert: 'PaymasterChainNotReady',
    fires: { [condition('Chain', 'Ready')]: '0x30' },
    quiet: { [condition('Chain', 'Ready')]: '0x15 1x30', [condition('Paymaster', 'Ready')]: '0x30' },
  },
  {
    alert: 'PaymasterOperatorWithoutLeader',
    // Another Lease does not count.
    fires: { 'leader_election_master_status{name="another"}': '1x30' },
    quiet: { 'leader_election_master_status{name="gas-paymaster-operator"}': '1x30' },
  },
  {
    alert: 'PaymasterReconcileErrors',
    at: 40,
    fires: { 'controller_runtime_reconcile_errors_total{controller="chains"}': '0+7x60' },
    quiet: { 'controller_runtime_reconcile_errors_total{controller="chains"}': '0+5x60' },
  },
  {
    alert: 'PaymasterMasterKeysNotApplied',
    // Standbys do not look; a change that is being applied takes minutes.
    fires: {
      'paymaster_operator_master_keys_waiting_seconds{pod="leader"}': '0+60x30',
      'paymaster_operator_master_keys_waiting_seconds{pod="standby"}': '0x30',
    },
    quiet: { 'paymaster_operator_master_keys_waiting_seconds{pod="leader"}': '0+45x30' },
  },
  {
    alert: 'PaymasterMasterKeysMissing',
    fires: { 'paymaster_master_keys_missing{pod="a"}': '1x30', 'paymaster_master_keys_missing{pod="b"}': '0x30' },
    quiet: { 'paymaster_master_keys_missing{pod="a"}': '0x17 1x30' },
  },
  {
    alert: 'PaymasterLedgerJobFailing',
    fires: { 'paymaster_ledger_failures_total{work="rollUp"}': '0+2x30' },
    quiet: { 'paymaster_ledger_failures_total{work="rollUp"}': '5x30' },
  },
  {
    // It runs once an hour, and makes the parts of the coming week.
    alert: 'PaymasterLedgerJobFailing',
    at: 250,
    fires: { 'paymaster_ledger_failures_total{work="prune"}': '0x30 1x60 2x60 3x60 4x60' },
    quiet: { 'paymaster_ledger_failures_total{work="prune"}': '0x30 1x300' },
  },
  {
    alert: 'PaymasterLedgerMissing',
    fires: { 'paymaster_ledger_dropped_total{cause="space"}': '0+1x30' },
    quiet: { 'paymaster_ledger_dropped_total{cause="rate"}': '0+1x30' },
  },
  {
    alert: 'PaymasterLedgerFull',
    fires: { 'paymaster_ledger_used_bytes{}': '97x30', 'paymaster_ledger_capacity_bytes{}': '100x30' },
    quiet: { 'paymaster_ledger_used_bytes{}': '92x30', 'paymaster_ledger_capacity_bytes{}': '100x30' },
  },
];
