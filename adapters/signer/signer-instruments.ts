import type { Metrics } from '../../core/metrics.js';

const results = ['signed', 'refused', 'throttled', 'unreached', 'unclear', 'busy'] as const;
export type CallResult = (typeof results)[number];

/** What a remote signer counts of itself. */
export type SignerMeter = {
  called(result: CallResult, seconds: number): void;
  /** No call was made: too many waited. */
  busy(): void;
  waiting(count: number): void;
};

/** `signer` is the name of a file or variable of the platform, never what is in it: no key, no URL. */
export function createSignerInstruments(metrics: Metrics) {
  const calls = metrics.counter<'signer' | 'result'>({
    name: 'paymaster_signer_calls_total',
    help: 'Calls of signers elsewhere, by result: signed, refused, throttled, unreached, unclear (it may have signed), or busy (not called, too many of one paymaster or of all waited).',
    labels: ['signer', 'result'],
  });
  const duration = metrics.histogram<'signer'>({
    name: 'paymaster_signer_call_duration_seconds',
    help: 'Time of one call of a signer elsewhere.',
    labels: ['signer'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 5],
  });
  const waiting = metrics.gauge<'signer'>({
    name: 'paymaster_signer_queue_depth',
    help: 'Signatures that wait until a signer elsewhere may be called.',
    labels: ['signer'],
  });
  const unavailable = metrics.gauge<'signer'>({
    name: 'paymaster_signer_unavailable',
    help: '1: the signer of this file or variable cannot sign, by the last reading of the files.',
    labels: ['signer'],
  });
  return {
    unavailable,
    meterOf(signer: string): SignerMeter {
      const bound = new Map(results.map((result) => [result, calls.with({ signer, result })]));
      const seconds = duration.with({ signer });
      const depth = waiting.with({ signer });
      depth.set(0);
      return {
        called(result, took) {
          bound.get(result)?.inc();
          seconds.observe(took);
        },
        busy: () => bound.get('busy')?.inc(),
        waiting: (count) => depth.set(count),
      };
    },
  };
}
