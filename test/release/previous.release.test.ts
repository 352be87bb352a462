import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as UsageInPostgres from '../../adapters/store/postgres/usage.js';
import { openPostgresUsageStore, type PostgresUsageStore } from '../../adapters/store/postgres/usage.js';
import { parsePostgresUrl } from '../../adapters/postgres/address.js';
import { silentLogger } from '../../core/log.js';
import { createMemoryEpochMirror } from '../../core/usage/epoch.js';
import { always } from '../../core/usage/window.js';
import { plusMs, systemClock, toSeconds } from '../../core/units/time.js';
import { crdsChart, helm, operatorChart } from '../charts/support/helm.js';
import { aLimit, aRequest } from '../conformance/usage-requests.js';
import { startControlPlane } from '../support/cluster/control-plane.js';
import { startPostgres } from '../support/postgres.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc, rpcUrlFor } from '../system/support/client.js';
import { createLimitedPaymaster } from '../system/support/limited-paymaster.js';
import {
  newDataDirectory,
  removeDataDirectory,
  startStandalone,
  stopStandalone,
} from '../system/support/standalone.js';

// What the newest tag before this commit has written is opened by this commit. The tag is built as its own README says.

const git = (...args: readonly string[]) =>
  execFileSync('git', [...args], { cwd: repositoryRoot, encoding: 'utf8' }).trim();
const { version } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as {
  readonly version: string;
};
const releases = git('tag', '--list', 'v[0-9]*', '--merged', 'HEAD', '--sort=-v:refname')
  .split('\n')
  .filter((tag) => tag !== '' && tag !== `v${version}`);

test('every version of the changelog before this one has its tag here, so that the newest of them is upgraded', () => {
  const versions = [
    ...readFileSync(join(repositoryRoot, 'CHANGELOG.md'), 'utf8').matchAll(/^## (\d+\.\d+\.\d+) /gm),
  ].map(([, name]) => name);
  const tags = new Set(git('tag', '--list', 'v[0-9]*').split('\n'));
  expect(versions.filter((name) => name !== version && !tags.has(`v${name}`))).toEqual([]);
});

// None before the first tag.
for (const previous of releases.slice(0, 1))
  describe(`from ${previous}`, () => {
    const old = mkdtempSync(join(tmpdir(), 'previous-release-'));
    beforeAll(() => {
      git('worktree', 'add', '--detach', old, previous);
      execFileSync('make', ['build'], { cwd: old, stdio: 'pipe' });
    }, 900_000);
    afterAll(() => {
      git('worktree', 'remove', '--force', old);
      rmSync(old, { recursive: true, force: true });
    });

    test('a data directory keeps its paymasters, their keys and what was promised of their limits', async () => {
      const dataDirectory = newDataDirectory();
      try {
        const before = await startStandalone({ dataDirectory, root: old });
        const apiKey = await createLimitedPaymaster(before.connection(), 3);
        const sponsor = async (connection: ReturnType<typeof before.connection>) =>
          (
            await rpc(rpcUrlFor(connection, apiKey), 'pm_sponsorUserOperation', [
              freshUserOp(connection),
              { mode: 'SPONSORED' },
            ])
          ).reason ?? 'SPONSORED';
        expect([await sponsor(before.connection()), await sponsor(before.connection())]).toEqual([
          'SPONSORED',
          'SPONSORED',
        ]);
        await stopStandalone(before);

        const after = await startStandalone({ dataDirectory, port: before.port });
        const connection = after.connection();
        expect([await sponsor(connection), await sponsor(connection)]).toEqual([
          'SPONSORED',
          'LIMIT_REACHED',
        ]);
        await stopStandalone(after);
      } finally {
        removeDataDirectory(dataDirectory);
      }
    });

    test('replicas of both releases share one PostgreSQL and pass no limit', async () => {
      const server = await startPostgres();
      const stores: PostgresUsageStore[] = [];
      try {
        const client = { address: parsePostgresUrl('url', await server.createDatabase()) };
        const options = { client, log: silentLogger, epochMirror: createMemoryEpochMirror() };
        const former = (await import(
          pathToFileURL(join(old, 'dist/adapters/store/postgres/usage.js')).href
        )) as typeof UsageInPostgres;
        const one = await former.openPostgresUsageStore({ ...options, identity: 'former' });
        stores.push(one);
        const limit = aLimit({ counter: 'limit', window: always, threshold: 4 });
        const promise = { validUntil: toSeconds(plusMs(systemClock.now(), 300_000)) };
        const take = async (store: PostgresUsageStore, nonce: bigint) =>
          (await store.reserve(aRequest({ key: { nonce, paymasterId: 'pm-1' }, limits: [limit], promise })))
            .outcome;
        expect(await take(one, 1n)).toBe('reserved');
        const two = await openPostgresUsageStore({ ...options, identity: 'present' });
        stores.push(two);
        expect([
          await take(two, 2n),
          await take(one, 3n),
          await take(two, 4n),
          await take(one, 5n),
          await take(two, 6n),
        ]).toEqual(['reserved', 'reserved', 'reserved', 'limit', 'limit']);
      } finally {
        for (const store of stores) await store.stop();
        await server.stop();
      }
    });

    test('the charts are upgraded, and what users have written and the password of the database stay', async () => {
      const plane = await startControlPlane();
      try {
        const run = (...args: readonly string[]) => {
          const done = helm([...args, `--kubeconfig=${plane.kubeconfig('admin')}`]);
          if (!done.ok) throw new Error(done.stderr);
        };
        const releases = (verb: string, crds: string, operator: string) => {
          run(verb, 'paymaster-crds', crds, '--namespace=paymaster-crds', '--create-namespace');
          const bundled = '--set=postgres.bundled.enabled=true,networkPolicy.enabled=false';
          run(verb, 'paymaster', operator, '--namespace=paymaster-system', '--create-namespace', bundled);
        };
        releases('install', join(old, 'charts/paymaster-crds'), join(old, 'charts/paymaster-operator'));
        const chain = readFileSync(join(old, 'examples/chains/base.yaml'), 'utf8');
        await until('the definition is served', () => {
          try {
            plane.kubectl(['apply', '-f', '-'], { input: chain });
            return true;
          } catch {
            return false;
          }
        });
        const kept = () => [
          plane.kubectl(['get', 'chain', 'base', '-o', 'jsonpath={.metadata.uid} {.spec}']),
          plane.kubectl([
            '-n',
            'paymaster-system',
            'get',
            'secrets',
            '-o',
            'jsonpath={.items[*].data.password}',
          ]),
        ];
        const before = kept();
        releases('upgrade', crdsChart, operatorChart);
        expect(kept()).toEqual(before);
      } finally {
        await plane.stop();
      }
    });
  });
