import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { commandNameOf } from '../../cli/api/command-name.js';
import { renderAnswer } from '../../cli/api/render-answer.js';
import { manageEndpoints, platformEndpoints } from '../../server/dashboard/endpoints.js';
import { acmeToken, otherToken } from '../build/dashboard.js';
import { aDecision, alone, aRefusal, at, reservationOf } from '../conformance/ledger-records.js';
import { aPaymaster } from '../build/resources.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { paymaster } from '../support/paymaster.js';
import { useDashboard } from '../support/use-dashboard.js';

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: true, programmedTimeoutMs: 60_000 });
const noon = at('2026-01-31T12:00:00Z');
const range = ['--from', '2026-01-31T00:00:00Z', '--to', '2026-02-01T00:00:00Z'];
const refused = aRefusal('acme', noon, { reason: 'LIMIT_REACHED', detail: 'full\u001b[2J' });

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'commands-'));
  writeFileSync(join(folder, 'acme'), acmeToken);
  writeFileSync(join(folder, 'other'), otherToken);
  await ledger.append([...reservationOf(aDecision('acme', noon, { nonce: 1n })), ...alone(refused)]);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (args: readonly string[], { url = host.origin, as = 'acme' } = {}) =>
  paymaster(args, { PAYMASTER_URL: url, PAYMASTER_TOKEN_FILE: join(folder, as) });

test('every endpoint of the management API is one command', async () => {
  const endpoints = [...manageEndpoints, ...platformEndpoints];
  const names = endpoints.map((endpoint) => commandNameOf(endpoint, endpoints));
  const words = names.map(({ noun, verb }) => [noun, ...(verb === undefined ? [] : [verb])]);
  expect(new Set(words.map((each) => each.join(' '))).size).toBe(endpoints.length);
  for (const [at, endpoint] of endpoints.entries()) {
    const { out, status } = await paymaster([...(words[at] ?? []), '--help']);
    expect(status).toBe(0);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(endpoint.summary);
  }
});

test.each([
  ['get', '/usage', 'usage'],
  ['get', '/decisions', 'decision list'],
  ['get', '/decisions/:id', 'decision show'],
  ['get', '/policies', 'policy list'],
  ['post', '/policies', 'policy create'],
  ['put', '/policies/:name', 'policy set'],
  ['patch', '/policies/:name', 'policy change'],
  ['delete', '/policies/:name', 'policy delete'],
  ['post', '/paymasters/:name/suspend', 'paymaster suspend'],
  ['get', '/paymasters/:name/keys', 'paymaster keys'],
  ['post', '/paymasters/:name/keys', 'paymaster create-keys'],
  ['delete', '/paymasters/:name/keys/:id', 'paymaster delete-keys'],
] as const)('%s %s is %s', (method, path, name) => {
  const others = [{ method: 'get', path: '/paymasters/:name/keys' } as const];
  const { noun, verb } = commandNameOf({ method, path }, others);
  expect([noun, verb].filter((word) => word !== undefined).join(' ')).toBe(name);
});

