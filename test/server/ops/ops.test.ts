import { DomainError } from '../../../core/errors.js';
import { afterEach, describe, expect, test } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { createMetrics } from '../../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../../core/log.js';
import { refusals } from '../../../core/refusal.js';
import { createInstruments } from '../../../server/ops/instruments.js';
import { createOps, type Ops, type OpsDeps } from '../../../server/ops/ops.js';
import type { ReleaseFacts } from '../../../core/release-facts.js';
import { createMountCheck, sharedDependency } from '../../../server/ops/readiness.js';
import { createMemoryReleaseFacts } from '../../fakes/release-facts.js';
import type { EpochMs } from '../../../core/units/time.js';

const started: Ops[] = [];
afterEach(() => {
  for (const ops of started.splice(0)) ops.stop();
});

function anOps(change: Partial<OpsDeps> = {}) {
  const metrics = createMetrics({ process: false });
  const instruments = createInstruments(metrics);
  const ops = createOps({ checks: [], metrics, instruments, log: silentLogger, ...change });
  started.push(ops);
  return ops;
}

/** A response without a socket: the response object itself keeps the written data. */
function ask(ops: Ops, url: string, method = 'GET') {
  const request = new IncomingMessage(new Socket());
  Object.assign(request, { url, method });
  const response = new ServerResponse(request);
  const ended = new Promise<{ status: number; body: string; type: unknown }>((resolve) => {
    const end = response.end.bind(response);
    response.end = (chunk?: unknown) => {
      const body = typeof chunk === 'string' ? chunk : '';
      resolve({ status: response.statusCode, body, type: response.getHeader('content-type') });
      return end();
    };
  });
  return { isHandled: ops.handle(request, response), ended };
}

const askJson = async (ops: Ops, url: string) => {
  const { status, body } = await ask(ops, url).ended;
  return { status, body: JSON.parse(body) as unknown };
};

const passing = { name: 'configs-synced', action: 'look at the operator', isReady: () => true };
const failing = { name: 'signer-checked', action: 'mount the signer key', isReady: () => false };
const lagOf = (medianSeconds: number) => ({ read: () => ({ medianSeconds, maxSeconds: 9 }), stop: () => {} });

describe('/healthz', () => {
  test('is 200 while the event loop turns, whatever else is down', async () => {
    const outage = { ...failing, isReady: () => Promise.reject(new Error('store is down')) };
    expect(await askJson(anOps({ checks: [outage] }), '/healthz')).toEqual({
      status: 200,
      body: expect.objectContaining({ status: 'ok' }),
    });
  });

  test.each([
    [4.9, 200],
    [5.1, 503],
  ])('with a median lag of %d s is %d', async (seconds, status) => {
    expect((await ask(anOps({ lag: lagOf(seconds), maxLagSeconds: 5 }), '/healthz').ended).status).toBe(
      status,
    );
  });

  test('reports a measured lag', async () => {
    const { body } = await askJson(anOps(), '/healthz');
    expect(body).toMatchObject({
      eventLoopLagSeconds: { median: expect.any(Number), max: expect.any(Number) },
    });
  });
});

describe('/readyz', () => {
  test('is 200 when every check passes', async () => {
    expect(await askJson(anOps({ checks: [passing] }), '/readyz')).toEqual({
      status: 200,
      body: { ready: true, checks: [{ name: 'configs-synced', ready: true }] },
    });
  });

  test('is 503 with each check and what to do', async () => {
    expect(await askJson(anOps({ checks: [passing, failing] }), '/readyz')).toEqual({
      status: 503,
      body: {
        ready: false,
        checks: [
          { name: 'configs-synced', ready: true },
          { name: 'signer-checked', ready: false, reason: 'not yet', action: 'mount the signer key' },
        ],
      },
    });
  });

  test('does not reveal the cause of a failure to a caller', async () => {
    const check = { ...failing, isReady: () => Promise.reject(new Error('redis://user:word@inner:6379')) };
    const { status, body } = await ask(anOps({ checks: [check] }), '/readyz').ended;
    expect(status).toBe(503);
    expect(body).not.toContain('inner');
  });

  test('does not wait for ever', async () => {
    const check = { ...failing, isReady: () => new Promise<boolean>(() => {}) };
    expect(await askJson(anOps({ checks: [check] }), '/readyz')).toMatchObject({
      status: 503,
      body: { checks: [{ reason: 'did not answer within 2000 ms' }] },
    });
  });
});

