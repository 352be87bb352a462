import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyResource } from '../../core/resources/kinds.js';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  aWebhookBody,
  acmeToken,
  chainId,
  createPaymaster,
  recordOf,
} from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// A corpus of malformed bodies, headers and paths: each gets its documented error, nothing is stored, nothing crashes.

// Hooks run in the order of their definition: this one before the dashboard stops.
afterAll(async () => {
  expect(await everything()).toEqual(before);
});
const host = useDashboard();
let key: string;
let paymasterId: string;
let policyId: string;
let before: unknown;
beforeAll(async () => {
  ({ key, paymasterId } = await createPaymaster(host));
  const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body: aLimitBody });
  policyId = String(recordOf(created.body.data)['_id']);
  before = await everything();
});

/** The collector of V8, which a test may call without the process having been started with a flag. */
function exposedGc(): () => void {
  setFlagsFromString('--expose-gc');
  const gc: unknown = runInNewContext('gc');
  if (typeof gc !== 'function') throw new Error('V8 exposes no gc');
  return () => void gc();
}

/** What users have written; status follows it in its own time. */
async function everything(): Promise<unknown> {
  const objects: readonly AnyResource[] = [
    ...(await host.resources.list('Paymaster')),
    ...(await host.resources.list('SmartContract')),
    ...(await host.resources.list('PaymasterPolicy')),
  ];
  return objects.map(({ kind, metadata: { uid, generation, labels, annotations }, spec }) => ({
    kind,
    metadata: { uid, generation, labels, annotations },
    spec,
  }));
}

const aPaymasterBody = { name: 'New', type: 'HYBRID', chainId, version: '1.1.0' };
const aFundingBody = {
  paymasterId: 'p',
  type: 'paymasterFundingId',
  signature: '0x',
  address: aContractBody.address,
};

const withBody = [
  { number: 2, method: 'POST', path: () => '/paymaster', missing: 'name' },
  { number: 3, method: 'POST', path: () => '/smart-contract', missing: 'abi' },
  { number: 5, method: 'PATCH', path: () => '/smart-contract', missing: 'address' },
  { number: 6, method: 'DELETE', path: () => '/smart-contract', missing: 'address' },
  { number: 8, method: 'PATCH', path: () => '/paymaster', missing: 'signature' },
  { number: 9, method: 'POST', path: () => '/paymaster-policy', missing: 'policyType' },
] as const;

const notJson = 'body must be valid JSON';
const tooDeep = 'body must be nested at most 200 levels deep';
const notObject = 'body must be a JSON object';
const unreadable = 'The request could not be read';
const bytes = (...values: number[]) => new Uint8Array(values);

type Raw = {
  name: string;
  raw: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  /** Absent: the message names the first missing field of the endpoint. */
  message?: string;
};
const raws: readonly Raw[] = [
  { name: 'an empty object', raw: '{}' },
  { name: 'an empty object with a byte order mark', raw: bytes(0xef, 0xbb, 0xbf, 0x7b, 0x7d) },
  { name: 'only a prototype', raw: '{"__proto__":{"name":"x","address":"0x"}}' },
  { name: 'names of Object.prototype', raw: '{"constructor":1,"toString":2,"hasOwnProperty":3}' },
  { name: 'null', raw: 'null', message: notObject },
  { name: 'an array', raw: '[{"name":"x"}]', message: notObject },
  { name: 'a string', raw: '"name"', message: notObject },
  { name: 'a number', raw: '12', message: notObject },
  { name: 'a boolean', raw: 'true', message: notObject },
  { name: 'half an object', raw: '{"name":"x"', message: notJson },
  { name: 'a trailing comma', raw: '{"name":"x",}', message: notJson },
  { name: 'single quotes', raw: "{'name':'x'}", message: notJson },
  { name: 'a comment', raw: '{"name":"x"/* */}', message: notJson },
  { name: 'two values', raw: '{}{}', message: notJson },
  { name: 'NaN', raw: '{"chainId":NaN}', message: notJson },
  { name: 'a leading zero', raw: '{"chainId":031337}', message: notJson },
  { name: 'a control character in a text', raw: '{"name":"a\u0001b"}', message: notJson },
  { name: 'blanks', raw: ' \n\t ', message: notJson },
  { name: 'a form', raw: 'name=x&type=HYBRID', message: notJson },
  { name: 'XML', raw: '<?xml version="1.0"?><name/>', message: notJson },
  { name: 'a million open brackets', raw: '['.repeat(1_000_000), message: tooDeep },
  { name: 'a NUL', raw: bytes(0), message: notJson },
  { name: 'no UTF-8', raw: bytes(0x7b, 0xff, 0xfe, 0x7d), message: 'body must be JSON in UTF-8' },
  { name: 'UTF-16', raw: bytes(0xff, 0xfe, 0x7b, 0, 0x7d, 0), message: 'body must be JSON in UTF-8' },
  { name: 'half a surrogate pair', raw: '{"name":"\\ud83d"}', message: 'name must be well-formed Unicode' },
  { name: 'an endless number', raw: '{"chainId":1e999}', message: 'chainId must be a number that fits' },
  { name: 'an inexact number', raw: '{"chainId":9007199254740993}', message: 'chainId must be a number' },
  { name: 'a zero of a billion digits', raw: '{"x":{"y":1e-999999999}}', message: 'y must be a number' },
  {
    name: 'half a gzip stream',
    raw: new Uint8Array(gzipSync('{"name":"x"}').subarray(0, 15)),
    headers: { 'Content-Encoding': 'gzip' },
    message: unreadable,
  },
  {
    name: 'no gzip stream',
    raw: '{}',
    headers: { 'Content-Encoding': 'gzip' },
    message: unreadable,
  },
  {
    name: 'an unknown content encoding',
    raw: '{}',
    headers: { 'Content-Encoding': 'zip' },
    message: 'Content-Encoding must be identity, gzip, deflate or br',
  },
];