describe('a command of a server', () => {
  test('answers the same for people and programs', async () => {
    const { out, error, status } = await run(['decision', 'list', ...range]);
    expect({ error, status }).toEqual({ error: '', status: 0 });
    expect(out.split('\n')[0]).toMatch(/^ {2}AT +ID +VERDICT +REASON +SENDER/);
    expect(out).toMatch(/ refused +LIMIT_REACHED /);
    const json = JSON.parse((await run(['decision', 'list', ...range, '-o', 'json'])).out);
    expect(json.decisions).toHaveLength(2);
    expect(parse((await run(['decision', 'list', ...range, '-o', 'yaml'])).out)).toEqual(json);
    const { id } = json.decisions.find((each: { verdict: string }) => each.verdict === 'refused');
    const shown = await run(['decision', 'show', id]);
    expect(shown.out).toContain('trace:\n  - step: suspended\n    verdict: pass\n');
    // Text of a caller does not move the reader's cursor.
    expect(shown.out).toContain('full');
    expect(shown.out).not.toContain('\u001b');
  });

  test('answers all rows as CSV, in which a text of a caller does not move the cursor', async () => {
    const { out, error, status } = await run(['decision', 'list', ...range, '--csv']);
    expect({ error, status }).toEqual({ error: '', status: 0 });
    const [head = '', ...rows] = out.trimEnd().split('\n');
    expect(head).toMatch(/^id,at,/);
    expect(rows).toHaveLength(2);
    expect(out).toContain('full');
    expect(out).not.toContain('\u001b');
    expect(await run(['me', '--csv'])).toMatchObject({ status: 2 });
    expect(await run(['usage', '--from', 'x', '--csv'])).toMatchObject({ status: 2, out: '' });
  });

  test('says on stderr how to go on where a page is not all', async () => {
    const first = await run(['decision', 'list', ...range, '--limit', '1', '-o', 'json']);
    const next = /--cursor (\S+)$/m.exec(first.error)?.[1] ?? '';
    const second = await run(['decision', 'list', ...range, '--limit', '1', '--cursor', next, '-o', 'json']);
    const ids = [first, second].flatMap(({ out }) =>
      JSON.parse(out).decisions.map(({ id }: { id: string }) => id),
    );
    expect(new Set(ids).size).toBe(2);
  });

  test('says that a list is empty', async () => {
    expect(await run(['usage', ...range], { as: 'other' })).toMatchObject({ out: 'no rows\n', status: 0 });
  });

  test.each([
    { args: ['usage', '--step', 'week'], status: 2, says: 'Allowed choices are ' },
    { args: ['usage', '--from', 'yesterday'], status: 2, says: 'from must be a time in UTC' },
    { args: ['decision', 'show'], status: 2, says: "missing required argument 'id'" },
    { args: ['decision', 'show', 'none'], status: 1, says: 'This organisation has no such decision' },
    { args: ['decision', 'show', '../me'], status: 1, says: 'This organisation has no such decision' },
    { args: ['decision', 'show', '..'], status: 2, says: 'id must be a name or an id, got ".."' },
    { args: ['decision', 'show', 'a?limit=1#x'], status: 1, says: 'This organisation has no such decision' },
  ])('$args ends with $status', async ({ args, status, says }) => {
    expect(await run(args)).toMatchObject({ out: '', status, error: expect.stringContaining(says) });
  });

  test('nobody sees what is another organisation’s', async () => {
    const { out } = await run(['decision', 'list', ...range, '-o', 'json']);
    for (const { id } of JSON.parse(out).decisions)
      expect(await run(['decision', 'show', id], { as: 'other' })).toMatchObject({ status: 1, out: '' });
  });
});

