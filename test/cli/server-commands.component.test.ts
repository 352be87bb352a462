import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';
import { nameCommand } from '../../cli/api/command-name.js';
import { describeEndpoint } from '../../cli/api/endpoints.js';
import { renderAnswer } from '../../cli/api/render-answer.js';
import { actingVerbs } from '../../cli/contract/verbs.js';
import { manageEndpoints, platformEndpoints } from '../../server/dashboard/endpoints.js';
import { acmeToken, otherToken } from '../build/dashboard.js';
import { aDecision, alone, aRefusal, at, reservationOf } from '../conformance/ledger-records.js';
import { anAbi, aPaymaster } from '../build/resources.js';
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

const run = (
  args: readonly string[],
  { url = host.origin, as = 'acme', ...more }: { url?: string; as?: string; stopped?: AbortSignal } = {},
) => paymaster(args, { PAYMASTER_URL: url, PAYMASTER_TOKEN_FILE: join(folder, as) }, '', more);

test('every endpoint of the management API is one command', async () => {
  const endpoints = [...manageEndpoints, ...platformEndpoints];
  const names = endpoints.map((endpoint) => nameCommand(endpoint, endpoints));
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
  ['get', '/paymasters/:name/hosts', 'paymaster hosts'],
  ['post', '/paymasters/:name/hosts', 'paymaster create-hosts'],
  ['delete', '/paymasters/:name/hosts/:id', 'paymaster delete-hosts'],
  ['get', '/paymasters/:name/keys', 'key list'],
  ['get', '/paymasters/:name/keys/:key', 'key show'],
  ['post', '/paymasters/:name/keys', 'key add'],
  ['delete', '/paymasters/:name/keys/:key', 'key revoke'],
] as const)('%s %s is %s', (method, path, name) => {
  const others = [{ method: 'get', path: '/paymasters/:name/hosts' } as const];
  const { noun, verb } = nameCommand({ method, path }, others);
  expect([noun, verb].filter((word) => word !== undefined).join(' ')).toBe(name);
});

describe('a command of a server', () => {
  test('answers the same for people and programs', async () => {
    const { out, error, status } = await run(['decision', 'list', ...range]);
    expect({ error, status }).toEqual({ error: '', status: 0 });
    expect(out.split('\n')[0]).toMatch(/^ {2}AT +PAYMASTER +VERDICT +OUTCOME +COST +REASON +SENDER$/);
    expect(out).toMatch(
      /^ {2}2026-01-31T12:00:00Z +shop +refused +- +- +LIMIT_REACHED +0x[0-9a-f]{4}…[0-9a-f]{4}$/m,
    );
    expect(out).toMatch(/ sponsored +open +≤ /);
    expect((await run(['decision', 'list', ...range, '-o', 'wide'])).out).toMatch(/ ID +SENDER +METHOD\n/);
    const json = JSON.parse((await run(['decision', 'list', ...range, '-o', 'json'])).out);
    expect(json.items).toHaveLength(2);
    expect(parse((await run(['decision', 'list', ...range, '-o', 'yaml'])).out)).toEqual(json);
    const { id } = json.items.find((each: { verdict: string }) => each.verdict === 'refused');
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
      JSON.parse(out).items.map(({ id }: { id: string }) => id),
    );
    expect(new Set(ids).size).toBe(2);
  });

  test('says that a list is empty', async () => {
    expect(await run(['usage', ...range], { as: 'other' })).toMatchObject({ out: 'no usage\n', status: 0 });
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
    for (const { id } of JSON.parse(out).items)
      expect(await run(['decision', 'show', id], { as: 'other' })).toMatchObject({ status: 1, out: '' });
  });
});

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

