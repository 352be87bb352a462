import { beforeEach, describe, expect, test } from '@jest/globals';
import type { WebhookConfig } from '../../core/policy/webhook/schema.js';
import { DomainError } from '../../core/errors.js';
import type { HostRequest } from '../../core/policy/policy-hosts.js';
import { someApiKey, someToken } from '../build/configs.js';
import { useRpc } from '../support/use-rpc.js';

// `POST /api/v1/webhooks/{policyId}/deliveries`: the owner tries the host of a policy.

const policyId = '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a11';
const webhook: WebhookConfig = {
  policyId,
  name: 'club',
  url: 'https://hooks.example.com/check',
  method: 'POST',
  onError: 'Deny',
};
const host = useRpc();
let asked: HostRequest[];
beforeEach(async () => {
  asked = [];
  host.clock.advance(60_000);
  host.world.webhook = (request) => {
    asked.push(request);
    return Promise.resolve([{ verdict: 'refused', reason: 'not a member' }]);
  };
  await host.put({ webhooks: [webhook] });
});

const owner = { authToken: someToken, apiKey: someApiKey };

async function deliver(
  options: {
    readonly headers?: object;
    readonly body?: string;
    readonly id?: string;
    readonly method?: string;
  } = {},
): Promise<{ readonly status: number; readonly body: { readonly message: string; readonly data?: object } }> {
  const { headers = owner, body, id = policyId, method = 'POST' } = options;
  const response = await fetch(`${host.origin}/api/v1/webhooks/${id}/deliveries`, {
    method,
    headers: { ...headers },
    ...(body === undefined ? {} : { body }),
  });
  return { status: response.status, body: await response.json() };
}

test('the host is asked as a test, with a whole operation, and the answer says what came of it', async () => {
  const { status, body } = await deliver();
  expect(status).toBe(200);
  expect(body).toEqual({
    statusCode: 200,
    message: 'Webhook asked',
    data: {
      verdict: 'refused',
      reason: 'not a member',
      wouldPass: false,
      durationMs: expect.any(Number),
      requestId: expect.any(String),
    },
  });
  expect(asked).toMatchObject([{ isTest: true, policies: [webhook], data: {} }]);
  expect(asked[0]?.userOp).toMatchObject({ callData: '0x', nonce: '0x0' });
});

test('webhookData and userOp of the body are what the host is sent', async () => {
  const sample = { webhookData: { plan: 'gold' }, userOp: { sender: '0x1' } };
  expect((await deliver({ body: JSON.stringify(sample) })).status).toBe(200);
  expect(asked).toMatchObject([{ data: sample.webhookData, userOp: sample.userOp }]);
});

test('a failure would pass where onError is Allow', async () => {
  host.world.webhook = () => Promise.resolve([{ verdict: 'failed', detail: 'answered HTTP 500' }]);
  expect((await deliver()).body.data).toMatchObject({ verdict: 'failed', wouldPass: false });
  await host.put({ webhooks: [{ ...webhook, onError: 'Allow' }] });
  expect((await deliver()).body.data).toMatchObject({ detail: 'answered HTTP 500', wouldPass: true });
});

describe('refused, and no host is asked', () => {
  test.each<{ name: string; options: Parameters<typeof deliver>[0]; status: number; message: string }>([
    {
      name: 'without a token',
      options: { headers: { apiKey: someApiKey } },
      status: 401,
      message: 'Auth token',
    },
    {
      name: 'without a key',
      options: { headers: { authToken: someToken } },
      status: 401,
      message: 'Auth token',
    },
    {
      name: 'with the token of somebody else',
      options: { headers: { ...owner, authToken: 'another-token-of-somebody' } },
      status: 401,
      message: 'Auth token',
    },
    {
      name: 'with an unknown key',
      options: { headers: { ...owner, apiKey: 'unknown.key' } },
      status: 401,
      message: 'Auth token',
    },
    {
      name: 'of a policy that is not an active webhook of the paymaster',
      options: { id: '7e0b4a52-6d7f-5d8a-9a51-0f3b1f1f6a12' },
      status: 404,
      message: 'Paymaster Policy not found',
    },
    {
      name: 'with a body that is not JSON',
      options: { body: '{' },
      status: 400,
      message: 'body must be valid JSON',
    },
    { name: 'with a list', options: { body: '[]' }, status: 400, message: 'body must be a JSON object' },
    {
      name: 'with text for an operation',
      options: { body: '{"userOp":"x"}' },
      status: 400,
      message: 'userOp must be',
    },
    { name: 'by GET', options: { method: 'GET' }, status: 405, message: 'must be POST' },
  ])('$name', async ({ options, status, message }) => {
    const answer = await deliver(options);
    expect(answer.status).toBe(status);
    expect(answer.body.message).toContain(message);
    expect(asked).toEqual([]);
  });

  test('more than ten in ten seconds', async () => {
    for (let n = 0; n < 10; n++) expect((await deliver()).status).toBe(200);
    expect((await deliver()).status).toBe(429);
    expect(asked).toHaveLength(10);
  });
});

test('a host with too many pending calls is a 503', async () => {
  host.world.webhook = () =>
    Promise.reject(new DomainError('UNAVAILABLE', 'Webhooks could not be asked: too many.'));
  expect(await deliver()).toMatchObject({
    status: 503,
    body: { message: 'The service is temporarily unavailable, try again' },
  });
});
