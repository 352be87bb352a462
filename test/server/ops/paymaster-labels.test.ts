import { expect, test } from '@jest/globals';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createPaymasterLabels, maxPaymasterLabels } from '../../../server/ops/paymaster-labels.js';

test('the first paymasters have a label value of their own, all others share one, however many there are', async () => {
  const metrics = createMetrics({ process: false });
  const { paymasterSpent } = createInstruments(metrics);
  const spentBy = createPaymasterLabels((paymaster) => paymasterSpent.with({ paymaster }));
  for (let round = 1; round <= 2; round += 1)
    for (let n = 0; n < maxPaymasterLabels + 500; n += 1) spentBy(`pm-${n}`).inc(2);
  const { body } = await metrics.render();
  const lines = body.split('\n').filter((line) => line.startsWith('paymaster_spent_gwei_total{'));
  expect(lines).toHaveLength(maxPaymasterLabels + 1);
  expect(lines).toContain('paymaster_spent_gwei_total{paymaster="pm-0"} 4');
  expect(lines).toContain(`paymaster_spent_gwei_total{paymaster="pm-${maxPaymasterLabels - 1}"} 4`);
  expect(lines).toContain('paymaster_spent_gwei_total{paymaster="other"} 2000');
});
