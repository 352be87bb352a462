import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { CacheEvent } from '../../adapters/kube/object-cache.js';
import type { KubeObject } from '../../adapters/kube/objects.js';
import { createReflector, type Reflector, type ReflectorTiming } from '../../adapters/kube/reflector.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../core/log.js';
import { until } from '../support/until.js';
import {
  errorEvent,
  line,
  refusal,
  silence,
  startScriptedApi,
  type ScriptedApi,
} from './support/scripted-api.js';

// Faults between an API server and its clients, one by one. After each, the copy equals the server's state.

let api: ScriptedApi;
let metrics: ReturnType<typeof createMetrics>;
/** Reasons of the warnings in the log. */
const warned: unknown[] = [];
let reflector: Reflector<KubeObject>;
let events: string[];
let versionsOfEvents: CacheEvent<KubeObject>[];

beforeEach(async () => {
  metrics = createMetrics({ process: false });
  api = await startScriptedApi(metrics);
  events = [];
  versionsOfEvents = [];
});
afterEach(async () => {
  await reflector.stop();
  await api.stop();
});

/** Timeouts that even a loaded machine does not reach; a test of one of them shortens it. */
const fast: ReflectorTiming = {
  stallMs: 60_000,
  auditMs: 3_600_000,
  watchListMs: 60_000,
  firstBackoffMs: 2,
  maxBackoffMs: 10,
  watchSeconds: 300,
};

function follow(
  timing: Partial<ReflectorTiming> = {},
  onEvent: (event: CacheEvent<KubeObject>) => void = () => {},
): void {
  reflector = createReflector<KubeObject>({
    transport: api.transport,
    path: '/api/v1/things',
    kind: 'Thing',
    transform: (object) => object,
    onEvent(event) {
      events.push(`${event.type} ${event.object.metadata.name}`);
      versionsOfEvents.push(event);
      onEvent(event);
    },
    log: { ...silentLogger, warn: (_message, fields) => void warned.push(fields?.['reason']) },
    metrics,
    now: () => Date.now(),
    random: () => 0.5,
    timing: { ...fast, ...timing },
  });
  reflector.start();
}

const revisions = (objects: Iterable<KubeObject>): string[] =>
  [...objects]
    .map(({ metadata }) => `${metadata.name} ${metadata.uid} ${metadata.resourceVersion}`)
    .toSorted();

/** The copy holds exactly what the server holds. */
const converged = () =>
  until(
    'the copy equals the server',
    () =>
      reflector.hasSynced() && revisions(reflector.list()).join() === revisions(api.things.values()).join(),
  );
const watching = () => until('a watch is open', () => api.openWatches() === 1);
const counted = async (text: string): Promise<boolean> => (await metrics.render()).body.includes(text);
/** Without the read of the current version that follows a failure. */
const realCalls = () => api.calls.filter(({ kind }) => kind !== 'probe');
const kindsOfCalls = () => realCalls().map(({ kind }) => kind);

describe('the first list', () => {
  test('is streamed, and then watched on the same connection', async () => {
    api.put('a');
    follow();
    await converged();
    api.put('b');
    api.remove('a');
    await converged();
    expect(events).toEqual(['ADDED a', 'ADDED b', 'DELETED a']);
    expect(kindsOfCalls()).toEqual(['watch-list']);
    const query = api.calls[0]?.query;
    expect(query?.get('resourceVersionMatch')).toBe('NotOlderThan');
    expect(query?.get('allowWatchBookmarks')).toBe('true');
    expect(Number(query?.get('timeoutSeconds'))).toBe(450);
  });

  test.each([400, 422])('falls back to pages where the server answers %i to a streamed one', async (code) => {
    api.put('a');
    api.fail('watch-list', refusal(code, 'Invalid'));
    follow();
    await converged();
    await watching();
    expect(kindsOfCalls()).toEqual(['watch-list', 'list', 'watch']);
    expect(api.calls[2]?.query.get('resourceVersion')).toBe(String(api.version()));
  });

  test('falls back to pages when the end of a streamed one never comes', async () => {
    const thing = api.put('a');
    api.fail('watch-list', (response) => {
      response.writeHead(200);
      response.write(line('ADDED', thing));
    });
    follow({ watchListMs: 2_000 });
    await converged();
    expect(kindsOfCalls().slice(0, 2)).toEqual(['watch-list', 'list']);
    expect(events).toEqual(['ADDED a']);
  });

  test('reads all pages, and begins again without a version when one is gone in the middle', async () => {
    const [first, second] = [api.put('a'), api.put('b')];
    const page = (items: object[], more?: string) => (response: { end(text: string): unknown }) =>
      void response.end(
        JSON.stringify({
          metadata: { resourceVersion: '12', ...(more === undefined ? {} : { continue: more }) },
          items,
        }),
      );
    api.fail('watch-list', refusal(400, 'BadRequest'));
    api.fail('list', page([first], 'token'), refusal(410, 'Expired'), page([first], 'token'), page([second]));
    follow();
    await converged();
    const lists = api.calls.filter(({ kind }) => kind === 'list');
    expect(lists.map(({ query }) => query.get('continue'))).toEqual([null, 'token', null, 'token']);
    expect(lists.every(({ query }) => query.get('resourceVersion') !== '0')).toBe(true);
  });

  test('is tried again for ever while the server refuses', async () => {
    api.put('a');
    api.fail('watch-list', ...Array.from({ length: 12 }, () => refusal(503, 'ServiceUnavailable')));
    follow();
    await converged();
    expect(await counted('informer_watch_errors_total{kind="Thing",reason="503"} 12')).toBe(true);
  });
});

