import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wallet } from 'ethers';
import fc from 'fast-check';
import { afterAll, expect, test } from '@jest/globals';
import { applyManifests } from '../../adapters/manifests/apply-manifests.js';
import { parseManifest } from '../../adapters/manifests/parse-manifest.js';
import { createSqliteResourceStore } from '../../adapters/resources/sqlite/resources.js';
import type { StoredObject } from '../../adapters/resources/sqlite/resource-rows.js';
import { openDatabase } from '../../adapters/sqlite/database.js';
import { nameCommand } from '../../cli/api/command-name.js';
import { compare } from '../../cli/state/compare.js';
import { renderManifests } from '../../cli/state/manifest.js';
import { objectKey } from '../../core/meta/meta.js';
import { kinds, type AnyResource, type Kind } from '../../core/resources/kinds.js';
import { given } from '../../core/units/given.js';
import { systemClock } from '../../core/units/time.js';
import { validateManifests } from '../../operator/validate/validate.js';
import type { Endpoint } from '../../server/dashboard/endpoint.js';
import { manageEndpoints, managePrefix } from '../../server/dashboard/endpoints.js';
import {
  aContractBody,
  acmeToken,
  aDeploymentBody,
  aLimitBody,
  aWebhookBody,
  chainId,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import { arbitraryOf } from '../support/arbitrary-resource.js';
import { paymaster } from '../support/paymaster.js';
import { runs } from '../support/property.js';
import { useDashboard } from '../support/use-dashboard.js';

// What both REST APIs, manifests and the command line have written in any order can be exported, and made again elsewhere.

const host = useDashboard();
const folder = mkdtempSync(join(tmpdir(), 'histories-'));
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, acmeToken);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** More of them: `PAYMASTER_TEST_HISTORIES=1000`. */
const histories = Number(process.env['PAYMASTER_TEST_HISTORIES'] ?? 40);
const namespace = 'acme';
const wallet = new Wallet(`0x${'11'.repeat(32)}`);
/** Few names, so that steps meet. */
const pool = ['shop', 'club', 'fund'];
const made: readonly Kind[] = ['Paymaster', 'SmartContract', 'PaymasterPolicy', 'DashboardToken'];

type Step = {
  readonly by: 'sdk' | 'rest' | 'command' | 'yaml' | 'hand' | 'withdraw';
  readonly row: Endpoint;
  readonly act: number;
  readonly name: string;
  readonly object: AnyResource;
};

const rows = manageEndpoints.filter(
  ({ method, path }) => method !== 'get' && path !== '/policies/:name/test',
);
const kindOf = (path: string): Kind =>
  (({ paymasters: 'Paymaster', contracts: 'SmartContract', policies: 'PaymasterPolicy' }) as const)[
    path.split('/')[1] as 'paymasters'
  ] ?? 'DashboardToken';

const objectOf = (kind: Kind) =>
  fc
    .tuple(arbitraryOf([kind]), fc.constantFrom(...pool), fc.constantFrom(...pool))
    .map(([each, name, owner]) => {
      const reference = 'paymasterRef' in each.spec ? { paymasterRef: { name: owner } } : {};
      const metadata = { ...each.metadata, name, namespace };
      return { ...each, metadata, spec: { ...each.spec, ...reference } } as AnyResource;
    });
const step: fc.Arbitrary<Step> = fc.constantFrom(...rows).chain((row) =>
  fc.record({
    by: fc.constantFrom('rest', 'command', 'sdk', 'yaml', 'hand', 'withdraw'),
    row: fc.constant(row),
    act: fc.nat(9),
    name: fc.constantFrom(...pool),
    object: objectOf(kindOf(row.path)),
  }),
);

async function bodyOf({ row, name, object }: Step): Promise<object> {
  if (row.path.endsWith('/funding')) return proofOf(name);
  if (row.body === undefined) return {};
  if (row.path.endsWith('/keys')) return { name };
  if (row.path === '/tokens') return { name, scopes: ['read', 'stop'] };
  const { labels } = object.metadata;
  return { ...(row.method === 'post' && { name }), ...given({ labels }), spec: object.spec };
}

async function proofOf(name: string): Promise<object> {
  const { data } = await rest('POST', `/paymasters/${name}/funding/message`);
  return { address: wallet.address, signature: await wallet.signMessage(String(data['message'])) };
}