describe('what is sent, and what its answer ends with', () => {
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
    { status: 404, text: '<html>', exit: 3, says: "the dashboard's address?" },
    { status: 200, text: '<html>', exit: 3, says: 'does not answer as the management API' },
    {
      status: 400,
      text: '{"detail":"wrong","errors":[{"field":"a","mustBe":"1"},{"field":"b","mustBe":"2","value":"\\u001b3"}]}',
      exit: 2,
      says: 'error: wrong\n  a must be 1\n  b must be 2, got  3\n',
    },
    {
      status: 400,
      text: '{"title":"The request is wrong","detail":"a must be 1; b must be 2","errors":[{"field":"a","mustBe":"1"},{"field":"b","mustBe":"2"}]}',
      exit: 2,
      says: 'error: The request is wrong\n  a must be 1\n  b must be 2\n',
    },
  ])('HTTP $status: $exit', async ({ status, text, exit, says }) => {
    await answering({ status, text }, async (url) => {
      const ended = await run(['usage'], { url });
      expect(ended).toMatchObject({ out: '', status: exit, error: expect.stringContaining(says) });
    });
  });
});

test('whatever deletes or sends a transaction has --yes', async () => {
  const endpoints = [...manageEndpoints, ...platformEndpoints];
  const deletions = endpoints.filter(({ method }) => method === 'delete');
  expect(deletions.map(({ parameters = {}, path }) => 'dryRun' in parameters || path)).not.toContain(
    expect.any(String),
  );
  const names = deletions.map((each) => nameCommand(each, endpoints));
  for (const words of [
    ...names.map(({ noun, verb = '' }) => [noun, verb]),
    ['context', 'delete'],
    ...actingVerbs.map(({ verb }) => ['contract', verb]),
  ])
    expect((await paymaster([...words, '--help'])).out).toMatch(/^ {2}--yes /m);
});

test('a token is shown with those that end with it, and revoked with --yes alone', async () => {
  const made = await run(['token', 'create', '--name', 'upper', '--scopes', 'write', '-o', 'json']);
  writeFileSync(join(folder, 'upper'), JSON.parse(made.out).token);
  await run(['token', 'create', '--name', 'lower', '--scopes', 'read'], { as: 'upper' });
  const shown = await run(['token', 'delete', 'upper']);
  expect(shown).toMatchObject({ status: 1, error: 'error: nothing was deleted: --yes deletes it\n' });
  expect(shown.out).toContain('ends: lower\n');
  expect(await run(['me'], { as: 'upper' })).toMatchObject({ status: 0 });
  expect(await run(['token', 'delete', 'upper', '--yes'])).toMatchObject({ status: 0, error: '' });
  expect(await run(['me'], { as: 'upper' })).toMatchObject({ status: 1 });
  expect((await run(['token', 'list'])).out).not.toMatch(/upper|lower/);
});

