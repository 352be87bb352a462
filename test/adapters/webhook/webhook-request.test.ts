import { describe, expect, test } from '@jest/globals';
import { createHmac } from 'node:crypto';
import type { WebhookConfig } from '../../../core/policy/webhook/schema.js';
import { decideWebhooks } from '../../../core/policy/webhook/kind.js';
import { readAnswer } from '../../../core/policy/webhook/webhook-answer.js';
import type { HostOutcome } from '../../../core/policy/policy-hosts.js';
import { encodeBody, renderWebhook } from '../../../core/policy/webhook/webhook-request.js';
import type { EpochSeconds } from '../../../core/units/time.js';

const aWebhook = (change: Partial<WebhookConfig> = {}): WebhookConfig => ({
  policyId: 'p-1',
  name: 'kyc',
  url: 'https://hooks.example.com/check?tenant=7',
  method: 'POST',
  onError: 'Deny',
  ...change,
});

const render = (webhook: WebhookConfig, data: unknown) =>
  renderWebhook({
    webhook,
    data,
    body: () => encodeBody(data, { sender: '0xab', nonce: '0x1' }),
    requestId: 'r-1',
    signingKey: 'k'.repeat(64),
    now: 1_700_000_000 as EpochSeconds,
  });

/** The lines of version 2, written out: nothing of them is taken from the code. */
const sign = (request: string, key = 'k'.repeat(64)) =>
  `v2=${createHmac('sha256', key).update(`v2\n1700000000\np-1\n${request}`).digest('hex')}`;

describe('the request to a webhook host', () => {
  test('is a POST with the webhook data and the user operation, signed over everything that it says', () => {
    const { method, path, body, headers } = render(aWebhook(), { plan: 'gold' });
    expect({ method, path, body: new TextDecoder().decode(body) }).toEqual({
      method: 'POST',
      path: '/check?tenant=7',
      body: '{"data":{"plan":"gold"},"userOp":{"sender":"0xab","nonce":"0x1"}}',
    });
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-request-id': 'r-1',
      'x-policy-id': 'p-1',
      'x-timestamp': '1700000000',
      'x-signature': sign(`live\nPOST\n/check?tenant=7\n${new TextDecoder().decode(body)}`),
    });
  });

  test('says that it is a test of the owner, in what is signed too', () => {
    const body = encodeBody({}, {});
    const { headers } = renderWebhook({
      webhook: aWebhook(),
      data: {},
      body: () => body,
      requestId: 'r-1',
      isTest: true,
      signingKey: 'k'.repeat(64),
      now: 1_700_000_000 as EpochSeconds,
    });
    expect(headers).toMatchObject({
      'x-test-delivery': 'true',
      'x-signature': sign(`test\nPOST\n/check?tenant=7\n${new TextDecoder().decode(body)}`),
    });
  });

  test('while a key is rotated has the signature of the old key where it always was, and that of the new one beside it', () => {
    const body = encodeBody({}, {});
    const rendered = renderWebhook({
      webhook: aWebhook(),
      data: {},
      body: () => body,
      requestId: 'r-1',
      signingKey: 'k'.repeat(64),
      nextKey: 'n'.repeat(64),
      now: 1_700_000_000 as EpochSeconds,
    });
    const text = new TextDecoder().decode(body);
    expect(rendered.headers).toMatchObject({
      'x-signature': sign(`live\nPOST\n/check?tenant=7\n${text}`),
      'x-signature-next': sign(`live\nPOST\n/check?tenant=7\n${text}`, 'n'.repeat(64)),
    });
    expect(render(aWebhook(), {}).headers).not.toHaveProperty('x-signature-next');
  });

  test.each([
    { name: '2,048 bytes are sent whole', bytes: 2048, sent: `0x${'ff'.repeat(2048)}` },
    { name: 'more are left out', bytes: 2049, sent: '0x' },
    { name: '131,072 bytes are left out', bytes: 131_072, sent: '0x' },
  ])('a signature, which its sender may replace at will, is bounded: $name', ({ bytes, sent }) => {
    const body = encodeBody({}, { callData: '0xab', signature: `0x${'ff'.repeat(bytes)}` });
    expect(JSON.parse(new TextDecoder().decode(body))).toEqual({
      data: {},
      userOp: { callData: '0xab', signature: sent },
    });
  });

  test.each<{ name: string; data: unknown; query: string }>([
    {
      name: 'text, numbers and booleans as they are',
      data: { a: 'x y', n: 1.5, b: true },
      query: '?tenant=7&a=x+y&n=1.5&b=true',
    },
    {
      name: 'objects, lists and null as JSON',
      data: { o: { k: [1] }, l: ['a'], z: null },
      query: '?tenant=7&o=%7B%22k%22%3A%5B1%5D%7D&l=%5B%22a%22%5D&z=null',
    },
    { name: 'nothing for empty data', data: {}, query: '?tenant=7' },
    {
      name: 'one JSON parameter for data that is not an object',
      data: ['a', 2],
      query: '?tenant=7&data=%5B%22a%22%2C2%5D',
    },
    {
      name: 'never over a parameter of the policy itself',
      data: { tenant: '8', x: '1' },
      query: '?tenant=7&x=1',
    },
    {
      name: 'escaped, so that a value cannot add a parameter',
      data: { a: '1&tenant=8#' },
      query: '?tenant=7&a=1%26tenant%3D8%23',
    },
  ])('with method GET carries the data as query parameters: $name', ({ data, query }) => {
    const { method, path, body, headers } = render(aWebhook({ method: 'GET' }), data);
    expect({ method, path, body }).toEqual({ method: 'GET', path: `/check${query}`, body: undefined });
    expect(headers['x-signature']).toBe(sign(`live\nGET\n/check${query}\n`));
  });
});

