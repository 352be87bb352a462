import { describe, expect, test } from '@jest/globals';
import { createMetrics } from '../../adapters/metrics/prometheus.js';

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

  test('an observation at a bound belongs to its bucket, and a value that is not a number is ignored', async () => {
    const metrics = createMetrics({ process: false });
    const size = metrics.histogram({ name: 's_bytes', help: 'h', buckets: [10, 1] }).with({});
    for (const value of [1, 1.5, 10, 11, Number.NaN, Number.POSITIVE_INFINITY]) size.observe(value);
    const lines = await render(metrics);
    expect(lines.filter((line) => line.startsWith('s_bytes'))).toEqual([
      's_bytes_bucket{le="1"} 1',
      's_bytes_bucket{le="10"} 3',
      's_bytes_bucket{le="+Inf"} 4',
      's_bytes_sum 23.5',
      's_bytes_count 4',
    ]);
  });

  test('help and label values are escaped', async () => {
    const metrics = createMetrics({ process: false });
    const options = { name: 'e_seconds', help: 'a\\b\nc', labels: ['x'], buckets: [1] } as const;
    metrics.histogram(options).with({ x: 'say "hi"\n\\' });
    const lines = await render(metrics);
    expect(lines).toContain('# HELP e_seconds a\\\\b\\nc');
    expect(lines).toContain('e_seconds_count{x="say \\"hi\\"\\n\\\\"} 0');
  });

  test('a label that was not declared is refused', () => {
    const metrics = createMetrics({ process: false });
    const undeclared: Record<string, string> = { other: 'x' };
    const counter = metrics.counter<string>({ name: 'u_total', help: 'h', labels: ['known'] });
    expect(() => counter.with(undeclared)).toThrow(/other/);
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
    expect(() => metrics.counter({ name: 'n_total', help: 'h', labels: ['b'] })).toThrow(
      /counter\{a\}.*counter\{b\}/,
    );
    expect(() => metrics.gauge({ name: 'n_total', help: 'h' })).toThrow(/counter\{a\}.*gauge/);
  });

  test('the process reports its event-loop lag and memory', async () => {
    const metrics = createMetrics();
    const { contentType, body } = await metrics.render();
    expect(contentType).toContain('text/plain');
    expect(body).toMatch(/^nodejs_eventloop_lag_p99_seconds [0-9.e-]+$/m);
    expect(body).toMatch(/^process_resident_memory_bytes \d+$/m);
  });
});
