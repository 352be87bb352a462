import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { silentLogger } from '../../core/log.js';
import { systemClock } from '../../core/units/time.js';
import { manageEndpoints, managePrefix } from '../../server/dashboard/endpoints.js';
import { createMemoryRegister } from '../../server/replay/memory-register.js';
import { createReplays } from '../../server/replay/replays.js';
import { someNow, someTarget } from '../build/configs.js';
import { acmeToken, chainId, otherToken, prefix, recordOf } from '../build/dashboard.js';
import { alone } from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { recordRounds, type Asked } from '../server/replay/recorded-world.js';
import { until } from '../support/until.js';
import { useDashboard } from '../support/use-dashboard.js';

// Replays: what they answer, whose they are, and what is said to a wrong one. Real threads decide.

const memory = createMemoryLedger();
/** While it is not resolved, no inputs are read. */
let gate = Promise.resolve();
const ledger = {
  ...memory,
  inputs: async function* (query: Parameters<typeof memory.inputs>[0]) {
    await gate;
    yield* memory.inputs(query);
  },
};
const replays = createReplays({
  ledger,
  register: createMemoryRegister(systemClock),
  clock: systemClock,
  log: silentLogger,
});
const host = useDashboard({ ledger, replays, operator: true, programmedTimeoutMs: 60_000 });

const iso = (ms: number): string => new Date(ms).toISOString();
const range = { from: iso(someNow), to: iso(someNow + 3_600_000) };
const operations = 12;

let shop: string;
let objectName: string;
let foreign: string;
beforeAll(async () => {
  const make = async (token: string): Promise<string> => {
    const body = { name: 'shop', type: 'HYBRID', chainId, version: '1.1.0' };
    const { body: answer } = await host.call('POST', '/paymaster', { token, body });
    return String(recordOf(answer.data)['paymasterId']);
  };
  shop = await make(acmeToken);
  foreign = await make(otherToken);
  const configs = await Promise.all([shop, foreign].map((id) => host.configs.getPaymaster(id)));
  const chain = await host.configs.getChain(chainId);
  const asked = (paymaster: number, nonce: number): Asked => ({
    paymaster,
    mode: 'SPONSORED',
    phases: false,
    sender: nonce % 3,
    nonce,
    target: Number(BigInt(someTarget) % 1_000n),
    maxFeePerGas: 2_000_000_000,
    givesLimits: true,
    estimate: 90_000,
    reverts: false,
    webhook: 'verified',
    pays: true,
  });
  const { records } = await recordRounds(
    configs.map((stored) => stored!.config),
    Array.from({ length: operations }, (_, nonce) => ({
      asked: [asked(0, nonce), asked(1, nonce)],
      endings: [],
      passes: 60_000,
    })),
    { chain: chain!.config },
  );
  objectName = configs[0]!.config.objectName;
  await memory.append(records.flatMap((record) => alone(record)));
});

afterAll(() => replays.stop());

type Answered = {
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly message: string;
  readonly retryAfter: number;
};

async function ask(
  method: string,
  path: string,
  body?: unknown,
  token: string = acmeToken,
): Promise<Answered> {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { authToken: token, 'Content-Type': 'application/json' },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const answer = recordOf(await response.json());
  return {
    status: response.status,
    data: recordOf(answer['data']),
    message: typeof answer['detail'] === 'string' ? answer['detail'] : '',
    retryAfter: Number(response.headers.get('Retry-After')),
  };
}

/** The status of a replay that has ended. */
async function replayed(body: object, token?: string): Promise<Readonly<Record<string, unknown>>> {
  const { status, data, message } = await ask('POST', '/replays', body, token);
  expect({ status, message }).toMatchObject({ status: 202 });
  return ended(String(data['id']), token);
}

async function ended(id: string, token?: string): Promise<Readonly<Record<string, unknown>>> {
  let status: Readonly<Record<string, unknown>> = {};
  await until('the replay has ended', async () => {
    status = (await ask('GET', `/replays/${id}`, undefined, token)).data;
    return status['state'] !== 'running';
  });
  return status;
}

