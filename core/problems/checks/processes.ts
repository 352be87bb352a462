import type { Checks } from '../check.js';

/** Processes and hosts that are away: database, replicas, operator, webhooks. */
export const processes = {
  'database-away': {
    severity: 'critical',
    what: 'The database of limits and promises does not answer.',
    remedy: 'Bring the database back; nothing is signed without it.',
    readiness: ['usage-store'],
    alert: 'PaymasterDatabaseDown',
  },
  'database-lost': {
    severity: 'critical',
    what: 'The database has lost promises and used amounts of a chain.',
    remedy: 'Wait until every earlier promise has expired. Do not restore a backup.',
    conditions: ['UsageStoreLost/Lost'],
    readiness: ['usage-data'],
    alert: 'PaymasterUsageStoreLost',
  },
  'loss-accepted': {
    severity: 'note',
    what: 'A loss of usage data was accepted by an annotation.',
    remedy: 'Watch the deposits: promises from before the loss count nowhere.',
    conditions: ['UsageStoreLost/LossAccepted'],
  },
  'stale-replica': {
    severity: 'critical',
    what: 'A replica serves a configuration that nobody has confirmed, or has none.',
    remedy: 'Check that the pod reaches the API server.',
    readiness: ['configs-synced', 'configs-confirmed'],
    alert: 'PaymasterConfigStale',
  },
  'api-server-away': {
    severity: 'warning',
    what: 'The store of the resources does not answer: no change and no pause arrives.',
    remedy: 'Bring the API server back; `paymaster suspend --direct` stops signing meanwhile.',
    readiness: ['resource-store'],
    alert: 'PaymasterConfigStale',
  },
  'replica-not-ready': {
    severity: 'warning',
    what: 'A replica takes no traffic: it starts, stops, or its checks fail.',
    remedy: 'Do what the check says.',
    readiness: ['serving', 'mounts', 'warm-up'],
    alert: 'PaymasterNotReady',
  },
  'nothing-served': {
    severity: 'warning',
    what: 'A replica has no paymaster that it can sign for.',
    remedy: 'Apply a Chain, an Organisation and a Paymaster, and see their conditions.',
    readiness: ['paymasters'],
  },
  'operator-away': {
    severity: 'critical',
    what: 'The operator has not looked at an object for a minute since it was made.',
    remedy: 'Look at the operator: it may not run, or not reach the API server.',
    alert: 'PaymasterOperatorWithoutLeader',
  },
  'not-seen-yet': {
    severity: 'note',
    what: 'The operator has not looked at an object since it was made or changed.',
    remedy: 'Wait some seconds; if it stays so, look at the operator.',
    alert: 'PaymasterOperatorWithoutLeader',
  },
  'webhook-failing': {
    severity: 'critical',
    what: 'A webhook does not answer, so its policy refuses.',
    conditions: ['HostFailing/WebhookFailing'],
    alert: 'PaymasterWebhookFailing',
  },
} as const satisfies Checks;