test.each([
  { args: ['policy', 'test', 'hook'], data: { verdict: 'refused', wouldPass: false }, status: 1 },
  { args: ['policy', 'test', 'hook'], data: { verdict: 'verified', wouldPass: true }, status: 0 },
  { args: ['paymaster', 'explain', 'shop'], data: { sponsored: false, steps: [] }, status: 1 },
])('$args answered with $data ends with $status', async ({ args, data, status }) => {
  await answering({ status: 200, text: JSON.stringify({ data }) }, async (url) => {
    expect(await run(args, { url })).toMatchObject({ status, error: '' });
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
  const rows = renderAnswer(describeEndpoint(endpoint), { items, nextCursor: null }).split('\n');
  expect(rows.map((row) => row.trim().replaceAll(/ +/g, ' '))).toEqual([
    'AT ACTOR ACTION KIND NAME FIELD BEFORE AFTER',
    'T ci changed Paymaster shop spec.active - false',
    'T ci changed Paymaster shop spec.name "a" "b"',
    'T ci created Paymaster shop - - -',
  ]);
});

test('a key with a name is added, listed without the key itself, and revoked with --yes alone', async () => {
  const file = join(folder, 'keyed.json');
  writeFileSync(file, JSON.stringify({ name: 'keyed', spec: { ...aPaymaster().spec, name: 'Keyed' } }));
  expect(await run(['paymaster', 'create', '-f', file])).toMatchObject({ status: 0 });
  const networks = ['--cidrs', '203.0.113.0/24', '--cidrs', '2001:db8::/32'];
  const web = ['key', 'add', 'keyed', '--name', 'web', '--campaign', 'winter', ...networks];
  const added = await run([...web, '-o', 'json']);
  expect({ status: added.status, error: added.error }).toEqual({ status: 0, error: '' });
  const { key, fingerprint } = JSON.parse(added.out);
  const listed = await run(['key', 'list', 'keyed']);
  expect(listed.out).toMatch(
    new RegExp(`^ {2}web +1 +${fingerprint} +winter +203\\.0\\.113\\.0/24.*2001:db8::/32$`, 'm'),
  );
  expect(listed.out).not.toContain(key);
  expect(await run(['key', 'add', 'keyed', '--name', 'web'])).toMatchObject({ status: 1 });
  expect(await run(['key', 'revoke', 'keyed', 'web'])).toMatchObject({ status: 1 });
  expect((await run(['key', 'show', 'keyed', 'web'])).out).toContain(key);
  expect(await run(['key', 'revoke', 'keyed', 'web', '--yes'])).toMatchObject({
    status: 0,
    error: '',
    out: expect.stringContaining('deleted: web'),
  });
  expect((await run(['key', 'show', 'keyed', 'web'])).status).toBe(1);
  expect(JSON.parse((await run([...web, '-o', 'json'])).out)).toMatchObject({ generation: 2 });
});

test('a token that may only stop finds a paymaster, suspends it, and is told which scope it lacks for the rest', async () => {
  const shop = join(folder, 'night.json');
  writeFileSync(shop, JSON.stringify({ name: 'night', spec: { ...aPaymaster().spec, name: 'Night' } }));
  expect(await run(['paymaster', 'create', '-f', shop])).toMatchObject({ status: 0 });
  const made = await run(['token', 'create', '--name', 'on-call', '--scopes', 'stop', '-o', 'json']);
  writeFileSync(join(folder, 'on-call'), JSON.parse(made.out).token);
  const asOnCall = (...args: string[]) => run(args, { as: 'on-call' });
  expect((await asOnCall('paymaster', 'list')).out).toMatch(/^ {2}NAME +CHAIN[^]*^ {2}night +31337$/m);
  expect((await asOnCall('paymaster', 'suspend', 'night')).out).toMatch(/^name: night\nid: \S+\n$/);
  expect((await asOnCall('paymaster', 'list')).out).toMatch(/^ {2}night +31337 +suspended$/m);
  for (const [needed, ...args] of [
    ['write', 'paymaster', 'resume', 'night'],
    ['read or write', 'paymaster', 'show', 'night'],
    ['read or write', 'export', '--server'],
  ])
    expect(await asOnCall(...args)).toEqual({
      status: 1,
      out: '',
      error: expect.stringContaining(`The token needs the scope ${needed}\n`),
    });
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
    items: expect.arrayContaining([expect.objectContaining({ name: 'typed', expiresAt: end })]),
  });
  expect((await paymaster(['token', 'create', '--help'])).out.replaceAll(/\s+/g, ' ')).toContain(
    'One of read, stop, finance, write; may be repeated',
  );
});

