import { entryPoints } from '../../../core/entry-point/address.js';
import type { JsonSchema } from '../../../core/schema/json-schema.js';
import { isObject } from '../../../core/schema/json-value.js';
import type { Endpoint } from '../../../server/dashboard/endpoint.js';
import {
  documentEndpoints,
  manageEndpoints,
  managePrefix,
  prefix,
} from '../../../server/dashboard/endpoints.js';
import { createOpenRpc } from '../../../server/rpc/openrpc.js';
import {
  acmeToken,
  aWebhookBody,
  createPaymaster,
  recordOf,
  type DashboardHost,
} from '../../build/dashboard.js';
import { anOperation } from '../../build/operations.js';
import type { RpcHost } from '../../build/rpc.js';
import { growthsOf, type Growth } from '../../support/growing.js';

type Answer = { readonly status: number };

/** One write of an API: its example is taken, and each member that can repeat or grow is one of `growths`. */
export type Write = {
  readonly name: string;
  /** What the example is answered with. */
  readonly status: number;
  readonly example: () => string;
  readonly growths: () => readonly Growth[];
  /** Brings back what there was before, and sends. `around` runs what is sent. */
  readonly send: <T>(text: string, around: (run: () => Promise<Answer>) => Promise<T>) => Promise<T>;
};

type Row = {
  readonly name: string;
  readonly row: Endpoint;
  readonly url: string;
  readonly body: NonNullable<Endpoint['body']>;
};

/** Every endpoint of the dashboard that takes a body. */
const rows: readonly Row[] = [
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

/** The names of {@link dashboardWrites}, before anything has been started. */
const isManage = ({ url }: Row): boolean => url.startsWith(managePrefix);
export const documentWriteNames = rows.filter((row) => !isManage(row)).map(({ name }) => name);
export const manageWriteNames = rows.filter(isManage).map(({ name }) => name);

const kinds = ['Paymaster', 'SmartContract', 'PaymasterPolicy', 'DashboardToken'] as const;

/** Webhook hosts that answer at once, for a dashboard whose every write is sent. */
export const quickWebhooks = {
  call: ({ policies }: { readonly policies: readonly unknown[] }) =>
    Promise.resolve(policies.map(() => ({ verdict: 'verified' }) as const)),
};

/** Makes what the examples need. The result sends to the dashboard, by the name of the write. */
export async function dashboardWrites(dashboard: DashboardHost): Promise<ReadonlyMap<string, Write>> {
  const { key: apiKey, paymasterId } = await createPaymaster(dashboard, { name: 'of the document' });
  let policyId = '';
  const seeded = new Set<string>();

  async function call(method: string, path: string, body: string) {
    const headers = { authToken: acmeToken, apiKey, 'content-type': 'application/json' };
    const response = await dashboard.fetch(path, { method, headers, body });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as unknown) };
  }
  async function sendTo(row: Endpoint, url: string, text: string): Promise<Answer> {
    const name = url.endsWith('/test') ? 'hook' : url.includes('/paymasters/') ? 'shop' : 'seeded';
    return call(row.method.toUpperCase(), url.replace(':name', name).replace(':policyId', policyId), text);
  }
  async function present() {
    const lists = await Promise.all(
      kinds.map((kind) => dashboard.resources.list(kind, { namespace: 'acme' })),
    );
    return lists.flat();
  }
  /** Before each request the organisation has what it had, also what the row removes; limits of calls begin anew. */
  async function restore({ method, path }: Endpoint): Promise<void> {
    for (const { kind, metadata } of await present())
      if (!seeded.has(`${kind} ${metadata.name}`)) await dashboard.resources.delete(kind, metadata);
    if (path.endsWith('/test')) dashboard.clock.advance(60_000);
    if (path === '/smart-contract' && method !== 'post') {
      const made = rows.find(({ name }) => name === `post ${prefix}/smart-contract`);
      await call('POST', `${prefix}/smart-contract`, JSON.stringify(made?.body.example));
    }
  }

  for (const { row, url, body } of rows)
    if (row.method === 'put' && !url.endsWith('/funding'))
      await sendTo(row, url, JSON.stringify(body.example));
  const spec = {
    name: 'hook',
    policyType: 'WEBHOOK',
    webhook: aWebhookBody.policyData,
    paymasterRef: { name: 'shop' },
  };
  await call('PUT', `${managePrefix}/policies/hook`, JSON.stringify({ spec }));
  const policy = rows.find(({ name }) => name === `post ${prefix}/paymaster-policy`);
  const own = { ...policy?.body.example, name: 'of the document' };
  const { body: answered } = await call('POST', `${prefix}/paymaster-policy`, JSON.stringify(own));
  policyId = String(recordOf(recordOf(answered)['data'])['_id']);
  for (const { kind, metadata } of await present()) seeded.add(`${kind} ${metadata.name}`);

  return new Map(
    rows.map(({ name, row, url, body }) => {
      const example = startOf(row, body.example, paymasterId);
      const write: Write = {
        name,
        status: refused[name] ?? row.status ?? 200,
        example: () => JSON.stringify(example),
        growths: () => body.schemas.flatMap((schema) => growthsOf(schemaWhole(row, schema), example)),
        async send(text, around) {
          await restore(row);
          return around(() => sendTo(row, url, text));
        },
      };
      return [name, write];
    }),
  );
}

/** The example of the row, as it is taken here: of a new object names and address are not those of the seeded one. */
function startOf({ method, path }: Endpoint, example: object, paymasterId: string): object {
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

const { methods, components } = createOpenRpc() as {
  readonly methods: readonly RpcMethod[];
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
};
type RpcMethod = {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly schema: JsonSchema }[];
  readonly examples: readonly {
    readonly params: readonly { readonly name: string; readonly value: unknown }[];
  }[];
};

/** The names of {@link rpcWrites}. */
export const rpcWriteNames = methods.map(({ name }) => name);

/** Every method of the JSON-RPC API. */
export function rpcWrites(rpc: RpcHost): ReadonlyMap<string, Write> {
  return new Map(
    methods.map(({ name, params, examples: [example] }) => {
      // No token is sold here; what a payment in tokens may say grows with the schema.
      const values = (example?.params ?? []).map((param) =>
        param.name === 'userOp' ? anOperation() : sponsored(param.value),
      );
      // A parameter that the example leaves out is a context after the EntryPoint.
      const withContext = [anOperation(), entryPoints['0.6'], {}];
      const valuesOf = (at: number): readonly unknown[] => (at < values.length ? values : withContext);
      const bodyWith = (at: number, text: string): string =>
        `{"jsonrpc":"2.0","id":1,"method":"${name}","params":[${valuesOf(at)
          .map((value, index) => (index === at ? text : JSON.stringify(value)))
          .join()}]}`;
      const envelope = { jsonrpc: '2.0', id: 1, method: name, params: values };
      const write: Write = {
        name,
        status: name === 'pm_explainSponsorship' ? 401 : 200,
        example: () => bodyWith(-1, ''),
        growths: () => [
          ...growthsOf({}, envelope),
          ...params.flatMap(({ schema }, index) =>
            growthsOf(schema, valuesOf(index)[index], components.schemas).map((each) => ({
              ...each,
              member: `params[${index}] ${each.member}`,
              bodyOf: (bytes: number) => bodyWith(index, each.bodyOf(bytes)),
            })),
          ),
        ],
        send: (text, around) => around(() => rpc.post(text)),
      };
      return [name, write];
    }),
  );
}

function sponsored(value: unknown): unknown {
  return isObject(value) && 'mode' in value ? { ...value, mode: 'SPONSORED' } : value;
}