describe('what is sent, and what its answer ends with', () => {
  type Asked = { readonly line: string; readonly headers: IncomingMessage['headers']; readonly body: string };

  /** A server that answers everything in one way. */
  async function answering(
    answer: { readonly status: number; readonly text: string },
    use: (url: string, asked: readonly Asked[]) => Promise<void>,
  ): Promise<void> {
    const asked: Asked[] = [];
    const server = createServer(async (request, response) => {
      const body = (await request.toArray()).join('');
      asked.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }

  test.each([
    {
      status: 401,
      text: '{"detail":"no"}',
      exit: 1,
      says: 'the server does not accept the token: it is wrong, has expired or was revoked',
    },
    { status: 403, text: '{"detail":"needs write"}', exit: 1, says: 'needs write' },
    { status: 409, text: '{"detail":"it is there"}', exit: 1, says: 'it is there' },
    { status: 429, text: '{"detail":"slower"}', exit: 3, says: 'slower' },
    { status: 503, text: 'upstream', exit: 3, says: 'HTTP 503: is http' },
    { status: 404, text: '<html>', exit: 1, says: "the dashboard's address?" },
    { status: 200, text: '<html>', exit: 1, says: 'does not answer as the management API' },
    {
      status: 400,
      text: '{"detail":"wrong","errors":[{"field":"a","mustBe":"1"},{"field":"b","mustBe":"2","value":"\\u001b3"}]}',
      exit: 2,
      says: 'error: wrong\n  a must be 1\n  b must be 2, got  3\n',
    },
  ])('HTTP $status: $exit', async ({ status, text, exit, says }) => {
    await answering({ status, text }, async (url) => {
      const ended = await run(['usage'], { url });
      expect(ended).toMatchObject({ out: '', status: exit, error: expect.stringContaining(says) });
    });
  });
});

test('a change is a row for each of its fields, and an object that was made or deleted is one', () => {
  const endpoint = manageEndpoints.find(({ operationId }) => operationId === 'listChanges')!;
  const change = { at: 'T', kind: 'Paymaster', name: 'shop', actor: 'ci' };
  const fields = [
    { field: 'spec.active', before: null, after: 'false' },
    { field: 'spec.name', before: '"a"', after: '"b"' },
  ];
  const items = [
    { ...change, action: 'changed', fields },
    { ...change, action: 'created', fields },
  ];
  const rows = renderAnswer(endpoint, { items, nextCursor: null }).split('\n');
  expect(rows.map((row) => row.trim().replaceAll(/ +/g, ' '))).toEqual([
    'AT ACTION KIND NAME ACTOR FIELD BEFORE AFTER',
    'T changed Paymaster shop ci spec.active - false',
    'T changed Paymaster shop ci spec.name "a" "b"',
    'T created Paymaster shop ci - - -',
  ]);
});

test('a token is made with the scopes and the end that are typed, and an unknown scope is refused by name', async () => {
  const create = (...options: readonly string[]) =>
    run(['token', 'create', '--name', 'typed', ...options, '-o', 'json']);
  expect(await create('--scopes', 'finance', '--scopes', 'all')).toMatchObject({
    status: 2,
    error: expect.stringContaining('all'),
  });
  const expiresAt = new Date(Date.now() + 86_400_000).toISOString();
  const made = await create('--scopes', 'finance', '--scopes', 'stop', '--expires-at', expiresAt);
  expect(made).toMatchObject({ status: 0, error: '' });
  const { scopes, expiresAt: end } = JSON.parse(made.out);
  expect([scopes.toSorted(), Date.parse(end)]).toEqual([['finance', 'stop'], Date.parse(expiresAt)]);
  expect(JSON.parse((await run(['token', 'list', '-o', 'json'])).out)).toMatchObject({
    tokens: expect.arrayContaining([expect.objectContaining({ name: 'typed', expiresAt: end })]),
  });
  expect((await paymaster(['token', 'create', '--help'])).out.replaceAll(/\s+/g, ' ')).toContain(
    'One of read, stop, finance, write; may be repeated',
  );
});

test.each([
  { operationId: 'getFunds', first: 'ACCOUNT', last: 'HOURSLEFT' },
  { operationId: 'listPlatformAccounts', first: 'ACCOUNT', last: 'HOURSLEFT' },
  { operationId: 'listPlatformLosses', first: 'CHAINID', last: 'UNTIL' },
])('the table of $operationId has what is decided by it', ({ operationId, first, last }) => {
  const endpoint = [...manageEndpoints, ...platformEndpoints].find(
    (each) => each.operationId === operationId,
  )!;
  const [header = ''] = renderAnswer(endpoint, endpoint.example).split('\n');
  const names = header.trim().split(/ +/);
  expect([names[0], names.at(-1)]).toEqual([first, last]);
  // Each column is a member of the answer.
  expect(renderAnswer(endpoint, endpoint.example)).not.toMatch(/ - +- +-/);
});

test.each([
  { programmed: 'false', says: 'the servers that sign do not follow it yet' },
  { programmed: 'true', says: '' },
])('a write whose answer has X-Programmed $programmed says "$says"', async ({ programmed, says }) => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'x-programmed': programmed }).end('{"data":{"name":"shop"}}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { error, status } = await run(['paymaster', 'suspend', 'shop'], { url: `http://127.0.0.1:${port}` });
  expect(status).toBe(0);
  expect(error).toContain(says);
  expect(error === '').toBe(says === '');
  await new Promise((resolve) => server.close(resolve));
});

test('policies are listed with what they say now', async () => {
  const shop = join(folder, 'listed.json');
  writeFileSync(shop, JSON.stringify({ name: 'listed', spec: { ...aPaymaster().spec, name: 'Listed' } }));
  expect(await run(['paymaster', 'create', '-f', shop])).toMatchObject({ status: 0, error: '' });
  const limit = { scope: 'PAYMASTER', thresholdType: 'NATIVE_ASSET', perOperation: '0.5' };
  const most = { threshold: '2', never: {} };
  for (const [name, active, spendingLimit] of [
    ['two-rules', true, { ...limit, ...most }],
    ['paused', false, limit],
  ] as const) {
    const file = join(folder, `${name}.json`);
    const spec = { paymasterRef: { name: 'listed' }, name, policyType: 'PAYMASTER_SA_LIMIT', active };
    writeFileSync(file, JSON.stringify({ name, spec: { ...spec, enforcement: 'Shadow', spendingLimit } }));
    expect(await run(['policy', 'create', '-f', file])).toMatchObject({ status: 0, error: '' });
  }
  const { out, status } = await run(['policy', 'list', '--paymaster', 'listed']);
  expect(status).toBe(0);
  const [head, ...rows] = out.trimEnd().split('\n');
  expect(head).toMatch(/^ {2}NAME +POLICYTYPE +ACTIVE +ENFORCEMENT +SAYS +VERDICT +REMAINING +TURNSAT$/);
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    ['paused', 'PAYMASTER_SA_LIMIT', 'false', 'Shadow', '-', '-', '-', '-'],
    [
      'two-rules',
      'PAYMASTER_SA_LIMIT',
      'true',
      'Shadow',
      '0 ether used and 0 ether promised of 2 ether, at most 0.5 ether for each operation',
      '-',
      '2 ether',
      '-',
    ],
  ]);
  const rules = await run(['paymaster', 'rules', 'listed']);
  expect(rules.out).toMatch(
    /^ {2}POLICYTYPE +NAME +ENFORCEMENT +CAMPAIGN +SAYS +VERDICT +REMAINING +TURNSAT/,
  );
});