const aLimit = (
  threshold: string,
  place: { name?: string; namespace?: string; paymaster?: string } = {},
): string => `
apiVersion: paymasters.dev/v1alpha1
kind: PaymasterPolicy
metadata: {name: most, namespace: ${place.namespace ?? 'acme'}}
spec:
  name: ${place.name ?? 'most'}
  paymasterRef: {name: ${place.paymaster ?? objectName}}
  policyType: PAYMASTER_SA_LIMIT
  spendingLimit:
    scope: PAYMASTER
    thresholdType: COUNT
    threshold: '${threshold}'
    cycleDuration: {value: 1, unit: day}
`;

describe('a replay', () => {
  test('of the present resources finds what was recorded', async () => {
    const { state, done, result, endedAt } = await replayed(range);
    expect({ state, done, endedAt }).toEqual({
      state: 'done',
      done: operations,
      endedAt: expect.any(String),
    });
    expect(result).toMatchObject({
      replayed: operations,
      unchanged: { sponsored: operations, refused: 0, otherReason: 0 },
      newlyRefused: { count: 0 },
      difference: { maxCostWei: '0' },
      notReplayed: [],
      missingInputs: 0,
    });
  });

  test.each(['YAML', 'a list'])(
    'of a proposed limit, as %s, tells what it would have refused',
    async (form) => {
      const text = aLimit('5');
      const { result } = await replayed({ ...range, resources: form === 'YAML' ? text : [parse(text)] });
      const { newlyRefused, newlySponsored, difference, unchanged } = recordOf(result);
      expect({ unchanged, newlySponsored }).toMatchObject({
        unchanged: { sponsored: 5 },
        newlySponsored: { count: 0 },
      });
      const { count, maxCostWei, byReason, examples } = recordOf(newlyRefused);
      expect({ count, byReason }).toEqual({ count: 7, byReason: [{ reason: 'LIMIT_REACHED', count: 7 }] });
      expect(recordOf(difference)['maxCostWei']).toBe(`-${String(maxCostWei)}`);
      expect((examples as readonly unknown[])[0]).toMatchObject({
        paymasterId: shop,
        recorded: { verdict: 'sponsored' },
        replayed: {
          verdict: 'refused',
          reason: 'LIMIT_REACHED',
          detail: expect.stringContaining('5 operations'),
        },
      });
      // It was proposed, and not stored.
      expect(await host.resources.list('PaymasterPolicy', { namespace: 'acme' })).toEqual([]);
    },
  );

  test('runs alone in its organisation, shows where it is, and can be cancelled', async () => {
    const blocked = Promise.withResolvers<void>();
    gate = blocked.promise;
    try {
      const first = await ask('POST', '/replays', range);
      expect(first).toMatchObject({ status: 202, data: { state: 'running', done: 0, result: null } });
      const id = String(first.data['id']);
      const second = await ask('POST', '/replays', range);
      expect(second).toMatchObject({ status: 429, message: expect.stringContaining(id), retryAfter: 5 });
      expect(await ask('GET', `/replays/${id}`)).toMatchObject({
        status: 200,
        data: { id, state: 'running' },
      });
      // Another organisation is not held up by it.
      const other = await ask('POST', '/replays', range, otherToken);
      expect(other.status).toBe(202);
      for (const [path, token] of [
        [`/replays/${id}`, otherToken],
        [`/replays/${String(other.data['id'])}`, acmeToken],
      ] as const) {
        expect(await ask('GET', path, undefined, token)).toMatchObject({ status: 404 });
        expect(await ask('DELETE', path, undefined, token)).toMatchObject({ status: 404 });
      }
      expect(await ask('DELETE', `/replays/${id}`)).toMatchObject({
        status: 200,
        data: { id, state: 'cancelled', result: null },
      });
      blocked.resolve();
      await ended(String(other.data['id']), otherToken);
    } finally {
      blocked.resolve();
    }
  });

  test('is followed by lines until it has ended, and ends with the connection', async () => {
    const lines = { authToken: acmeToken, Accept: 'application/x-ndjson' };
    const post = (signal?: AbortSignal) =>
      host.fetch(`${managePrefix}/replays`, {
        method: 'POST',
        headers: lines,
        body: JSON.stringify(range),
        ...(signal === undefined ? {} : { signal }),
      });
    const response = await post();
    expect([response.status, response.headers.get('content-type')]).toEqual([202, 'application/x-ndjson']);
    const statuses = (await response.text()).trim().split('\n');
    const states = statuses.map((line) => recordOf(recordOf(JSON.parse(line))['data'])['state']);
    expect([states[0], states.at(-1)]).toEqual(['running', 'done']);

    const blocked = Promise.withResolvers<void>();
    gate = blocked.promise;
    const leaving = new AbortController();
    const reader = (await post(leaving.signal)).body!.getReader();
    const first = recordOf(JSON.parse(new TextDecoder().decode((await reader.read()).value)));
    leaving.abort();
    expect(await ended(String(recordOf(first['data'])['id']))).toMatchObject({ state: 'cancelled' });
    blocked.resolve();
    gate = Promise.resolve();
  });

  test('ends also for a client that left before the first line', async () => {
    const blocked = Promise.withResolvers<void>();
    gate = blocked.promise;
    const body = JSON.stringify(range);
    const leaving = httpRequest(`${host.origin}${managePrefix}/replays`, {
      method: 'POST',
      headers: {
        authToken: acmeToken,
        Accept: 'application/x-ndjson',
        'Content-Length': Buffer.byteLength(body),
      },
    });
    leaving.on('error', () => {});
    leaving.end(body, () => leaving.destroy());
    // Nobody else cancels it, and while it runs no other one starts.
    let second: Answered | undefined;
    await until('its place is free', async () => {
      second = await ask('POST', '/replays', range);
      return second.status === 202;
    });
    blocked.resolve();
    gate = Promise.resolve();
    await ended(String(second?.data['id']));
  });

  test('sees its own organisation alone', async () => {
    const { result } = await replayed({ ...range, paymasterIds: [foreign] }, otherToken);
    expect(result).toMatchObject({ replayed: operations });
    expect(await ask('POST', '/replays', { ...range, paymasterIds: [shop] }, otherToken)).toMatchObject({
      status: 404,
    });
  });

  test('that fails says so, and another one can be started', async () => {
    const failing = Promise.reject(new Error('the disk is on fire'));
    failing.catch(() => {});
    gate = failing;
    const { state, error } = await replayed(range);
    gate = Promise.resolve();
    expect({ state, error }).toEqual({ state: 'failed', error: expect.not.stringContaining('fire') });
    expect(await replayed(range)).toMatchObject({ state: 'done' });
  });
});

