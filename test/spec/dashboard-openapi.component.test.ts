import { beforeAll, describe, expect, test } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  aWebhookBody,
  acmeToken,
  chainId,
  prefix,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import type { Answer, CallOptions } from '../build/dashboard.js';
import { documents, textOf } from '../support/document-commands.js';
import { useDashboard } from '../support/use-dashboard.js';
import { newWallet } from '../support/new-wallet.js';

// The OpenAPI document is served, is whole, and is true: requests and answers of a real session are held against it.

const host = useDashboard();
let document: Readonly<Record<string, unknown>>;
beforeAll(async () => {
  const response = await host.fetch(`${prefix}/openapi.json`);
  document = recordOf(await response.json());
});

/** Of what: without the id behind it. Paths of the document without a prefix are below `/api/v2/public/sdk`; those behind `{url}` are of another service. */
const resource = /(?<!\{url\})\/(?:api\/v2\/public\/sdk|(?:api|manage)\/v1)\/[a-z][a-z.-]*/g;

function at(value: unknown, ...path: string[]): unknown {
  return path.reduce<unknown>((node, name) => recordOf(node)[name], value);
}

function operations(): { path: string; method: string; operation: unknown }[] {
  const own = Object.entries(recordOf(document['paths'])).filter(([path]) => path.match(resource) === null);
  return own.flatMap(([path, item]) =>
    Object.entries(recordOf(item)).map(([method, operation]) => ({ path, method, operation })),
  );
}

/** Problems of a value against a schema of the document. */
function problems(schema: unknown, value: unknown): readonly unknown[] {
  return validator()(schema, value);
}

function validator() {
  const formats = {
    'date-time': (text: string) => !Number.isNaN(Date.parse(text)),
    uuid: /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
  };
  const ajv = new Ajv2020({ strict: false, allErrors: true, formats });
  ajv.addSchema({ $id: 'document', ...document }, 'document');
  return (schema: unknown, value: unknown): readonly unknown[] => {
    const parsed: unknown = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"document#/'));
    const validate = ajv.compile(recordOf(parsed));
    validate(value);
    return validate.errors ?? [];
  };
}

