import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { manageEndpoints, managePrefix, platformEndpoints } from '../../server/dashboard/endpoints.js';
import { acmeToken, recordOf } from '../build/dashboard.js';
import { aPaymaster } from '../build/resources.js';
import { aDecision, alone, aRefusal, at, reservationOf } from '../conformance/ledger-records.js';
import { createMemoryLedger } from '../fakes/memory-ledger.js';
import { textOf } from '../support/document-commands.js';
import { paymaster } from '../support/paymaster.js';
import { programFile } from '../support/program.js';
import { repositoryRoot } from '../support/repository-root.js';
import { useDashboard } from '../support/use-dashboard.js';

// Sentences of pages for people, each with what is run to see that it is true. To change a sentence is to look at its check.

const ledger = createMemoryLedger();
const host = useDashboard({ ledger, operator: true, programmedTimeoutMs: 60_000 });
const noon = at('2026-01-31T12:00:00Z');
const range = 'from=2026-01-31T00:00:00Z&to=2026-02-01T00:00:00Z';

let folder: string;
const put = (name: string, text: string): string => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'claims-'));
  put('token', acmeToken);
  put('wrong', 'not-a-token');
  await ledger.append([
    ...reservationOf(aDecision('acme', noon, { nonce: 1n })),
    ...alone(aRefusal('acme', noon, { reason: 'LIMIT_REACHED', detail: 'full' })),
  ]);
  const body = JSON.stringify({ name: 'shop', spec: { ...aPaymaster().spec, name: 'shop' } });
  expect((await call('/paymasters', { method: 'POST', body })).status).toBe(201);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const call = (
  path: string,
  { headers = {}, ...init }: { method?: string; body?: string; headers?: object } = {},
) =>
  host.fetch(`${managePrefix}${path}`, {
    ...init,
    headers: { Authorization: `Bearer ${acmeToken}`, ...headers },
  });
const environment = (token = 'token') => ({
  PAYMASTER_URL: host.origin,
  PAYMASTER_TOKEN_FILE: join(folder, token),
});

/** The real program, as somebody starts it. */
async function run(args: readonly string[], env: Readonly<Record<string, string>> = environment()) {
  const child = spawn(process.execPath, ['--no-warnings', programFile('paymaster'), ...args], {
    env: { PATH: process.env['PATH'], XDG_CONFIG_HOME: folder, ...env },
    cwd: repositoryRoot,
  });
  let [out, error] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (error += chunk.toString()));
  const status = await new Promise((resolve) => child.once('close', resolve));
  return { out, error, status };
}