describe('the reply of a webhook host', () => {
  test('passes or fails by the boolean arePoliciesVerified', () => {
    expect(readAnswer(200, '{"arePoliciesVerified":true}')).toEqual({ verdict: 'verified' });
    expect(readAnswer(200, '{"arePoliciesVerified":false,"why":"x"}')).toEqual({ verdict: 'refused' });
  });

  test.each<{ name: string; status: number; body: string; detail: RegExp }>([
    {
      name: 'text instead of a boolean',
      status: 200,
      body: '{"arePoliciesVerified":"true"}',
      detail: /true or false, got "true"/,
    },
    {
      name: 'a number instead of a boolean',
      status: 200,
      body: '{"arePoliciesVerified":1}',
      detail: /got 1/,
    },
    { name: 'null', status: 200, body: '{"arePoliciesVerified":null}', detail: /got null/ },
    { name: 'another object', status: 200, body: '{"ok":true}', detail: /without arePoliciesVerified/ },
    {
      name: 'an inherited name',
      status: 200,
      body: '{"__proto__":{"arePoliciesVerified":true}}',
      detail: /without/,
    },
    { name: 'a list', status: 200, body: '[{"arePoliciesVerified":true}]', detail: /without/ },
    ...['approved', 'sponsor', 'proceed'].map((name) => ({
      name: `"${name}", as hosts of other services have it, which says what is expected`,
      status: 200,
      body: JSON.stringify({ [name]: true }),
      detail: new RegExp(`with "${name}" instead; expected \\{"arePoliciesVerified": true\\}`),
    })),
    { name: 'a bare boolean', status: 200, body: 'true', detail: /without/ },
    { name: 'a null body', status: 200, body: 'null', detail: /without/ },
    { name: 'no body', status: 200, body: '', detail: /not JSON/ },
    { name: 'HTML', status: 200, body: '<html>true</html>', detail: /not JSON/ },
    { name: 'cut JSON', status: 200, body: '{"arePoliciesVerified":true', detail: /not JSON/ },
    { name: '201', status: 201, body: '{"arePoliciesVerified":true}', detail: /HTTP 201, expected 200/ },
    { name: '204', status: 204, body: '', detail: /HTTP 204/ },
    {
      name: 'a redirect',
      status: 302,
      body: '{"arePoliciesVerified":true}',
      detail: /redirects are not followed/,
    },
    { name: '404', status: 404, body: '{"arePoliciesVerified":true}', detail: /HTTP 404/ },
    { name: '500', status: 500, body: '{"arePoliciesVerified":true}', detail: /HTTP 500/ },
  ])('anything else is a failure: $name', ({ status, body, detail }) => {
    expect(readAnswer(status, body)).toEqual({ verdict: 'failed', detail: expect.stringMatching(detail) });
  });
});

test.each([400, 401, 403, 413, 414, 422, 431])(
  'HTTP %d is a "no", which onError Allow does not pass',
  (status) => {
    const outcome = readAnswer(status, '');
    expect(outcome).toEqual({ verdict: 'refused', detail: expect.stringContaining(`HTTP ${status}`) });
    expect(decideWebhooks([aWebhook({ onError: 'Allow' })], [outcome])).toMatchObject({
      pass: false,
      reason: 'WEBHOOK_REFUSED',
    });
  },
);

describe('the verdict over all webhooks', () => {
  const yes: HostOutcome = { verdict: 'verified' };
  const no: HostOutcome = { verdict: 'refused' };
  const down: HostOutcome = { verdict: 'failed', detail: 'h answered HTTP 500' };
  const strict = aWebhook({ policyId: 'p-strict', name: 'strict' });
  const lenient = aWebhook({ policyId: 'p-lenient', name: 'lenient', onError: 'Allow' });

  test.each<{ name: string; webhooks: WebhookConfig[]; outcomes: HostOutcome[]; want: unknown }>([
    { name: 'no webhooks pass', webhooks: [], outcomes: [], want: { pass: true } },
    { name: 'all verified pass', webhooks: [strict, lenient], outcomes: [yes, yes], want: { pass: true } },
    {
      name: 'one "no" refuses',
      webhooks: [strict, lenient],
      outcomes: [yes, no],
      want: {
        pass: false,
        reason: 'WEBHOOK_REFUSED',
        detail: 'policy "lenient": arePoliciesVerified is false',
        policyId: 'p-lenient',
      },
    },
    {
      name: 'a failure refuses and says what failed',
      webhooks: [strict],
      outcomes: [down],
      want: {
        pass: false,
        reason: 'WEBHOOK_FAILED',
        detail: 'policy "strict": h answered HTTP 500',
        policyId: 'p-strict',
      },
    },
    {
      name: 'a failure passes where the owner chose Allow',
      webhooks: [lenient],
      outcomes: [down],
      want: { pass: true },
    },
    {
      name: 'Allow never overrules a "no"',
      webhooks: [lenient],
      outcomes: [no],
      want: { pass: false, reason: 'WEBHOOK_REFUSED', detail: expect.any(String), policyId: 'p-lenient' },
    },
    {
      name: 'a "no" is reported before a failure',
      webhooks: [strict, lenient],
      outcomes: [down, no],
      want: {
        pass: false,
        reason: 'WEBHOOK_REFUSED',
        detail: expect.stringContaining('lenient'),
        policyId: 'p-lenient',
      },
    },
    {
      name: 'a webhook without an outcome refuses',
      webhooks: [strict, lenient],
      outcomes: [yes],
      want: { pass: false, reason: 'WEBHOOK_FAILED', detail: expect.any(String), policyId: 'p-lenient' },
    },
  ])('$name', ({ webhooks, outcomes, want }) => {
    expect(decideWebhooks(webhooks, outcomes)).toEqual(want);
  });
});
