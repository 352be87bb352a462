import { inspect } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createExplanations } from '../../adapters/explanations/explanations.js';
import { passHeader } from '../../core/config/pass.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import type { Logger } from '../../core/log.js';
import { managePrefix } from '../../server/dashboard/endpoints.js';
import { acmeToken, chainId, otherToken, recordOf, type DashboardHost } from '../build/dashboard.js';
import { addressOf, aLimitConfig, aPaymasterConfig, sha256 } from '../build/configs.js';
import { anOperation, execute, sponsored } from '../build/operations.js';
import { rpcPath } from '../build/rpc.js';
import { useDashboard } from '../support/use-dashboard.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

// `POST /manage/v1/paymasters/{name}/explain`: the dashboard asks a JSON-RPC server, which is another process on Kubernetes.

const host = useDashboard({ operator: false });
const rpc = useRpc();
const paymasterId = derivePaymasterId('acme', 'shop');
let dashboard: DashboardHost;
let apiKey: string;
/** Where the dashboard looks for the server; tests change it. */
let url: string;
let asked = 0;
const log: string[] = [];
const note = (message: string, fields: object = {}): void =>
  void log.push(message, inspect(fields, { depth: 12 }));
/** As the program logs, without the redaction that would hide a key. */
const unredacted: Logger = { debug: note, info: note, warn: note, error: note, child: () => unredacted };
const explanations = createExplanations(() => url, 60_000);

beforeAll(async () => {
  url = rpc.origin;
  dashboard = await host.beside({
    clock: rpc.clock,
    log: unredacted,
    explanations: {
      ask: (request, gone) => {
        asked += 1;
        return explanations.ask(request, gone);
      },
    },
  });
  for (const token of [acmeToken, otherToken])
    expect(
      await ask(
        '/paymasters',
        { name: 'shop', spec: { name: 'shop', chainId, type: 'HYBRID', version: '1.1.0' } },
        token,
      ),
    ).toMatchObject({ status: 201 });
  apiKey = String((await read('/paymasters/shop/key'))['key']);
  await serve({ limits: [aLimitConfig({ threshold: '5' })] });
});
afterEach(() => void (url = rpc.origin));
afterAll(() => explanations.stop());

/** As the operator does: for the dashboard, and for the server. */
async function serve(config: Parameters<typeof aPaymasterConfig>[0] = {}): Promise<void> {
  const served = { paymasterId, keys: [{ sha256: sha256(apiKey) }], ...config };
  await host.configs.putPaymaster(aPaymasterConfig(served));
  await rpc.put(served);
}