describe('a watch that breaks', () => {
  test.each([
    { name: 'a clean end', how: 'end' },
    { name: 'a reset connection', how: 'reset' },
    { name: 'a frame that is cut short', how: 'truncated' },
  ] as const)('$name: it is resumed from the last version, and nothing is lost', async ({ how }) => {
    api.put('a');
    follow();
    await converged();
    const last = api.put('b');
    await converged();
    api.fail('watch', (response, { query }) => {
      // The changes made while nobody watched, as a server with history would send them.
      response.writeHead(200);
      const missed = api.things.get('c');
      if (missed !== undefined) response.write(line('ADDED', missed));
      expect(query.get('resourceVersion')).toBe(last.metadata.resourceVersion);
    });
    api.cut(how);
    api.put('c');
    await converged();
    expect(kindsOfCalls()).toEqual(['watch-list', 'watch']);
    expect(events).toEqual(['ADDED a', 'ADDED b', 'ADDED c']);
    expect(await counted('reason="corrupt"} 1')).toBe(how === 'truncated');
  });

  test('a line that is not an event is never skipped: the watch is resumed before it', async () => {
    api.put('a');
    follow();
    await converged();
    const version = api.version();
    api.fail('watch', (response) => {
      response.writeHead(200);
      response.write('{"type":"MODIFIED","object":{}}\n');
    });
    api.cut('end');
    await until('it was resumed', () => realCalls().length >= 3);
    expect(
      realCalls()
        .slice(1, 3)
        .map(({ query }) => query.get('resourceVersion')),
    ).toEqual([String(version), String(version)]);
    expect(await counted('reason="corrupt"} 1')).toBe(true);
  });

  test('a half-open connection is given up, and the watch resumed', async () => {
    api.put('a');
    follow({ stallMs: 300 });
    await converged();
    api.fail('watch', silence);
    api.cut('end');
    await watching();
    api.put('b');
    await converged();
    // On a loaded machine the timeout may also end a connection that only seemed silent.
    expect(kindsOfCalls().slice(-2)).toEqual(['watch', 'watch']);
  });

  test('429 is waited out as long as the server asks', async () => {
    follow();
    await converged();
    api.fail('watch', refusal(429, 'TooManyRequests', { retryAfter: '1' }));
    const cutAt = performance.now();
    api.cut('end');
    await watching();
    expect(performance.now() - cutAt).toBeGreaterThanOrEqual(950);
  });

  test('a definition that is missing is asked for every two seconds, however long it was missing, and warned of once', async () => {
    warned.length = 0;
    follow({ firstBackoffMs: 3_600_000, maxBackoffMs: 3_600_000 });
    await converged();
    api.fail('watch', refusal(404, 'NotFound'), refusal(404, 'NotFound'));
    api.cut('end');
    await watching();
    api.put('a');
    await converged();
    expect(warned).toEqual([expect.any(String)]);
  });

  test('500 is waited out, and the watch resumed without a new list', async () => {
    api.put('a');
    follow();
    await converged();
    api.fail('watch', refusal(500, 'InternalError'), refusal(500, 'InternalError'));
    api.cut('end');
    await watching();
    api.put('b');
    await converged();
    expect(kindsOfCalls()).toEqual(['watch-list', 'watch', 'watch', 'watch']);
  });

  test('a bookmark moves the version that it is resumed from', async () => {
    follow();
    await converged();
    api.setVersion(5_000);
    api.bookmark();
    await until('the bookmark came', () => reflector.resourceVersion() === '5000');
    api.cut('end');
    await until('it was resumed', () => api.calls.length === 2);
    expect(api.calls[1]?.query.get('resourceVersion')).toBe('5000');
  });
});

