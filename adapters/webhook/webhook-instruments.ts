import type { Metrics } from '../../core/metrics.js';

export type WebhookInstruments = ReturnType<typeof createWebhookInstruments>;

export function createWebhookInstruments(metrics: Metrics) {
  return {
    calls: metrics.counter<'outcome'>({
      name: 'paymaster_webhook_calls_total',
      help: 'Webhook calls by outcome: verified, refused, failed, blocked by our own rules, or busy (not asked in time by us).',
      labels: ['outcome'],
    }),
    retries: metrics.counter({
      name: 'paymaster_webhook_retries_total',
      help: 'Second attempts after a connection error or an HTTP 5xx.',
    }),
    duration: metrics.histogram({
      name: 'paymaster_webhook_duration_seconds',
      help: 'Time of one webhook call, its retry included.',
      buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 5, 10],
    }),
  };
}