async function ask(path: string, body: unknown, token = acmeToken) {
  const response = await dashboard.fetch(`${managePrefix}${path}`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const { status, headers } = response;
  return { status, headers, body: recordOf(JSON.parse(await response.text())) };
}

async function read(path: string) {
  const headers = { Authorization: `Bearer ${acmeToken}` };
  const response = await dashboard.fetch(`${managePrefix}${path}`, { headers });
  return recordOf(recordOf(await response.json())['data']);
}

const explain = (body: unknown, token?: string, name = 'shop') =>
  ask(`/paymasters/${name}/explain`, body, token);

async function aToken(name: string, scopes: readonly string[]): Promise<string> {
  const { body } = await ask('/tokens', { name, scopes });
  return String(recordOf(body['data'])['token']);
}

const question = { userOp: anOperation(), context: sponsored };

test.each([
  { name: 'that would be sponsored', userOp: anOperation(), sponsored: true },
  {
    name: 'that would be refused',
    userOp: anOperation({ callData: execute(addressOf(0xdead)) }),
    sponsored: false,
  },
])('an operation $name is explained as pm_explainSponsorship does', async ({ userOp, sponsored: passes }) => {
  const { status, body } = await explain({ userOp, context: sponsored });
  expect(status).toBe(200);
  expect(body['data']).toMatchObject({ sponsored: passes, paymaster: { paymasterId } });
  const headers = { authToken: acmeToken };
  const direct = await rpc.call('pm_explainSponsorship', [userOp, sponsored], {
    path: rpcPath(apiKey),
    headers,
  });
  expect(body['data']).toEqual(direct.body.result);
});

test('nothing is reserved, and without a context the mode is SPONSORED', async () => {
  const before = (await rpc.usage.reservations(chainId)).length;
  expect((await explain({ userOp: anOperation() })).body['data']).toMatchObject({ mode: 'SPONSORED' });
  expect(await rpc.usage.reservations(chainId)).toHaveLength(before);
});

describe('nobody is asked', () => {
  test.each<{ name: string; body?: unknown; token?: string; of?: string; status: number; says?: RegExp }>([
    { name: 'by a stranger', token: 'nobody-0123456789', status: 401 },
    { name: 'about a paymaster that is not there', of: 'nothing', status: 404 },
    {
      name: 'with a member that is not known',
      body: { ...question, apiKey: 'x' },
      status: 400,
      says: /body must be made of userOp and context, got "apiKey"/,
    },
    { name: 'with a list', body: [question], status: 400, says: /body must be a JSON object/ },
    { name: 'without an operation', body: {}, status: 400, says: /userOp must be an object/ },
    {
      name: 'with a text for a context',
      body: { ...question, context: 'SPONSORED' },
      status: 400,
      says: /context must be an object, got "SPONSORED"/,
    },
    { name: 'with text that is not JSON', body: '{"userOp":', status: 400 },
    {
      name: 'with more than a megabyte',
      body: { ...question, userOp: { callData: `0x${'00'.repeat(600_000)}` } },
      status: 413,
    },
  ])('$name', async ({ body = question, token, of, status, says = /./ }) => {
    const before = asked;
    const answer = await explain(body, token, of);
    expect(answer).toMatchObject({ status, body: { detail: expect.stringMatching(says) } });
    expect(asked).toBe(before);
  });

  test("about another organisation's paymaster of the same name, which is not served: its own is meant", async () => {
    const before = asked;
    expect(await explain(question, otherToken)).toMatchObject({
      status: 404,
      body: { detail: 'The paymaster "shop" is not served yet' },
    });
    expect(asked).toBe(before);
  });

  test.each([['finance'], ['stop']])('by a token that may only %s', async (scope) => {
    const token = await aToken(`only-${scope}`, [scope]);
    const before = asked;
    expect(await explain(question, token)).toMatchObject({ status: 403, body: { code: 'SCOPE_REQUIRED' } });
    expect(asked).toBe(before);
  });

  test('where no server is set', async () => {
    const bare = await host.beside();
    const response = await bare.fetch(`${managePrefix}/paymasters/shop/explain`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${acmeToken}` },
      body: JSON.stringify(question),
    });
    expect([response.status, recordOf(await response.json())['code']]).toEqual([501, 'EXPLANATIONS_OFF']);
    await bare.stop();
  });
});

test('a token that reads is enough, except for calls of webhooks, which need one that writes', async () => {
  let calls = 0;
  rpc.world.webhook = async ({ policies }) => {
    calls += 1;
    return policies.map(() => ({ verdict: 'verified' }) as const);
  };
  const webhook = { policyId: 'w', name: 'Members', url: 'https://a.example', onError: 'Deny' } as const;
  await serve({ webhooks: [{ ...webhook, timeoutMs: 1_000, keyGeneration: 1 } as never] });
  const token = await aToken('only-read', ['read']);
  expect((await explain(question, token)).body['data']).toMatchObject({ undecided: ['Members'] });
  const asking = { ...question, context: { ...sponsored, callWebhook: true } };
  expect(await explain(asking, token)).toMatchObject({ status: 403, body: { code: 'SCOPE_REQUIRED' } });
  expect(calls).toBe(0);
  expect((await explain(asking)).body['data']).toMatchObject({ sponsored: true });
  expect(calls).toBe(1);
  await serve();
});

test('a body that names another paymaster, key or pass changes nothing about whose rules are shown', async () => {
  const foreign = { paymasterId: derivePaymasterId('other', 'shop'), apiKey: 'x', [passHeader]: 'x' };
  const { status, body } = await explain({
    userOp: { ...question.userOp, ...foreign },
    context: { ...sponsored, ...foreign },
  });
  expect(status).toBe(200);
  expect(body['data']).toMatchObject({ paymaster: { paymasterId } });
});

test('a name that leads elsewhere in the path finds nothing', async () => {
  const before = asked;
  for (const name of ['..%2Fshop', 'shop%2F..%2Fshop', 'other%2Fshop', '%00shop'])
    expect((await explain(question, acmeToken, name)).status).toBe(404);
  expect(asked).toBe(before);
});

test('what is wrong in the operation is named as a field of the body', async () => {
  const { status, body } = await explain({
    userOp: anOperation({ sender: 'me' }),
    context: { mode: 'FREE' },
  });
  expect(status).toBe(400);
  expect(body['errors']).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ field: 'userOp.sender' }),
      expect.objectContaining({ field: 'context.mode' }),
    ]),
  );
  expect(JSON.stringify(body)).not.toContain('params[');
});

test('a paymaster that is not ready says so', async () => {
  await serve({ version: '9.9.9' });
  expect(await explain(question)).toMatchObject({
    status: 409,
    body: { code: 'PAYMASTER_NOT_READY', detail: expect.stringContaining('9.9.9') },
  });
  await serve();
});

test('where no server answers it is 503, and neither key nor pass is logged', async () => {
  url = 'http://127.0.0.1:1';
  log.length = 0;
  const { status, headers, body } = await explain(question);
  expect([status, body['code'], headers.get('retry-after')]).toEqual([503, 'UNAVAILABLE', '5']);
  expect(log.join('')).toContain('RPC_UNAVAILABLE');
  for (const secret of [apiKey, apiKey.split('.')[1], passHeader])
    expect(`${log.join('')}${JSON.stringify(body)}`).not.toContain(secret);
});

test('an organisation has at most four questions open at once', async () => {
  let open = 0;
  let most = 0;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const many = await host.beside({
    explanations: {
      ask: async () => {
        open += 1;
        most = Math.max(most, open);
        await released;
        open -= 1;
        return {};
      },
    },
  });
  const send = () =>
    many.fetch(`${managePrefix}/paymasters/shop/explain`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${acmeToken}` },
      body: JSON.stringify(question),
    });
  let refused = 0;
  const sent = Array.from({ length: 30 }, async () => {
    const answer = await send();
    if (answer.status === 429) refused += 1;
    return answer;
  });
  // Those beyond the four that run and the sixteen that wait.
  await until('ten are refused', () => refused >= 10);
  release();
  const statuses = (await Promise.all(sent)).map(({ status }) => status);
  expect(most).toBeLessThanOrEqual(4);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
  expect(statuses).toContain(200);
  await many.stop();
});