test.each([
  { operationId: 'getFunds', first: 'KIND', last: 'ACCOUNT' },
  { operationId: 'listPlatformAccounts', first: 'KIND', last: 'ACCOUNT' },
  { operationId: 'listPlatformLosses', first: 'CHAIN', last: 'UNTIL' },
])('the table of $operationId has what is decided by it', ({ operationId, first, last }) => {
  const endpoint = [...manageEndpoints, ...platformEndpoints].find(
    (each) => each.operationId === operationId,
  )!;
  const [header = ''] = renderAnswer(describeEndpoint(endpoint), endpoint.example).split('\n');
  const names = header.trim().split(/ +/);
  expect([names[0], names.at(-1)]).toEqual([first, last]);
  // Each column is a member of the answer.
  expect(renderAnswer(describeEndpoint(endpoint), endpoint.example)).not.toMatch(/ - +- +-/);
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

const tableOf = (operationId: string, data: object, options = {}) =>
  renderAnswer(
    describeEndpoint(manageEndpoints.find((each) => each.operationId === operationId)!),
    data,
    options,
  )
    .split('\n')
    .map((row) => row.trim().split(/ {2,}/));

test('paymasters are listed with their state, what was spent today and the limit that is nearest', () => {
  const ready = (status: string, reason: string) => ({ conditions: [{ type: 'Ready', status, reason }] });
  const items = [
    { name: 'shop', id: 'a', spec: { chainId: 1, version: '1.1.0' }, status: ready('True', 'Ready') },
    { name: 'game', id: 'b', spec: { chainId: 10, version: '1.1.0' }, status: ready('False', 'NoChain') },
    { name: 'old', id: 'c', spec: { chainId: 10, version: '1.1.0', suspended: true }, status: {} },
  ];
  const limit = { paymasterId: 'a', unit: 'COUNT', threshold: 100, rendered: null };
  const beside = {
    usage: { items: [{ group: 'a', spent: '0.5' }] },
    limits: {
      items: [
        { ...limit, name: 'daily', remaining: 40 },
        { ...limit, name: 'each', remaining: null },
        {
          ...limit,
          name: 'gas',
          unit: 'NATIVE_ASSET',
          threshold: '2000',
          remaining: '100',
          rendered: { threshold: '2', remaining: '0.1' },
        },
      ],
    },
  };
  expect(tableOf('listObjectsPaymaster', { items, nextCursor: null }, { beside })).toEqual([
    ['NAME', 'CHAIN', 'VERSION', 'STATE', 'SPENT TODAY', 'NEAREST LIMIT'],
    ['shop', '1', '1.1.0', 'ready', '0.5', '0.1 of 2 ether left (gas)'],
    ['game', '10', '1.1.0', 'NoChain', '0', '-'],
    ['old', '10', '1.1.0', 'suspended', '0', '-'],
  ]);
  // Without a ledger, or for a token that sees less.
  expect(tableOf('listObjectsPaymaster', { items, nextCursor: null })[0]).toEqual([
    'NAME',
    'CHAIN',
    'VERSION',
    'STATE',
  ]);
});

test('limits are listed in units of people, and usage with names', () => {
  const limits = [
    {
      name: 'gas',
      scope: 'SMART_ACCOUNT',
      unit: 'NATIVE_ASSET',
      rendered: { threshold: '1', remaining: null },
    },
    {
      name: 'daily',
      scope: 'PAYMASTER',
      unit: 'COUNT',
      threshold: 5,
      remaining: 4,
      resetsAt: '2026-01-02T00:00:00.000Z',
    },
  ];
  expect(tableOf('getLimits', { items: limits })).toEqual([
    ['NAME', 'FOR', 'LEFT', 'OF', 'RESETS'],
    ['gas', 'each account', '-', '1 ether', '-'],
    ['daily', 'all', '4', '5 operations', '2026-01-02'],
  ]);
  const rows = [
    { from: '2026-01-02T01:00:00.000Z', group: 'counter:0xd09de08a', method: 'increment', mined: 1 },
    { from: '2026-01-02T00:00:00.000Z', group: '0f8fad5b', name: 'shop', mined: 2 },
  ];
  expect(tableOf('getUsage', { items: rows })).toEqual([
    ['FROM', 'GROUP', 'MINED'],
    ['2026-01-02T01:00:00Z', 'counter.increment', '1'],
    ['2026-01-02', 'shop', '2'],
  ]);
});

test('--watch shows a list again when it differs, and goes on while the server is away', async () => {
  const stop = new AbortController();
  const answers = [
    '{"data":{"items":[]}}',
    '',
    '{"data":{"items":[]}}',
    '{"data":{"items":[{"name":"daily","scope":"PAYMASTER","threshold":5}]}}',
  ];
  const server = createServer((_request, response) => {
    const answer = answers.shift() ?? '';
    if (answers.length === 0) stop.abort();
    response.writeHead(answer === '' ? 503 : 200, { 'content-type': 'application/json' }).end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const ended = await run(['limit', 'list', '--watch', '1'], { url, stopped: stop.signal });
  expect(ended).toMatchObject({ out: 'no limits\n\n  NAME   FOR  OF\n  daily  all  5\n', status: 0 });
  expect(ended.error).toMatch(/^HTTP 503: [^\n]+\n$/);
  await new Promise((resolve) => server.close(resolve));
  expect(await run(['limit', 'list', '--watch', 'often'])).toMatchObject({
    status: 2,
    error: 'error: --watch must be 1 to 3600 seconds, got "often"\n',
  });
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
  expect(head).toMatch(/^ {2}NAME +PAYMASTER +STATE +LEFT +SAYS$/);
  expect(rows.map((row) => row.trim().split(/ {2,}/))).toEqual([
    ['paused', 'listed', 'paused', '-', '-'],
    [
      'two-rules',
      'listed',
      'shadow',
      '2 ether',
      '0 ether used and 0 ether promised of 2 ether, at most 0.5 ether for each operation',
    ],
  ]);
  const rules = await run(['paymaster', 'rules', 'listed']);
  expect(rules.out).toMatch(/^ {2}NAME +MODE +LEFT +SAYS\n/);
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
  expect(shown.error).toContain('with --cascade also what belongs to it');
  expect(shown.out).toContain('would be deleted: cli-shop');
  expect(await run(['paymaster', 'delete', 'cli-shop'], { as: 'other' })).toMatchObject({ status: 1 });
  await json(['paymaster', 'show', 'cli-shop']);
  const contract = { paymasterRef: { name: 'cli-shop' }, name: 'cli nft', address: `0x${'c1'.repeat(20)}` };
  writeFileSync(file, JSON.stringify({ name: 'cli-nft', spec: { ...contract, abi: anAbi } }));
  await json(['contract', 'create', '-f', file]);
  expect(await run(['paymaster', 'delete', 'cli-shop', '--yes'])).toMatchObject({
    status: 1,
    error: expect.stringContaining('contracts cli-nft'),
  });
  const ended = await json(['paymaster', 'delete', '--cascade', 'cli-shop', '--yes']);
  expect(ended).toMatchObject({ ends: { contracts: { names: ['cli-nft'] } }, stays: [] });
  expect(await run(['contract', 'show', 'cli-nft'])).toMatchObject({ status: 1 });
  expect(await run(['paymaster', 'show', 'cli-shop'])).toMatchObject({ status: 1 });
});

test('a change that begins a count anew is shown first, and asked for; --keep-count goes on with it', async () => {
  const file = join(folder, 'limit.yaml');
  const { spec } = aPaymaster();
  writeFileSync(file, JSON.stringify({ name: 'limited', spec }));
  expect(await run(['paymaster', 'create', '-f', file])).toMatchObject({ status: 0 });
  const limit = (threshold: string) => ({
    paymasterRef: { name: 'limited' },
    name: 'daily',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      cycleDuration: { value: 1, unit: 'day' },
      threshold,
      thresholdType: 'COUNT',
    },
  });
  const set = (threshold: string, ...options: readonly string[]) => {
    writeFileSync(file, JSON.stringify({ name: 'limited-daily', spec: limit(threshold) }));
    return run(['policy', 'set', 'limited-daily', '-f', file, ...options]);
  };
  const threshold = async (): Promise<unknown> =>
    parse((await run(['policy', 'show', 'limited-daily', '-o', 'yaml'])).out).spec.spendingLimit.threshold;
  expect(await set('10')).toMatchObject({ status: 0, error: '' });

  const asked = await set('20');
  expect(asked).toMatchObject({ out: '', status: 1 });
  expect(asked.error).toContain('the count begins anew: 0 of 10 operations forgotten');
  expect(asked.error).toContain('nothing was changed: --yes changes it, --keep-count');
  expect(await threshold()).toBe('10');
  const done = await set('20', '--yes');
  expect(done).toMatchObject({ status: 0, error: expect.stringContaining('0 of 10 operations forgotten') });
  expect(await set('30', '--keep-count')).toMatchObject({ status: 0, error: '' });
  expect(await threshold()).toBe('30');
  writeFileSync(file, JSON.stringify({ spec: { spendingLimit: { threshold: '40' } } }));
  const change = ['policy', 'change', 'limited-daily', '-f', file];
  expect(await run(change)).toMatchObject({ status: 0, error: '' });
  expect(await run([...change, '--keep-count'])).toMatchObject({ status: 0, error: '' });
});