describe.each(withBody)('$number: $method', ({ method, path, missing }) => {
  test('without a body names what is missing', async () => {
    const { status, body } = await host.call(method, path(), { token: acmeToken, key });
    expect({ status, statusCode: body.statusCode }).toEqual({ status: 400, statusCode: 400 });
    expect(body.message).toContain(missing === 'address' ? 'must be' : `${missing} must be set`);
  });

  test.each(raws)('$name', async ({ raw, headers, message }) => {
    const answer = await host.call(method, path(), {
      token: acmeToken,
      key,
      raw,
      ...(headers === undefined ? {} : { headers }),
    });
    expect({ status: answer.status, statusCode: answer.body.statusCode }).toEqual({
      status: 400,
      statusCode: 400,
    });
    expect(answer.body.message).toContain(message ?? `${missing} must be set`);
  });
});

const texts = [null, 7, true, [], {}];
const numbers = [null, '31337', true, [], {}];
const names = [...texts, '', ' ', 'a\u0000b', 'line\nbreak', 'x'.repeat(129)];
const addresses = [
  ...texts,
  '',
  '0x',
  '0x12',
  aContractBody.address.slice(2),
  `${aContractBody.address}0`,
  'vitalik.eth',
];
const { policyData } = aLimitBody;

type Field = {
  of: string;
  method: string;
  path: string;
  body: object;
  field: string;
  values: readonly unknown[];
};
const fields: readonly Field[] = [
  ...[
    { field: 'name', values: names },
    { field: 'type', values: [...texts, 'hybrid', 'SPONSORED'] },
    { field: 'chainId', values: numbers },
    { field: 'version', values: texts },
  ].map((row) => ({ of: 'a paymaster', method: 'POST', path: '/paymaster', body: aPaymasterBody, ...row })),
  ...[
    { field: 'name', values: names },
    { field: 'address', values: addresses },
    {
      field: 'abi',
      values: [
        ...texts,
        '',
        'no JSON',
        '{}',
        '"[]"',
        '[7]',
        '[{"type":7}]',
        '[{"type":"function"}]',
        '[null]',
      ],
    },
    { field: 'whitelistedMethods', values: [null, 'mint', 7, {}, [7], [null], [''], ['burn', ['mint']]] },
  ].map((row) => ({
    of: 'a contract',
    method: 'POST',
    path: '/smart-contract',
    body: aContractBody,
    ...row,
  })),
  {
    of: 'a removal',
    method: 'DELETE',
    path: '/smart-contract',
    body: {},
    field: 'address',
    values: addresses,
  },
  ...[
    { field: 'paymasterId', values: [...texts, ''] },
    { field: 'type', values: [...texts, 'paymasterId'] },
    { field: 'signature', values: texts },
    { field: 'address', values: addresses },
  ].map((row) => ({
    of: 'a funding update',
    method: 'PATCH',
    path: '/paymaster',
    body: aFundingBody,
    ...row,
  })),
  ...[
    { field: 'name', values: names, body: aDeploymentBody },
    { field: 'policyType', values: [...texts, 'LIMIT', 'toString', '__proto__'], body: aDeploymentBody },
    { field: 'policyData', values: [null, 7, 'x', true, []], body: aDeploymentBody },
    { field: 'policyData', values: [null, 7, 'x', true, []], body: aLimitBody },
    { field: 'policyData', values: [null, 7, 'x', true, []], body: aWebhookBody },
  ].map((row) => ({ of: `a ${row.body.policyType}`, method: 'POST', path: '/paymaster-policy', ...row })),
  ...[
    { field: 'threshold', values: [null, '10', [], {}, -1, true] },
    { field: 'thresholdType', values: [...texts, 'count'] },
    { field: 'cycleDuration', values: [null, 7, '3 hours', [], '{"value":3', '[]'] },
    { field: 'name', values: names },
  ].map((row) => ({ of: 'a limit update', method: 'PATCH', path: 'limit', body: {}, ...row })),
];