test('a paymaster is made of its manifest, changed, stopped and deleted', async () => {
  const file = join(folder, 'shop.yaml');
  const { spec } = aPaymaster();
  const manifest = (change: object) =>
    JSON.stringify({
      apiVersion: 'paymasters.dev/v1alpha1',
      kind: 'Paymaster',
      metadata: { name: 'cli-shop', namespace: 'acme', labels: { team: 'growth' } },
      spec: { ...spec, name: 'By command', ...change },
    });
  const json = async (args: readonly string[]) => {
    const ended = await run([...args, '-o', 'json']);
    expect(ended).toMatchObject({ status: 0, error: '' });
    return JSON.parse(ended.out);
  };
  writeFileSync(file, manifest({}));
  const made = await json(['paymaster', 'create', '-f', file]);
  expect(made).toMatchObject({ name: 'cli-shop', labels: { team: 'growth' }, spec: { name: 'By command' } });
  expect(await run(['paymaster', 'create', '-f', file])).toMatchObject({ status: 1 });
  writeFileSync(file, manifest({ maxExpirySeconds: 60 }));
  const seen = `${made.uid}.${made.generation}`;
  const set = await json(['paymaster', 'set', 'cli-shop', '-f', file, '--if-match', seen]);
  expect(set.spec.maxExpirySeconds).toBe(60);
  expect(await run(['paymaster', 'set', 'cli-shop', '-f', file, '--if-match', seen])).toMatchObject({
    status: 1,
    error: expect.stringContaining('If-Match'),
  });
  expect((await json(['paymaster', 'suspend', 'cli-shop'])).spec.suspended).toBe(true);
  // At night nobody wants to read the whole object, with a status from before.
  expect((await run(['paymaster', 'resume', 'cli-shop'])).out).toMatch(
    /^name: cli-shop\nid: \S+\nuid: \S+\ngeneration: 4\n$/,
  );
  expect((await json(['paymaster', 'suspend', 'cli-shop'])).spec.suspended).toBe(true);
  expect((await run(['paymaster', 'list'])).out).toMatch(/^ {2}cli-shop /m);

  const exported = await run(['export', '--server']);
  expect(exported).toMatchObject({ status: 0, error: expect.stringContaining('a server shows no') });
  const [paymasterThere] = parseAllDocuments(exported.out).map((each) => each.toJS());
  expect(paymasterThere).toEqual({
    ...JSON.parse(manifest({ maxExpirySeconds: 60, suspended: true })),
    spec: { ...spec, name: 'By command', maxExpirySeconds: 60, suspended: true },
  });
  writeFileSync(file, exported.out);
  expect(await run(['diff', file, '--server'])).toMatchObject({ out: 'nothing differs\n', status: 0 });
  expect((await run(['export', '--server'], { as: 'other' })).out).toBe('');

  // What would end is shown first, and asked for.
  const shown = await run(['paymaster', 'delete', 'cli-shop']);
  expect(shown).toMatchObject({ status: 1, error: expect.stringContaining('nothing was deleted: --yes') });
  expect(shown.out).toContain('dryRun: true');
  expect(await run(['paymaster', 'delete', 'cli-shop'], { as: 'other' })).toMatchObject({ status: 1 });
  await json(['paymaster', 'show', 'cli-shop']);
  await json(['paymaster', 'delete', 'cli-shop', '--yes']);
  expect(await run(['paymaster', 'show', 'cli-shop'])).toMatchObject({ status: 1 });
});