describe('a version that is gone', () => {
  test.each([
    { name: 'as the answer to a watch', fault: refusal(410, 'Expired') },
    { name: 'as an ERROR event', fault: errorEvent(410, 'Expired') },
    { name: 'as an ERROR event with the older reason', fault: errorEvent(410, 'Gone') },
  ])('$name: the list is read again and differences are reported', async ({ fault }) => {
    api.put('kept');
    api.put('gone');
    api.put('changed');
    follow();
    await converged();
    events.length = 0;
    api.fail('watch', fault);
    api.cut('end');
    api.remove('gone');
    api.put('changed');
    api.put('new');
    await converged();
    expect(events.toSorted()).toEqual(['ADDED new', 'DELETED gone', 'MODIFIED changed']);
    expect(await counted('informer_relists_total{kind="Thing",reason="expired"} 1')).toBe(true);
  });

  test.each([
    { name: '410', fault: refusal(410, 'Expired') },
    {
      name: '504 ResourceVersionTooLarge',
      fault: refusal(504, 'Timeout', { cause: 'ResourceVersionTooLarge' }),
    },
  ])('also for the list ($name): it is read without a version', async ({ fault }) => {
    api.put('a');
    api.fail('watch-list', refusal(400, 'BadRequest'));
    follow();
    await converged();
    await watching();
    api.fail('watch', refusal(410, 'Expired'));
    api.fail('list', fault);
    api.cut('end');
    api.put('b');
    await converged();
    const lists = api.calls.filter(({ kind }) => kind === 'list').slice(1);
    expect(lists.map(({ query }) => query.get('resourceVersion'))).toEqual(['11', null]);
  });

  test('again and again is retried with pauses, also when the server expires what it has just listed', async () => {
    api.fail('watch-list', refusal(400, 'BadRequest'));
    api.fail('watch', ...Array.from({ length: 5 }, () => refusal(410, 'Expired')));
    const startedAt = performance.now();
    follow({ firstBackoffMs: 400, maxBackoffMs: 400 });
    await watching();
    expect(kindsOfCalls().filter((kind) => kind === 'list')).toHaveLength(6);
    // The first is answered at once, four pauses of 200 ms follow.
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(750);
  });

  test.each([
    { name: 'and the server says nothing of it', faults: [] },
    { name: 'and the server calls the version expired', faults: [refusal(410, 'Expired')] },
  ])('an older state after a restore of etcd replaces everything, $name', async ({ faults }) => {
    api.setVersion(1_000);
    api.put('old');
    api.put('new');
    follow();
    await converged();
    events.length = 0;
    api.things.clear();
    api.setVersion(100);
    api.fail('watch', ...faults);
    api.cut('reset');
    api.put('old');
    await converged();
    expect(events).toEqual(['DELETED new', 'MODIFIED old']);
    expect(reflector.resourceVersion()).toBe('101');
  });
});

test('an object that was deleted and recreated while nobody watched is reported as both', async () => {
  api.put('a', { uid: 'first' });
  follow();
  await converged();
  events.length = 0;
  api.fail('watch', refusal(410, 'Expired'));
  api.cut('end');
  api.put('a', { uid: 'second' });
  await converged();
  expect(events).toEqual(['DELETED a', 'ADDED a']);
  expect(versionsOfEvents.slice(-2).map(({ object }) => object.metadata.uid)).toEqual(['first', 'second']);
});

test('a handler that throws is counted and stops nothing', async () => {
  api.put('a');
  follow({}, () => {
    throw new Error('a mistake in the program');
  });
  await converged();
  api.put('b');
  await converged();
  expect(events).toEqual(['ADDED a', 'ADDED b']);
  expect(await counted('informer_handler_errors_total{kind="Thing"} 2')).toBe(true);
});

describe('the audit', () => {
  test('finds a copy that differs, counts it and lists again', async () => {
    api.put('a');
    follow({ auditMs: 50 });
    await converged();
    // A change that the watch never delivers: that must never happen, and the audit still looks for it.
    const lost = api.things.get('a');
    if (lost === undefined) throw new Error('no such thing');
    api.things.set('b', { ...lost, metadata: { ...lost.metadata, name: 'b', uid: 'uid-b' } });
    await converged();
    // At least once: another audit may run before the list is read.
    const { body } = await metrics.render();
    expect(body).toMatch(/^informer_cache_miss_total\{kind="Thing"\} [1-9]/m);
    expect(body).toMatch(/^informer_relists_total\{.*reason="audit"\} [1-9]/m);
  });

  test('finds nothing when the copy is right', async () => {
    api.put('a');
    follow({ auditMs: 20 });
    await converged();
    await until('audits were made', () => api.calls.filter(({ kind }) => kind === 'list').length >= 3);
    expect(await counted('informer_cache_miss_total{kind="Thing"} 0')).toBe(true);
    expect(events).toEqual(['ADDED a']);
  });
});

test.each([
  { name: 'a list', prepare: () => api.fail('watch-list', silence) },
  {
    name: 'a back-off',
    prepare: () => api.fail('watch-list', refusal(429, 'TooManyRequests', { retryAfter: '60' })),
  },
  { name: 'a watch', prepare: () => {} },
])('stop ends $name at once, and asks nothing more', async ({ prepare }) => {
  prepare();
  follow();
  await until('it has begun', () => api.calls.length === 1);
  const stoppedAt = performance.now();
  await reflector.stop();
  await reflector.stop();
  expect(performance.now() - stoppedAt).toBeLessThan(30_000);
  expect(api.calls).toHaveLength(1);
});