describe('the document', () => {
  test('is OpenAPI 3.1, open to any page, without credentials', async () => {
    const response = await host.fetch(`${prefix}/openapi.json`, {
      headers: { Origin: 'https://docs.example.com' },
    });
    await response.text();
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toMatch(/^application\/json/);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(document['openapi']).toBe('3.1.0');
    expect(at(document, 'servers')).toEqual([{ url: prefix }]);
  });

  test('names its licence, and each operation has a unique id, a summary, its credentials and an error', () => {
    expect(at(document, 'info', 'license')).toEqual({ name: 'Apache-2.0', identifier: 'Apache-2.0' });
    const items = [document['paths'], document['webhooks']].flatMap((each) => Object.values(recordOf(each)));
    const all = items.flatMap((item) =>
      Object.entries(recordOf(item)).flatMap(([name, each]) => (name === 'servers' ? [] : [recordOf(each)])),
    );
    expect(new Set(all.map(({ operationId }) => operationId)).size).toBe(all.length);
    for (const { operationId, summary, security, responses } of all) {
      expect({ operationId, summary }).toEqual({
        operationId: expect.any(String),
        summary: expect.any(String),
      });
      expect({ operationId, security }).toEqual({ operationId, security: expect.any(Array) });
      if (operationId !== 'checkOperation') expect(Object.keys(recordOf(responses)).join()).toMatch(/4\d\d/);
    }
  });

  test('lists each of the 13 endpoints once, and says how its path is also spelt', () => {
    expect(operations()).toHaveLength(13);
    const ids = operations().map(({ operation }) => at(operation, 'operationId'));
    expect(new Set(ids).size).toBe(13);
    expect(operations().filter(({ path }) => path.includes('Parameters'))).toEqual([]);
    expect(at(document, 'info', 'description')).toContain('`/paymasterParameters` is `/paymaster`');
  });

  test('asks for apiKey everywhere but where paymasters are listed and created', () => {
    const tokenOnly = operations()
      .filter(({ operation }) => JSON.stringify(at(operation, 'security')) === '[{"authToken":[]}]')
      .map(({ path, method }) => `${method} ${path}`);
    expect(tokenOnly.toSorted()).toEqual(['get /paymaster', 'post /paymaster']);
  });

  test('has every endpoint that a document for people names', () => {
    const whole = Object.keys(recordOf(document['paths'])).flatMap(
      (path) => path.match(resource) ?? `${prefix}${path}`,
    );
    const known = new Set([`${prefix}/openapi.json`, ...whole.flatMap((path) => path.match(resource) ?? [])]);
    const named = documents().flatMap((file) =>
      [...textOf(file).matchAll(resource)].map(([path]) => ({ file, path })),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter(({ path }) => !known.has(path))).toEqual([]);
  });

  test('declares each parameter of its paths', () => {
    const withParameters = operations().filter(({ path }) => path.includes('{'));
    expect(withParameters).toHaveLength(4);
    for (const { path, operation } of withParameters) {
      const [parameter] = recordsOf(at(operation, 'parameters'));
      expect(path).toContain(`{${String(parameter?.['name'])}}`);
      expect(parameter).toMatchObject({ in: 'path', required: true });
    }
  });

  test('has examples of requests and answers that are as its schemas say', () => {
    const contents = operations().flatMap(({ operation }) => [
      at(operation, 'requestBody', 'content', 'application/json'),
      at(operation, 'responses', '200', 'content', 'application/json'),
    ]);
    const shown = contents.filter((content) => content !== undefined);
    expect(shown.length).toBeGreaterThan(13);
    for (const content of shown) {
      expect(at(content, 'example')).toBeDefined();
      expect(problems(at(content, 'schema'), at(content, 'example'))).toEqual([]);
    }
  });

  test('has no example anywhere that is not as its schema says', () => {
    const found: { readonly where: string; readonly schema: unknown; readonly example: unknown }[] = [];
    const look = (node: unknown, where: string): void => {
      if (typeof node !== 'object' || node === null) return;
      const { schema, example, examples } = node as Readonly<Record<string, unknown>>;
      if (schema !== undefined && example !== undefined) found.push({ where, schema, example });
      if (schema !== undefined && examples !== undefined)
        for (const [name, each] of Object.entries(recordOf(examples)))
          found.push({ where: `${where} ${name}`, schema, example: at(each, 'value') });
      for (const [name, child] of Object.entries(node))
        if (name !== 'example') look(child, `${where} ${name}`);
    };
    look(document, '');
    expect(found.length).toBeGreaterThan(90);
    const validate = validator();
    for (const { where, schema, example } of found)
      expect({ where, problems: validate(schema, example) }).toEqual({ where, problems: [] });
  });

  test('describes what a webhook host is sent: each header that is signed or not, with an example of each answer', () => {
    const call = at(document, 'webhooks', 'checkOperation', 'post');
    expect(recordsOf(at(call, 'parameters')).map(({ name }) => name)).toEqual([
      'X-Signature',
      'X-Timestamp',
      'X-Policy-Id',
      'X-Request-Id',
      'X-Signature-Next',
      'X-Test-Delivery',
    ]);
    const answer = at(call, 'responses', '200', 'content', 'application/json');
    for (const example of Object.values(recordOf(at(answer, 'examples'))))
      expect(problems(at(answer, 'schema'), at(example, 'value'))).toEqual([]);
    const asked = at(call, 'requestBody', 'content', 'application/json');
    expect(problems(at(asked, 'schema'), at(asked, 'examples', 'operation', 'value'))).toEqual([]);
  });

  test('describes the test delivery, which is served beside JSON-RPC', () => {
    const answer = at(
      document,
      'paths',
      '/api/v1/webhooks/{policyId}/deliveries',
      'post',
      'responses',
      '200',
      'content',
      'application/json',
    );
    expect(problems(at(answer, 'schema'), at(answer, 'examples', 'refused', 'value'))).toEqual([]);
  });

  test('says nothing of hints that only our own messages use', () => {
    expect(JSON.stringify(document)).not.toMatch(/"(expected|confidential|x-kubernetes[^"]*)":/);
  });
});