async function rest(method: string, path: string, body?: object) {
  const response = await host.fetch(`${managePrefix}${path}`, {
    method,
    headers: { Authorization: `Bearer ${acmeToken}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const data = recordOf(recordOf(await response.json())['data']);
  return { status: response.status, data };
}

/** Every other deletion of a paymaster takes what belongs to it with it; the rest is refused while it has something. */
function isCascade({ act, row }: Step): boolean {
  return row.method === 'delete' && row.path === '/paymasters/:name' && act % 2 === 0;
}

/** 5xx would be a defect; a refusal is a history too. */
const steps: { readonly [By in Step['by']]: (step: Step) => Promise<number> } = {
  async rest(step) {
    const { method, path } = step.row;
    const body = await bodyOf(step);
    const query = isCascade(step) ? '?cascade=true' : '';
    return (
      await rest(
        method.toUpperCase(),
        `${path.replace(':name', step.name).replace(':key', step.name)}${query}`,
        body,
      )
    ).status;
  },

  async command(step) {
    const body = await bodyOf(step);
    const { noun, verb = '' } = nameCommand(step.row, manageEndpoints);
    const file = join(folder, 'body.json');
    writeFileSync(file, JSON.stringify(body));
    const args = [
      noun,
      verb,
      ...[...step.row.path.matchAll(/:(name|key)/g)].map(() => step.name),
      ...(step.row.body === undefined ? [] : ['-f', file]),
      ...(step.row.method === 'delete' ? ['--yes'] : []),
      ...(isCascade(step) ? ['--cascade'] : []),
    ];
    const env = { PAYMASTER_URL: host.origin, PAYMASTER_TOKEN_FILE: tokenFile };
    const { status } = await paymaster(args, env);
    return status < 3 ? 200 : 500;
  },

  async sdk({ act, name }) {
    const token = acmeToken;
    const { body: list } = await host.call('GET', '/paymaster', { token });
    const own = recordsOf(list.data).find((each) => each['name'] === name);
    if (act < 2 || own === undefined) {
      const body = { name, type: 'HYBRID', chainId, version: '1.1.0' };
      return (await host.call('POST', '/paymaster', { token, body })).status;
    }
    const with_ = { token, key: String(own['apiKey']) };
    const policies = await host.call('GET', '/paymaster-policy', with_);
    const [policy] = recordsOf(policies.body.data ?? []).filter(
      (each) => each['policyType'] !== 'SMART_CONTRACT',
    );
    const id = String(policy?.['_id']);
    const calls = [
      ['POST', '/smart-contract', aContractBody],
      ['PATCH', '/smart-contract', { address: aContractBody.address, whitelistedMethods: [] }],
      ['DELETE', '/smart-contract', { address: aContractBody.address }],
      ['POST', '/paymaster-policy', [aLimitBody, aWebhookBody, aDeploymentBody][act % 3]],
      ['PATCH', `/paymaster-policy/${id}`, { threshold: 20 + act }],
      ['PATCH', `/paymaster-policy/deactivate/${id}`, {}],
      ['PATCH', `/paymaster-policy/activate/${id}`, {}],
      ['POST', '/paymaster-policy', aLimitBody],
    ] as const;
    const [method, path, body] = calls[act - 2] ?? calls[0];
    return (await host.call(method, path, { ...with_, body })).status;
  },

  yaml: (step) => apply(step, 'manifests'),
  hand: (step) => apply(step, 'kubectl-edit'),

  async withdraw({ object }) {
    await host.resources.delete(object.kind, objectKey(object)).catch(() => undefined);
    return 0;
  },
};

async function apply({ object }: Step, manager: string): Promise<number> {
  const { kind, spec, metadata } = object;
  const { labels, annotations } = metadata;
  const request = { manager, kind, key: objectKey(object), spec: spec as never };
  const force = manager === 'kubectl-edit';
  await host.resources.apply({ ...request, force, ...given({ labels, annotations }) }).catch(() => undefined);
  return 0;
}

type Store = Pick<typeof host.resources, 'list'>;

async function everythingOf(resources: Store): Promise<readonly StoredObject[]> {
  const lists = await Promise.all(kinds.map((kind) => resources.list(kind)));
  const objects = lists.flat() as unknown as readonly StoredObject[];
  const place = ({ kind, metadata }: StoredObject) => `${kinds.indexOf(kind)} ${metadata.name}`;
  return objects.toSorted((a, b) => (place(a) < place(b) ? -1 : 1));
}

test(`${histories} histories of REST, commands and manifests can be exported and made again`, async () => {
  const written = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 16 }), async (history) => {
      for (const each of await everythingOf(host.resources))
        if (made.includes(each.kind)) await host.resources.delete(each.kind, objectKey(each));
      // Most steps are about a paymaster that is there.
      const spec = { name: 'Shop', chainId, type: 'HYBRID', version: '1.1.0' };
      expect(await rest('POST', '/paymasters', { name: 'shop', spec })).toMatchObject({ status: 201 });
      for (const each of history) {
        const status = await steps[each.by](each);
        expect({ by: each.by, path: each.row.path, isDefect: status >= 500 }).toMatchObject({
          isDefect: false,
        });
        if (status >= 200 && status < 300) written.set(each.by, (written.get(each.by) ?? 0) + 1);
      }

      const there = await everythingOf(host.resources);
      const text = renderManifests(there);
      const parsed = parseManifest('export.yaml', text);
      expect(parsed.problems).toEqual([]);
      // A mistake that the operator finds is part of the state; one that a store refuses would be the export's.
      const report = await validateManifests(
        { files: ['export.yaml'], objects: [...parsed.objects], problems: [], leftOut: [] },
        { objects: [], problems: [] },
        true,
        {},
      );
      expect(report.findings.filter(({ condition }) => condition === undefined)).toEqual([]);
      for (const force of [true, false])
        expect(
          compare(parsed.objects, there, { manager: 'kubectl', force }).filter(
            ({ change }) => change !== 'unchanged',
          ),
        ).toEqual([]);

      const db = openDatabase(':memory:', { durability: 'process' });
      const empty = createSqliteResourceStore({ db, clock: systemClock });
      const elsewhere = await applyManifests(empty, [{ objects: parsed.objects }], new Map());
      expect(elsewhere.problems).toEqual([]);
      expect(renderManifests(await everythingOf(empty))).toBe(text);
      db.close();

      // Nor does it change anything where it is from.
      const here = await applyManifests(host.resources, [{ objects: parsed.objects }], new Map());
      expect(here.problems).toEqual([]);
      expect(renderManifests(await everythingOf(host.resources))).toBe(text);
    }),
    runs(histories),
  );
  // Every one of them has written something.
  for (const by of ['sdk', 'rest', 'command']) expect(written.get(by)).toBeGreaterThan(histories / 20);
}, 3_600_000);