describe('a dependency that all replicas share', () => {
  const at = { now: 0 };
  const clock = { now: () => at.now as EpochMs };
  const statusOf = async (ops: Ops) => (await ask(ops, '/readyz').ended).status;

  test('keeps a new replica from traffic until it has answered once, and no replica later', async () => {
    let isUp = false;
    const ops = anOps({ checks: [sharedDependency({ ...failing, isReady: () => isUp }, clock)] });
    expect(await statusOf(ops)).toBe(503);
    isUp = true;
    expect(await statusOf(ops)).toBe(200);
    isUp = false;
    expect(await askJson(ops, '/readyz')).toMatchObject({
      status: 200,
      body: { ready: true, checks: [{ ready: false, isAdvice: true }] },
    });
  });

  test('keeps a replica from traffic that has been without it for longer than the given time', async () => {
    let isUp = true;
    const check = { ...failing, isReady: () => isUp };
    const ops = anOps({ checks: [sharedDependency(check, clock, { unreadyAfterMs: 60_000 })] });
    expect(await statusOf(ops)).toBe(200);
    isUp = false;
    at.now += 59_000;
    expect(await statusOf(ops)).toBe(200);
    at.now += 1_000;
    expect(await statusOf(ops)).toBe(503);
    isUp = true;
    expect(await statusOf(ops)).toBe(200);
    isUp = false;
    expect(await statusOf(ops)).toBe(200);
  });

  test('is waited for no longer than 15 seconds', async () => {
    const ops = anOps({ checks: [sharedDependency(failing, clock)] });
    at.now += 14_999;
    expect(await statusOf(ops)).toBe(503);
    at.now += 1;
    expect(await statusOf(ops)).toBe(200);
  });

  describe('and that nobody of the release has reached at this address', () => {
    const known = (facts: ReleaseFacts) => ({ known: { facts, name: 'store at a' } });

    test('keeps a new replica from traffic until it has answered, however long that takes', async () => {
      let isUp = false;
      const facts = createMemoryReleaseFacts(clock);
      const check = { ...failing, isReady: () => isUp };
      const ops = anOps({ checks: [sharedDependency(check, clock, known(facts))] });
      at.now += 3_600_000;
      expect(await statusOf(ops)).toBe(503);
      isUp = true;
      expect(await statusOf(ops)).toBe(200);
    });

    test('and does not keep the next replica that uses the same address', async () => {
      const facts = createMemoryReleaseFacts(clock);
      await statusOf(
        anOps({ checks: [sharedDependency({ ...failing, isReady: () => true }, clock, known(facts))] }),
      );
      // However long ago that was: an outage may last for days.
      at.now += 30 * 86_400_000;
      const next = anOps({ checks: [sharedDependency(failing, clock, known(facts))] });
      expect(await statusOf(next)).toBe(503);
      at.now += 15_000;
      expect(await statusOf(next)).toBe(200);
    });

    test('keeps one from traffic while nobody can say what was reached', async () => {
      const facts: ReleaseFacts = {
        lastHad: () => Promise.reject(new DomainError('UNAVAILABLE', 'the API server is away')),
        confirm: () => {},
      };
      const ops = anOps({ checks: [sharedDependency(failing, clock, known(facts))] });
      at.now += 60_000;
      expect(await statusOf(ops)).toBe(503);
    });
  });

  test('is logged when it fails and when it passes again, however often it is checked', async () => {
    const lines: string[] = [];
    const note = (message: string) => void lines.push(message);
    let isUp = false;
    const isReady = () => (isUp ? true : Promise.reject(new Error('down')));
    const ops = anOps({
      checks: [sharedDependency({ ...failing, isReady }, clock)],
      log: { ...silentLogger, info: note, warn: note },
    });
    for (let look = 0; look < 5; look += 1) await statusOf(ops);
    isUp = true;
    for (let look = 0; look < 5; look += 1) await statusOf(ops);
    expect(lines).toEqual(['check fails', 'check passes again']);
  });
});