describe('clear refusals', () => {
  test.each<[name: string, body: () => unknown, message: RegExp]>([
    ['no body', () => undefined, /body must be a JSON object/],
    ['no JSON', () => '{', /JSON/],
    ['no times', () => ({}), /from must be a time in UTC.*to must be a time in UTC/],
    ['a range that is reversed', () => ({ from: range.to, to: range.from }), /from must be before to/],
    [
      'a range that is too long',
      () => ({ ...range, from: iso(someNow - 40 * 86_400_000) }),
      /at most 31 days/,
    ],
    [
      'an unknown member',
      () => ({ ...range, since: 1 }),
      /body must be made of from, to, resources, paymasterIds, got "since"/,
    ],
    ['wrong ids', () => ({ ...range, paymasterIds: [] }), /paymasterIds must be a list of 1 to 1000 ids/],
    [
      'resources of another form',
      () => ({ ...range, resources: 5 }),
      /resources must be YAML text or a list/,
    ],
    [
      'text that is not YAML',
      () => ({ ...range, resources: 'a: [' }),
      /resources:1:\d+: document must be valid YAML/,
    ],
    [
      'an unknown field',
      () => ({ ...range, resources: aLimit('5').replace('scope:', 'scoop: 1\n    scope:') }),
      /spec\.spendingLimit\.scoop/,
    ],
    ['a threshold that is not a number', () => ({ ...range, resources: aLimit('-5') }), /threshold/],
    [
      'a namespace of others',
      () => ({ ...range, resources: aLimit('5', { namespace: 'other' }) }),
      /must be in namespace "acme", got "other"/,
    ],
    [
      'a kind of the platform',
      () => ({
        ...range,
        resources: [
          { apiVersion: 'paymasters.dev/v1alpha1', kind: 'Chain', metadata: { name: 'dev' }, spec: {} },
        ],
      }),
      /must be one of the kinds that an organisation writes/,
    ],
    [
      'a paymaster that does not exist',
      () => ({ ...range, resources: aLimit('5', { paymaster: 'nobody' }) }),
      /Paymaster that exists; "nobody" does not/,
    ],
    [
      'one object twice',
      () => ({ ...range, resources: `${aLimit('5')}---${aLimit('6')}` }),
      /each object once/,
    ],
    [
      'text that is too long',
      () => ({ ...range, resources: `${aLimit('5')}#${' '.repeat(300_000)}` }),
      /at most 65536 characters long/,
    ],
    [
      'objects that are nested too deeply to be read',
      () =>
        `{"from": "${range.from}", "to": "${range.to}", "resources": [${'['.repeat(400_000)}${']'.repeat(400_000)}]}`,
      /body must be valid JSON/,
    ],
    [
      'too many objects',
      () => ({ ...range, resources: Array.from({ length: 201 }, () => parse(aLimit('5')) as object) }),
      /at most 200 objects/,
    ],
    [
      'an object that would not be accepted',
      () => ({
        ...range,
        resources: `${aLimit('5')}---${aLimit('6').replace('name: most,', 'name: again,')}`,
      }),
      /NameConflict/,
    ],
  ])('%s', async (_, body, message) => {
    expect(await ask('POST', '/replays', body())).toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });

  test('a body that is too large', async () => {
    expect(await ask('POST', '/replays', { ...range, resources: ' '.repeat(1_100_000) })).toMatchObject({
      status: 413,
    });
  });

  test('a replay that does not exist', async () => {
    expect(await ask('GET', `/replays/${shop}`)).toMatchObject({ status: 404 });
    expect(await ask('DELETE', `/replays/${shop}`)).toMatchObject({ status: 404 });
  });

  test('a caller without a token, and a server without a ledger', async () => {
    expect((await host.fetch(`${managePrefix}/replays`, { method: 'POST', body: '{}' })).status).toBe(401);
    const without = await host.beside();
    const headers = { authToken: acmeToken };
    for (const [method, path] of [
      ['POST', '/replays'],
      ['GET', `/replays/${shop}`],
      ['DELETE', `/replays/${shop}`],
    ]) {
      const response = await without.fetch(`${managePrefix}${path}`, { method: method!, headers });
      expect(response.status).toBe(501);
    }
  });
});