describe('a session', () => {
  /** Calls, and holds what is sent and what comes back against the document. */
  async function call(method: string, path: string, template: string, options: CallOptions): Promise<Answer> {
    const answer = await host.call(method, path, { token: acmeToken, ...options });
    const operation = at(document, 'paths', template, method.toLowerCase());
    expect(operation).toBeDefined();
    const sent = at(operation, 'requestBody', 'content', 'application/json', 'schema');
    if (sent !== undefined && answer.status === 200) expect(problems(sent, options.body ?? {})).toEqual([]);
    const schema = at(operation, 'responses', String(answer.status), 'content', 'application/json', 'schema');
    expect({ status: answer.status, schema }).toMatchObject({ schema: expect.anything() });
    const { statusCode, message, data } = answer.body;
    const received = { statusCode, message, ...(data === undefined ? {} : { data }) };
    expect(problems(schema, received)).toEqual([]);
    return answer;
  }

  test('is described to the letter, errors included', async () => {
    const body = { name: 'Shop', type: 'HYBRID', chainId, version: '1.1.0' };
    const created = await call('POST', '/paymaster', '/paymaster', { body });
    const { apiKey, paymasterId } = recordOf(created.body.data);
    const key = String(apiKey);
    await call('POST', '/paymaster', '/paymaster', { body });
    await call('GET', '/paymaster', '/paymaster', {});
    await call('GET', '/paymasterParameters', '/paymaster', { token: undefined });

    await call('POST', '/smart-contract', '/smart-contract', { key, body: aContractBody });
    await call('GET', '/smart-contract', '/smart-contract', { key });
    const { address } = aContractBody;
    await call('PATCH', '/smart-contract', '/smart-contract', {
      key,
      body: { address, whitelistedMethods: ['burn'] },
    });
    const missing = { address: '0x00000000000000000000000000000000000000ff' };
    const notFound = await call('DELETE', '/smart-contract', '/smart-contract', { key, body: missing });
    expect(notFound.status).toBe(404);

    for (const policy of [
      aLimitBody,
      aWebhookBody,
      aDeploymentBody,
      {
        ...aWebhookBody,
        name: 'By GET',
        policyData: { ...aWebhookBody.policyData, method: 'GET', onError: 'Allow', timeoutSeconds: 0.5 },
      },
    ])
      await call('POST', '/paymaster-policy', '/paymaster-policy', { key, body: policy });
    const listed = await call('GET', '/paymaster-policyParameters', '/paymaster-policy', { key });
    expect(recordsOf(listed.body.data)).toHaveLength(5);
    const policyId = String(recordsOf(listed.body.data)[0]?.['_id']);
    for (const action of ['limit', 'deactivate', 'activate']) {
      const template = `/paymaster-policy/${action}/{policyId}`;
      await call('PATCH', `/paymaster-policy/${action}/${policyId}`, template, {
        key,
        ...(action === 'limit' && { body: { threshold: 0.5, thresholdType: 'NATIVE_ASSET' } }),
      });
      await call('PATCH', `/paymaster-policy/${action}/unknown`, template, { key });
    }

    const path = `/funding-message/${String(paymasterId)}`;
    const sent = await call('GET', path, '/funding-message/{paymasterId}', { key });
    const wallet = newWallet();
    const signature = await wallet.signMessage(String(recordOf(sent.body.data)['fundingMessage']));
    const update = { paymasterId, type: 'paymasterFundingId', signature, address: wallet.address };
    const funded = await call('PATCH', '/paymaster', '/paymaster', { key, body: update });
    expect(funded.status).toBe(200);
    const again = await call('PATCH', '/paymaster', '/paymaster', { key, body: update });
    expect(again.body.message).toBe('Invalid signature');
    await call('DELETE', '/smart-contract', '/smart-contract', { key, body: { address } });
  });

  test('the check itself notices a field that the document lacks', () => {
    const schema = at(
      document,
      'paths',
      '/paymaster',
      'get',
      'responses',
      '200',
      'content',
      'application/json',
      'schema',
    );
    const good = { statusCode: 200, message: 'DApp list fetched', data: [] };
    expect(problems(schema, good)).toEqual([]);
    expect(
      problems(schema, { ...good, data: [{ name: 'x', chainId: 1, apiKey: 'k', secret: 1 }] }),
    ).not.toEqual([]);
    expect(problems(schema, { ...good, message: 'ok' })).not.toEqual([]);
  });
});
