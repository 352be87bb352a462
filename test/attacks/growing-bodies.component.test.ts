import { beforeAll, expect, test } from '@jest/globals';
import type { JsonSchema } from '../../core/schema/json-schema.js';
import { isObject } from '../../core/schema/json-value.js';
import type { Endpoint } from '../../server/dashboard/endpoint.js';
import {
  documentEndpoints,
  manageEndpoints,
  managePrefix,
  prefix,
} from '../../server/dashboard/endpoints.js';
import { createOpenRpc } from '../../server/rpc/openrpc.js';
import { acmeToken, aWebhookBody, createPaymaster, recordOf } from '../build/dashboard.js';
import { anOperation } from '../build/operations.js';
import { growthsOf, type Growth } from '../support/growing.js';
import { useDashboard } from '../support/use-dashboard.js';
import { useRpc } from '../support/use-rpc.js';

// Every write of every API, and of its body every member that can repeat or grow: twice the size costs at most 2.5 times the CPU.
// 4,000 labels once held the thread that signs for 16 seconds.

const dashboard = useDashboard({
  webhooks: {
    call: ({ policies }) => Promise.resolve(policies.map(() => ({ verdict: 'verified' }) as const)),
  },
});
const rpc = useRpc();

const [smallBytes, largeBytes] = [4_000, 32_000];
/** Eight times the size is twice the size, three times. */
const mostGrowth = 2.5 ** 3;

const written = [
  ...documentEndpoints.map((row) => ({ row, url: `${prefix}${row.path}` })),
  ...manageEndpoints.map((row) => ({ row, url: `${managePrefix}${row.path}` })),
].flatMap(({ row, url }) =>
  row.body === undefined ? [] : [{ name: `${row.method} ${url}`, row, url, body: row.body }],
);

/** Whose examples are refused here, each with its reason; all others reach the end of their handler. */
const refused: Readonly<Record<string, number>> = {
  // Nobody signed the examples.
  [`patch ${prefix}/paymaster`]: 400,
  [`put ${managePrefix}/paymasters/:name/funding`]: 400,
  // No server signs here; its method is below.
  [`post ${managePrefix}/paymasters/:name/explain`]: 501,
  // No ledger is kept here, and another thread reads the resources.
  [`post ${managePrefix}/what-if`]: 501,
};

let [apiKey, policyId, paymasterId] = ['', '', ''];
const kinds = ['Paymaster', 'SmartContract', 'PaymasterPolicy', 'DashboardToken'] as const;
const seeded = new Set<string>();

beforeAll(async () => {
  ({ key: apiKey, paymasterId } = await createPaymaster(dashboard, { name: 'of the document' }));
  await rpc.put();
  for (const { row, url, body } of written)
    if (row.method === 'put' && !url.endsWith('/funding'))
      await sendTo(row, url, JSON.stringify(body.example));
  const spec = {
    name: 'hook',
    policyType: 'WEBHOOK',
    webhook: aWebhookBody.policyData,
    paymasterRef: { name: 'shop' },
  };
  await call('PUT', `${managePrefix}/policies/hook`, JSON.stringify({ spec }));
  const policy = written.find(({ name }) => name === `post ${prefix}/paymaster-policy`);
  const own = { ...policy?.body.example, name: 'of the document' };
  const { body } = await call('POST', `${prefix}/paymaster-policy`, JSON.stringify(own));
  policyId = String(recordOf(recordOf(body)['data'])['_id']);
  for (const { kind, metadata } of await present()) seeded.add(`${kind} ${metadata.name}`);
});

test.each(written)(
  '$name',
  async ({ name, row, url, body }) => {
    const example = startOf(row, body.example);
    const send = async (text: string): Promise<Sent> => {
      await restore(row);
      return timed(() => sendTo(row, url, text));
    };
    const { status } = await send(JSON.stringify(example));
    expect({ name, status }).toEqual({ name, status: refused[name] ?? row.status ?? 200 });
    const growths = body.schemas.flatMap((schema) => growthsOf(schemaWhole(row, schema), example));
    expect(growths.length).toBeGreaterThan(2);
    expect(await tooCostly(growths, send)).toEqual([]);
  },
  600_000,
);

const { methods, components } = createOpenRpc() as {
  readonly methods: readonly RpcMethod[];
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};
type RpcMethod = {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly schema: JsonSchema }[];
  readonly examples: readonly { readonly params: readonly { readonly value: unknown }[] }[];
};

