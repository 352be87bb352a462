import { describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../core/adapters/metrics/prometheus.js';

const render = async (metrics: ReturnType<typeof createMetrics>) => (await metrics.render()).body.split('\n');

describe('metrics', () => {
  test('a bound counter shows as zero before its first event', async () => {
    const metrics = createMetrics({ process: false });
    const refused = metrics.counter({ name: 'refused_total', help: 'h', labels: ['reason'] });
    refused.with({ reason: 'LIMIT_REACHED' });
    expect(await render(metrics)).toContain('refused_total{reason="LIMIT_REACHED"} 0');
    refused.with({ reason: 'LIMIT_REACHED' }).inc();
    refused.with({ reason: 'LIMIT_REACHED' }).inc(2);
    expect(await render(metrics)).toContain('refused_total{reason="LIMIT_REACHED"} 3');
  });

  test('binding a histogram again does not forget what it observed', async () => {
    const metrics = createMetrics({ process: false });
    const latency = metrics.histogram({ name: 'l_seconds', help: 'h', labels: ['m'], buckets: [0.1, 1] });
    latency.with({ m: 'a' });
    expect(await render(metrics)).toContain('l_seconds_count{m="a"} 0');
    latency.with({ m: 'a' }).observe(0.5);
    latency.with({ m: 'a' }).observe(0.05);
    const lines = await render(metrics);
    expect(lines).toContain('l_seconds_bucket{le="0.1",m="a"} 1');
    expect(lines).toContain('l_seconds_bucket{le="+Inf",m="a"} 2');
    expect(lines).toContain('l_seconds_count{m="a"} 2');
  });

  test('the order in which labels are given does not matter', async () => {
    const metrics = createMetrics({ process: false });
    const requests = metrics.counter({ name: 'r_total', help: 'h', labels: ['method', 'outcome'] });
    requests.with({ method: 'a', outcome: 'ok' }).inc();
    requests.with({ outcome: 'ok', method: 'a' }).inc();
    expect(await render(metrics)).toContain('r_total{method="a",outcome="ok"} 2');
  });

  test('a gauge shows what was set last, and nothing once removed', async () => {
    const metrics = createMetrics({ process: false });
    const deposit = metrics.gauge({ name: 'deposit_wei', help: 'h', labels: ['chain'] });
    deposit.with({ chain: '1' }).set(5);
    deposit.with({ chain: '1' }).set(4);
    expect(await render(metrics)).toContain('deposit_wei{chain="1"} 4');
    deposit.remove({ chain: '1' });
    expect((await render(metrics)).filter((line) => line.startsWith('deposit_wei{'))).toEqual([]);
  });

  test('asking twice gives the same instrument', async () => {
    const metrics = createMetrics({ process: false });
    metrics.counter({ name: 'n_total', help: 'h' }).with({}).inc();
    metrics.counter({ name: 'n_total', help: 'h' }).with({}).inc();
    expect(await render(metrics)).toContain('n_total 2');
  });

  test('a name taken with other labels or as another kind is refused', () => {
    const metrics = createMetrics({ process: false });
    metrics.counter({ name: 'n_total', help: 'h', labels: ['a'] });
    expect(() => metrics.counter({ name: 'n_total', help: 'h', labels: ['b'] })).toThrow(/"a".*"b"/);
    expect(() => metrics.gauge({ name: 'n_total', help: 'h' })).toThrow(/n_total/);
  });

  test('the process reports its event-loop lag and memory', async () => {
    const metrics = createMetrics();
    const { contentType, body } = await metrics.render();
    expect(contentType).toContain('text/plain');
    expect(body).toMatch(/^nodejs_eventloop_lag_p99_seconds [0-9.e-]+$/m);
    expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
  });
});