describe('command-line.md: "Exit code: 0, the work is done; 1, a refusal: by the server, by a rule, or by the command itself', () => {
  const shop = 'examples/quickstart/policies.yaml';
  const limit = ['limit', 'set', '--paymaster', 'shop', '--total'];
  type Case = {
    readonly name: string;
    readonly args: readonly string[] | (() => readonly string[]);
    readonly env?: () => Readonly<Record<string, string>>;
    readonly status: number;
    readonly error?: string | RegExp;
  };
  test.each<Case>([
    { name: 'done', args: ['paymaster', 'list'], status: 0 },
    { name: 'validate finds nothing', args: ['validate', 'examples/quickstart'], status: 0 },
    {
      name: 'refused by the server',
      args: ['paymaster', 'show', 'none'],
      status: 1,
      error: 'error: The organisation has no paymaster "none"\n',
    },
    {
      name: 'the token is refused',
      args: ['me'],
      env: () => environment('wrong'),
      status: 1,
      error: /does not accept the token/,
    },
    {
      name: 'refused by the command itself',
      args: ['paymaster', 'delete', 'shop'],
      status: 1,
      error: /nothing was deleted: --yes deletes it/,
    },
    { name: 'validate found something', args: ['validate', shop], status: 1 },
    {
      name: 'diff found something',
      args: () => ['diff', shop, '--got', put('none.yaml', 'apiVersion: v1\nkind: List\nitems: []\n')],
      status: 1,
    },
    {
      name: 'policy test of a policy that is not there',
      args: ['policy', 'test', 'none'],
      status: 1,
      error: /has no policy "none"/,
    },
    {
      name: 'apply is refused in part',
      args: () => ['apply', '-f', put('part.yaml', manifests)],
      status: 1,
      error: /^SmartContract lost: spec\.paymasterRef\.name must be/,
    },
    { name: 'no command', args: [], status: 2, error: /^Usage: paymaster/ },
    { name: 'an unknown command', args: ['paymster'], status: 2, error: /Did you mean paymaster\?/ },
    {
      name: 'an unknown option',
      args: ['paymaster', 'list', '--limt', '3'],
      status: 2,
      error: /Did you mean --limit\?/,
    },
    {
      name: 'a wrong value that the server reads',
      args: ['paymaster', 'list', '--limit', '0'],
      status: 2,
      error: 'error: --limit must be an integer from 1 to 500, got "0"\n',
    },
    {
      name: 'a wrong value that the command reads',
      args: [...limit, '1/fortnight'],
      status: 2,
      error: /^error: --total must be like/,
    },
    {
      name: 'a file that is not there',
      args: ['validate', '/none'],
      status: 2,
      error: /^error: \/none cannot be read/,
    },
    {
      name: 'a file of YAML that is wrong',
      args: () => ['apply', '-f', put('bad.yaml', 'kind: [')],
      status: 2,
      error: /bad\.yaml/,
    },
    {
      name: 'no server is chosen',
      args: ['usage'],
      env: () => ({}),
      status: 2,
      error: /^error: no server is chosen: "paymaster login URL"/,
    },
    {
      name: 'half a server is chosen',
      args: ['usage'],
      env: () => ({ PAYMASTER_URL: host.origin }),
      status: 2,
      error: /given together with/,
    },
    {
      name: 'nobody answers',
      args: ['usage'],
      env: () => ({ ...environment(), PAYMASTER_URL: 'http://127.0.0.1:9' }),
      status: 3,
      error: /does not answer/,
    },
    {
      name: 'it is not the dashboard',
      args: ['usage'],
      env: () => ({ ...environment(), PAYMASTER_URL: `${host.origin}/healthz` }),
      status: 3,
      error: /is .* the dashboard's address\?/,
    },
  ])('$status: $name', async ({ args, env, status, error = '' }) => {
    const ended = await run(typeof args === 'function' ? args() : args, env?.());
    expect(ended.status).toBe(status);
    if (typeof error === 'string') expect(ended.error).toBe(error);
    else expect(ended.error).toMatch(error);
    // No trace of the program, which says nothing to people.
    expect(ended.error).not.toMatch(/^ +at /m);
  });

  const manifests = `apiVersion: paymasters.dev/v1alpha1
kind: Paymaster
metadata: { name: shop, namespace: acme }
spec: ${JSON.stringify({ ...aPaymaster().spec, name: 'shop' })}
---
apiVersion: paymasters.dev/v1alpha1
kind: SmartContract
metadata: { name: lost, namespace: acme }
spec: { paymasterRef: { name: none }, name: lost, address: '0x${'c1'.repeat(20)}', abi: '[]' }
`;
});

type Claim = { readonly page: string; readonly says: string; readonly check: () => Promise<void> | void };
const everyExample = [...manageEndpoints, ...platformEndpoints].map(({ example }) => example);
/** Of every member at any depth: its name and its value. */
function membersIn(value: unknown): readonly (readonly [string, unknown])[] {
  if (Array.isArray(value)) return value.flatMap(membersIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap((member) => [member, ...membersIn(member[1])]);
}
const pagesOfConsole = (): readonly { readonly title: string; readonly needs: string }[] =>
  [...textOf('console/src/pages.ts').matchAll(/title: '([^']+)', .*needs: \[([^\]]*)\]/g)].map(
    ([, title = '', needs = '']) => ({ title, needs }),
  );
const pagesFor = (scope: string) =>
  pagesOfConsole().flatMap(({ title, needs }) => (needs.includes(`'${scope}'`) ? title : []));