test.each(methods)(
  '$name',
  async ({ name, params, examples: [example] }) => {
    // No token is sold here; what a payment in tokens may say grows with the schema.
    const values = params.map((param, index) =>
      param.name === 'userOp' ? anOperation() : sponsored(example?.params[index]?.value),
    );
    const bodyWith = (at: number, text: string): string =>
      `{"jsonrpc":"2.0","id":1,"method":"${name}","params":[${values.map((value, index) => (index === at ? text : JSON.stringify(value))).join()}]}`;
    const send = (text: string): Promise<Sent> => timed(() => rpc.post(text));
    expect((await send(bodyWith(-1, ''))).status).toBe(name === 'pm_explainSponsorship' ? 401 : 200);
    const envelope = { jsonrpc: '2.0', id: 1, method: name, params: values };
    const growths = [
      ...growthsOf({}, envelope),
      ...params.flatMap(({ schema }, index) =>
        growthsOf(schema, values[index], components.schemas).map((each) => ({
          ...each,
          member: `params[${index}] ${each.member}`,
          bodyOf: (bytes: number) => bodyWith(index, each.bodyOf(bytes)),
        })),
      ),
    ];
    expect(await tooCostly(growths, send)).toEqual([]);
  },
  600_000,
);

function sponsored(value: unknown): unknown {
  return isObject(value) && 'mode' in value ? { ...value, mode: 'SPONSORED' } : value;
}

type Sent = { readonly status: number; readonly micros: number };

/** The members that cost more, with how much. Others' load only adds to a round, so the least of several counts. */
async function tooCostly(
  growths: readonly Growth[],
  send: (text: string) => Promise<Sent>,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { member, bodyOf, most = largeBytes } of growths)
    // At the schema's bound, where the whole way is gone, and beyond it.
    for (const bytes of new Set([Math.min(most, largeBytes), largeBytes])) {
      const factor = await growthIn(send, bodyOf(bytes * (smallBytes / largeBytes)), bodyOf(bytes));
      if (factor >= mostGrowth) found.push(`${member} of ${bytes} bytes: ${Math.round(factor)} times`);
    }
  return found;
}

async function growthIn(
  send: (text: string) => Promise<Sent>,
  small: string,
  large: string,
): Promise<number> {
  let [leastSmall, leastLarge] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  for (let round = 0; round < 20; round += 1) {
    const [first, second] = [await send(small), await send(large)];
    if (first.status === 500 || second.status === 500)
      throw new Error(`status 500 for ${large.slice(0, 200)}`);
    leastSmall = Math.min(leastSmall, first.micros);
    leastLarge = Math.min(leastLarge, second.micros);
    const factor = leastLarge / leastSmall;
    // So far above the bound that no other round changes it.
    if (round >= 1 && (factor < mostGrowth || factor > 4 * mostGrowth)) break;
  }
  return leastLarge / leastSmall;
}

async function timed(run: () => Promise<{ readonly status: number }>): Promise<Sent> {
  const before = process.cpuUsage();
  const { status } = await run();
  const { user, system } = process.cpuUsage(before);
  return { status, micros: user + system };
}

async function sendTo(row: Endpoint, url: string, text: string): Promise<{ readonly status: number }> {
  const name = url.endsWith('/test') ? 'hook' : url.includes('/paymasters/') ? 'shop' : 'seeded';
  return call(row.method.toUpperCase(), url.replace(':name', name).replace(':policyId', policyId), text);
}

async function call(method: string, path: string, body: string) {
  const headers = { authToken: acmeToken, apiKey, 'content-type': 'application/json' };
  const response = await dashboard.fetch(path, { method, headers, body });
  const text = await response.text();
  return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as unknown) };
}

/** Before each request the organisation has what it had, also what the row removes; limits of calls begin anew. */
async function restore({ method, path }: Endpoint): Promise<void> {
  for (const { kind, metadata } of await present())
    if (!seeded.has(`${kind} ${metadata.name}`)) await dashboard.resources.delete(kind, metadata);
  if (path.endsWith('/test')) dashboard.clock.advance(60_000);
  if (path === '/smart-contract' && method !== 'post') {
    const made = written.find(({ name }) => name === `post ${prefix}/smart-contract`);
    await call('POST', `${prefix}/smart-contract`, JSON.stringify(made?.body.example));
  }
}

async function present() {
  const lists = await Promise.all(kinds.map((kind) => dashboard.resources.list(kind, { namespace: 'acme' })));
  return lists.flat();
}

/** The example of the row, as it is taken here: of a new object names and address are not those of the seeded one. */
function startOf({ method, path }: Endpoint, example: object): object {
  if ('paymasterId' in example) return { ...example, paymasterId };
  if (method === 'post' && path === '/paymaster-policy') return { ...example, name: 'new' };
  if (!('spec' in example) || !isObject(example.spec) || method !== 'post') return example;
  const address = 'address' in example.spec ? { address: `0x${'7'.repeat(40)}` } : {};
  return { ...example, name: 'new', spec: { ...example.spec, name: 'new', ...address } };
}

/** A patch takes members of what PUT of its path takes, and its schema does not repeat them. */
function schemaWhole({ method, path }: Endpoint, schema: JsonSchema): JsonSchema {
  const put = manageEndpoints.find((other) => other.method === 'put' && other.path === path);
  const isPatch = method === 'patch' && put?.body !== undefined;
  return isPatch ? { ...put.body?.schemas[0], required: [] } : schema;
}