describe('what a replica has mounted', () => {
  const at = { now: 0 };
  const clock = { now: () => at.now as EpochMs };
  const all = { here: ['signer', 'URLs'], missing: [] };
  const nothing = { here: [], missing: ['signer', 'URLs'] };
  const mounting = (facts: ReleaseFacts, state: { here: string[]; missing: string[] }) => {
    const isReady = createMountCheck(() => Promise.resolve(state), { facts, clock });
    return anOps({ checks: [{ ...failing, isReady }] });
  };
  const statusOf = async (ops: Ops) => (await ask(ops, '/readyz').ended).status;

  test('keeps it from traffic while it lacks what others have', async () => {
    const facts = createMemoryReleaseFacts(clock);
    const others = mounting(facts, all);
    expect(await statusOf(others)).toBe(200);
    const state = { ...nothing };
    const ops = mounting(facts, state);
    for (let hours = 0; hours < 3; hours += 1) {
      at.now += 600_000;
      await statusOf(others);
      expect(await statusOf(ops)).toBe(503);
    }
    Object.assign(state, all);
    expect(await statusOf(ops)).toBe(200);
  });

  test('does not, where nobody has it, or nobody has had it for a quarter of an hour', async () => {
    const facts = createMemoryReleaseFacts(clock);
    expect(await statusOf(mounting(facts, nothing))).toBe(200);
    expect(await statusOf(mounting(facts, all))).toBe(200);
    const ops = mounting(facts, nothing);
    at.now += 899_999;
    expect(await statusOf(ops)).toBe(503);
    at.now += 1;
    expect(await statusOf(ops)).toBe(200);
  });

  test('does not, once it takes traffic: a key that is taken away is taken from all', async () => {
    const facts = createMemoryReleaseFacts(clock);
    const state: { here: string[]; missing: string[] } = { ...all };
    const ops = mounting(facts, state);
    expect(await statusOf(ops)).toBe(200);
    Object.assign(state, nothing);
    at.now += 300_000;
    expect(await statusOf(ops)).toBe(200);
  });
});

describe('/metrics', () => {
  test('is Prometheus text with the readiness of each check', async () => {
    const metrics = createMetrics({ process: false });
    const ops = anOps({ metrics, instruments: createInstruments(metrics), checks: [passing, failing] });
    const { status, type, body } = await ask(ops, '/metrics').ended;
    expect({ status, type }).toEqual({ status: 200, type: expect.stringContaining('text/plain') });
    expect(body).toContain('paymaster_ready{check="configs-synced"} 1');
    expect(body).toContain('paymaster_ready{check="signer-checked"} 0');
  });

  test('shows every refusal reason at zero before the first refusal', async () => {
    const metrics = createMetrics({ process: false });
    const ops = anOps({ metrics, instruments: createInstruments(metrics) });
    const { body } = await ask(ops, '/metrics').ended;
    for (const reason of Object.keys(refusals)) {
      expect(body).toContain(`paymaster_refusals_total{reason="${reason}"} 0`);
    }
  });

  test('brings read gauges up to date first', async () => {
    const metrics = createMetrics({ process: false });
    const instruments = createInstruments(metrics);
    const refresh = () => instruments.configs.with({ kind: 'paymaster' }).set(42);
    const { body } = await ask(anOps({ metrics, instruments, refresh }), '/metrics').ended;
    expect(body).toContain('paymaster_configs{kind="paymaster"} 42');
  });

  test('is 500 without a cause when it cannot be made', async () => {
    const metrics = { render: () => Promise.reject(new Error('inner detail')) };
    const { status, body } = await ask(anOps({ metrics }), '/metrics').ended;
    expect(status).toBe(500);
    expect(body).not.toContain('inner detail');
  });
});

describe('routes', () => {
  test.each(['/', '/healthz/x', '/readyz2', '/constructor', '/api/v2/1/key'])(
    '%s is left to others',
    (path) => {
      expect(ask(anOps(), path).isHandled).toBe(false);
    },
  );

  test.each(['/healthz?verbose=1', '/healthz/'])('%s is answered', async (path) => {
    expect((await ask(anOps(), path).ended).status).toBe(200);
  });

  test('other methods are 405', async () => {
    expect((await ask(anOps(), '/readyz', 'POST').ended).status).toBe(405);
  });

  test('HEAD has no body', async () => {
    expect(await ask(anOps(), '/healthz', 'HEAD').ended).toMatchObject({ status: 200, body: '' });
  });
});