test('the OpenAPI document describes each of these requests and its answer', async () => {
  const document = recordOf(await (await host.fetch(`${prefix}/openapi.json`)).json());
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false });
  const answers = [await ask('POST', '/replays', { ...range, resources: aLimit('5') })];
  const id = String(answers[0]!.data['id']);
  await ended(id);
  answers.push(await ask('GET', `/replays/${id}`), await ask('DELETE', `/replays/${id}`));
  const described = manageEndpoints.filter(({ path }) => path.startsWith('/replays'));
  expect(described.map(({ operationId }) => operationId)).toEqual([
    'startReplay',
    'getReplay',
    'cancelReplay',
  ]);
  described.forEach(({ operationId, path, method, status = 200, schema, example, body }, index) => {
    const item = recordOf(recordOf(document['paths'])[`${managePrefix}${path.replace(':id', '{id}')}`]);
    expect(recordOf(item[method])['operationId']).toBe(operationId);
    const isValid = ajv.compile(schema ?? false);
    expect(answers[index]!.status).toBe(status);
    expect(isValid(answers[index]!.data) ? [] : isValid.errors).toEqual([]);
    expect(isValid(example) ? [] : isValid.errors).toEqual([]);
    if (body !== undefined) expect(ajv.compile(body.schemas[0] ?? false)(body.example)).toBe(true);
  });
});