const fieldCases = fields.flatMap(({ values, ...row }) =>
  values.map((value) => ({ ...row, value, shown: (JSON.stringify(value) ?? 'nothing').slice(0, 40) })),
);

test.each(fieldCases)('$of with $field $shown is a 400 that names it', async (row) => {
  const path = row.path === 'limit' ? `/paymaster-policy/limit/${policyId}` : row.path;
  const answer = await host.call(row.method, path, {
    token: acmeToken,
    key,
    body: { ...row.body, [row.field]: row.value },
  });
  expect({ status: answer.status, statusCode: answer.body.statusCode }).toEqual({
    status: 400,
    statusCode: 400,
  });
  expect(answer.body.message).toMatch(new RegExp(`(^|; )${row.field}[^ ]* must be`));
});

const dataCases = [
  { field: 'type', values: [...texts, 'USER'] },
  { field: 'threshold', values: [null, '10', [], {}, -1] },
  { field: 'thresholdType', values: [...texts, 'WEI'] },
  { field: 'cycleDuration', values: [null, 7, '3 hours', [], {}] },
].flatMap(({ field, values }) => values.map((value) => ({ field, value })));

test.each(dataCases)('policyData.$field $value is a 400 that names it', async ({ field, value }) => {
  const body = { ...aLimitBody, name: 'New', policyData: { ...policyData, [field]: value } };
  const answer = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.message).toContain(`policyData.${field}`);
});

test.each([
  'http://rules.example.com/',
  'ftp://rules.example.com/',
  'https://localhost/',
  'https://127.0.0.1/',
  'https://10.0.0.8/',
  'https://169.254.169.254/latest/meta-data',
  'https://[::1]/',
  'https://2130706433/',
  'https://user:secret@rules.example.com/',
  'https://rules.example.com:22/',
  'https://rules',
  '//rules.example.com',
  'javascript:alert(1)',
  'https://',
  '',
])('the webhook URL %s is a 400 that names it and shows no credentials', async (url) => {
  const body = { ...aWebhookBody, name: 'New', policyData: { url } };
  const answer = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body });
  expect(answer.status).toBe(400);
  expect(answer.body.message).toContain('policyData.url must be');
  expect(answer.body.message).not.toContain('secret');
});

test('every wrong field is named in one answer', async () => {
  const { body } = await host.call('POST', '/paymaster', {
    token: acmeToken,
    body: { name: '', type: 'X', chainId: 'one', version: 2 },
  });
  for (const field of ['name', 'type', 'chainId', 'version'])
    expect(body.message).toContain(`${field} must be`);
  const policy = await host.call('POST', '/paymaster-policy', {
    token: acmeToken,
    key,
    body: {
      name: 7,
      policyType: 'PAYMASTER_SA_LIMIT',
      policyData: {
        ...policyData,
        threshold: 0.5,
        cycleDuration: { value: 400, unit: 'day' },
      },
    },
  });
  for (const field of ['name', 'policyData.threshold', 'policyData.cycleDuration.value'])
    expect(policy.body.message).toContain(`${field} must be`);
});

test('methods that the ABI lacks are named, with those that it has', async () => {
  const { status, body } = await host.call('POST', '/smart-contract', {
    token: acmeToken,
    key,
    body: { ...aContractBody, whitelistedMethods: ['mint', 'steal', 'mint(bytes)'] },
  });
  expect(status).toBe(400);
  expect(body.message).toContain(
    'whitelistedMethods[1] must be a method of the ABI (mint, burn), got "steal"',
  );
  expect(body.message).toContain('whitelistedMethods[2]');
});