const claims: readonly Claim[] = [
  {
    page: 'docs/console.md',
    says: '| `read` | all |',
    check: () => expect(pagesFor('read')).toEqual(pagesOfConsole().map(({ title }) => title)),
  },
  {
    page: 'docs/console.md',
    says: '| `finance` | Overview without problems, Money, Usage |',
    check: () => expect(pagesFor('finance')).toEqual(['Overview', 'Money', 'Usage']),
  },
  {
    page: 'docs/console.md',
    says: '| `stop` | Problems; Paymasters as a list of name, chain and state |',
    check: () => expect(pagesFor('stop')).toEqual(['Problems', 'Paymasters']),
  },
  {
    page: 'docs/month-end.md',
    says: 'a field whose name ends in `Wei` is a whole number of wei, any other amount of coins is decimal',
    check() {
      const amounts = everyExample
        .flatMap(membersIn)
        .filter(([name, value]) => name.endsWith('Wei') && value !== null);
      expect(amounts.length).toBeGreaterThan(5);
      expect(amounts.filter(([, value]) => !/^"-?[0-9]+"$/.test(JSON.stringify(value)))).toEqual([]);
      const coins = everyExample
        .flatMap(membersIn)
        .filter(([name]) => ['spent', 'promised', 'balance', 'cost'].includes(name));
      expect(coins.length).toBeGreaterThan(3);
      expect(
        coins.filter(([, value]) => value !== null && !/^"-?[0-9]+(\.[0-9]+)?"$/.test(JSON.stringify(value))),
      ).toEqual([]);
    },
  },
  {
    page: 'docs/month-end.md',
    says: '`paymaster usage --csv` and `paymaster fund list --csv` answer the same',
    async check() {
      for (const [args, path] of [
        [
          ['usage', '--from', '2026-01-31T00:00:00Z', '--to', '2026-02-01T00:00:00Z', '--csv'],
          `/usage?${range}`,
        ],
        [['fund', 'list', '--csv'], '/funds'],
      ] as const) {
        const csv = await (await call(path, { headers: { accept: 'text/csv' } })).text();
        expect(csv).toContain(',');
        expect((await paymaster(args, environment())).out).toBe(csv.replaceAll('\r\n', '\n'));
      }
    },
  },
  {
    page: 'docs/month-end.md',
    says: '| `opening`, `closing` |',
    check() {
      const schemas = manageEndpoints
        .filter(({ path }) => path === '/statements')
        .map(({ schema }) => schema);
      const [names] = schemas.flatMap(membersIn).flatMap(([name, value]) => (name === 'line' ? [value] : []));
      const { enum: lines } = names as { readonly enum: readonly string[] };
      expect(lines.length).toBeGreaterThan(8);
      for (const line of lines) expect(textOf('docs/month-end.md')).toContain(`\`${line}\``);
    },
  },
  {
    page: 'docs/command-line.md',
    says: 'Exit code: 0, the work is done; 1, a refusal: by the server, by a rule, or by the command itself',
    // The rows above.
    check: () => undefined,
  },
  {
    page: 'docs/command-line.md',
    says: 'Results go to stdout, messages to stderr.',
    async check() {
      expect(await run(['paymaster', 'list'])).toMatchObject({
        error: '',
        out: expect.stringContaining('shop'),
      });
      expect(await run(['paymaster', 'show', 'none'])).toMatchObject({ out: '' });
    },
  },
  {
    page: 'docs/command-line.md',
    says: 'Whatever deletes, or sends a transaction, shows what it would do and ends with 1; with `--yes` it does it.',
    async check() {
      for (const { path } of manageEndpoints.filter(({ method }) => method === 'delete')) {
        const noun = { paymasters: 'paymaster', contracts: 'contract', policies: 'policy', tokens: 'token' }[
          path.split('/')[1] ?? ''
        ];
        const { out } = await paymaster([noun ?? '', 'delete', '--help']);
        expect(out).toContain('--yes');
      }
      const shown = await run(['paymaster', 'delete', 'shop']);
      expect(shown).toMatchObject({ status: 1, out: expect.stringContaining('would be deleted: shop') });
      expect(await run(['paymaster', 'show', 'shop'])).toMatchObject({ status: 0 });
    },
  },
  {
    page: 'docs/rest.md',
    says: 'Errors, also for unknown paths, are `application/problem+json` (RFC 9457): `code` is a row of [errors.md](errors.md), `errors` names each wrong field.',
    async check() {
      const asked = [
        await call('/nowhere'),
        await call('/nowhere', { headers: { Authorization: '' } }),
        await call('/paymasters/none'),
        await call('/paymasters?limit=0'),
        await call('/paymasters', { method: 'POST', body: '{"name":"a","spec":{"chainId":"x","type":1}}' }),
        await call('/paymasters', { method: 'POST', body: '{' }),
      ];
      for (const answer of asked) {
        expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
        const { code } = recordOf(await answer.clone().json());
        expect(textOf('docs/errors.md')).toContain(`\`${String(code)}\``);
      }
      const { errors } = recordOf(await asked[4]!.json());
      expect((errors as { field: string }[]).map(({ field }) => field)).toEqual(
        expect.arrayContaining(['spec.chainId', 'spec.type', 'spec.name', 'spec.version']),
      );
    },
  },
  {
    page: 'docs/rest.md',
    says: 'Answers have an `ETag`. A list is `items` and `nextCursor`; the latter is null on the last page',
    async check() {
      for (const path of [
        '/paymasters',
        '/policies',
        '/contracts',
        '/tokens',
        '/chains',
        '/problems',
        '/funds',
      ]) {
        const answer = await call(path);
        const { data } = recordOf(await answer.json());
        expect(data).toMatchObject({ items: expect.any(Array), nextCursor: null });
      }
      for (const path of ['/me', '/paymasters/shop', '/funds'])
        expect((await call(path)).headers.get('etag')).toMatch(/^"[^"]+"$/);
    },
  },
];

test.each(claims)('$page: $says', async ({ page, says, check }) => {
  expect(textOf(page).replaceAll(/\s+/g, ' ')).toContain(says);
  await check();
});
