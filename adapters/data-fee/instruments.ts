import { ordinaryDataFee } from '../../core/chain/data-fee/data-gas.js';
import type { DataFeeReading } from '../../core/chain/data-fee/data-fees.js';
import type { DataFeeSpec } from '../../core/chain/data-fee/spec.js';
import type { Metrics } from '../../core/metrics.js';
import type { EpochMs } from '../../core/units/time.js';

export type DataFeeOutcome = 'ok' | 'unreachable' | 'unsupported';

/** Metrics of the data fees that are followed. */
export function createDataFeeInstruments(metrics: Metrics) {
  const fee = metrics.gauge<'chain'>({
    name: 'paymaster_data_fee_wei',
    help: 'What the chain charges for posting an ordinary operation (500 bytes after compression), by the last reading.',
    labels: ['chain'],
  });
  const age = metrics.gauge<'chain'>({
    name: 'paymaster_data_fee_age_seconds',
    help: 'Age of the last reading of the data fee; nothing is estimated by one that is older than 15 minutes.',
    labels: ['chain'],
  });
  const reads = metrics.counter<'chain' | 'outcome'>({
    name: 'paymaster_data_fee_reads_total',
    help: 'Readings of the data fee: ok, unreachable (the node), unsupported (the chain charges by another rule).',
    labels: ['chain', 'outcome'],
  });
  const labels = (chainId: number) => ({ chain: String(chainId) });

  return {
    read(chainId: number, outcome: DataFeeOutcome): void {
      reads.with({ ...labels(chainId), outcome }).inc();
    },
    show(chainId: number, spec: DataFeeSpec, reading: DataFeeReading, now: EpochMs): void {
      fee.with(labels(chainId)).set(Number(ordinaryDataFee(spec, reading.price)));
      age.with(labels(chainId)).set(Math.max(0, now - reading.observedAt) / 1000);
    },
    forget(chainId: number): void {
      fee.remove(labels(chainId));
      age.remove(labels(chainId));
    },
  };
}