test('a method is judged as the resource will judge it, under its name in the body', async () => {
  const { status, body } = await host.call('POST', '/smart-contract', {
    token: acmeToken,
    key,
    body: { ...aContractBody, whitelistedMethods: [' mint(address)'] },
  });
  expect(status).toBe(400);
  expect(body.message).toBe(
    'whitelistedMethods[0] must be a method name such as "mint", or a full signature such as "mint(address)", got " mint(address)"',
  );
});

test('an array of too many methods is not said to be none', async () => {
  const { status, body } = await host.call('POST', '/smart-contract', {
    token: acmeToken,
    key,
    body: { ...aContractBody, whitelistedMethods: Array.from({ length: 1001 }, () => 'mint') },
  });
  expect(status).toBe(400);
  expect(body.message).toContain('whitelistedMethods must be a list of at most 1000 items');
});

test('a megabyte of wrong entries is answered in few words', async () => {
  const { status, body } = await host.call('POST', '/smart-contract', {
    token: acmeToken,
    key,
    body: { ...aContractBody, whitelistedMethods: Array.from({ length: 400_000 }, () => 1) },
  });
  expect(status).toBe(400);
  expect(body.message.length).toBeLessThan(10_000);
});

test('six hundred refused requests leave no timer and no memory behind', async () => {
  const gc = exposedGc();
  const refuse = async (count: number) => {
    for (let index = 0; index < count; index += 20)
      await Promise.all(
        Array.from({ length: 20 }, (_, offset) => {
          const { raw, headers = {} } = raws[(index + offset) % raws.length] ?? { raw: '' };
          return host.call('POST', '/paymaster-policy', {
            token: index % 40 === 0 ? `wrong-${index}-${offset}` : acmeToken,
            key,
            raw: raw.length > 10_000 ? '[' : raw,
            headers,
          });
        }),
      );
    gc();
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    return { timers, heap: process.memoryUsage().heapUsed };
  };
  const warm = await refuse(200);
  const after = await refuse(600);
  // The client's own keep-alive timers come and go by one or two.
  expect(after.timers).toBeLessThanOrEqual(warm.timers + 5);
  expect(after.heap - warm.heap).toBeLessThan(4 * 1024 * 1024);
});

describe('headers', () => {
  test.each([
    ['a quote', `'" OR 1=1 --`],
    ['a property of objects', '__proto__'],
    ['a path', '../../organisations'],
    ['a list of two tokens', `${acmeToken}, ${acmeToken}`],
    ['eight thousand characters', 'x'.repeat(8000)],
    ['characters beyond ASCII', 'tök\u00ffen'],
    ['another scheme', `Bearer ${acmeToken}`],
    ['one character more', `${acmeToken}x`],
    ['one character less', acmeToken.slice(0, -1)],
    ['another case', acmeToken.toUpperCase()],
  ])('%s is no authToken and no apiKey', async (_name, value) => {
    const asToken = await host.call('GET', '/smart-contract', { token: value, key });
    const asKey = await host.call('GET', '/smart-contract', { token: acmeToken, key: value });
    expect([asToken.status, asKey.status]).toEqual([401, 401]);
    expect(asKey.body.message).toBe('Auth token and API key is required in the headers');
  });
});

describe('ids in paths', () => {
  const ids = [
    '__proto__',
    'constructor',
    '%00',
    '..%2f..',
    "'%20OR%201=1",
    'x'.repeat(4000),
    '%F0%9F%98%80',
  ];
  test.each(ids.flatMap((id) => ['limit', 'activate', 'deactivate'].map((action) => ({ id, action }))))(
    '$action of $id is 404',
    async ({ id, action }) => {
      const { status, body } = await host.call('PATCH', `/paymaster-policy/${action}/${id}`, {
        token: acmeToken,
        key,
      });
      expect({ status, message: body.message }).toEqual({
        status: 404,
        message: 'Paymaster Policy not found',
      });
    },
  );

  test.each([...ids, ' '])('the funding message of %s is 404', async (id) => {
    const { status } = await host.call('GET', `/funding-message/${id}`, { token: acmeToken, key });
    expect(status).toBe(404);
  });

  test('a path that does not decode is 400 in the envelope', async () => {
    const { status, body } = await host.call('GET', '/funding-message/%E0%A4%A', { token: acmeToken, key });
    expect({ status, statusCode: body.statusCode }).toEqual({ status: 400, statusCode: 400 });
    expect(body.message).not.toContain(paymasterId);
  });
});
