import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createKubeResourceStore } from '../../../adapters/resources/kubernetes/resources.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import type { ProblemRecord } from '../../../core/problems/render.js';
import { aLimit, aPolicy } from '../../build/resources.js';
import { paymaster } from '../../support/paymaster.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { useStarted } from '../../support/use-started.js';
import { claimPlane } from './claimed-plane.js';

// The same on a real API server: what it prints, and what it would do itself.

const plane = useStarted(() => claimPlane(['quickstart']));
const folder = mkdtempSync(join(tmpdir(), 'export-'));
const file = join(folder, 'export.yaml');
let kubeconfig: readonly string[];
beforeAll(async () => {
  kubeconfig = ['--kubeconfig', plane.kubeconfig];
  plane.kubectl(['apply', '--server-side', '-f', join(repositoryRoot, 'examples/quickstart')]);
  // What the dashboard makes, and a note of kubectl to itself.
  const resources = createKubeResourceStore({
    transport: plane.transport,
    statusManager: 'paymaster-dashboard',
    log: silentLogger,
    metrics: noMetrics,
    now: () => Date.now(),
    random: Math.random,
  });
  const { spec } = aPolicy({ spendingLimit: { ...aLimit, threshold: '5' } });
  const key = { namespace: 'quickstart', name: 'of-rest' };
  await resources.apply({ manager: 'paymaster-dashboard', kind: 'PaymasterPolicy', key, spec });
  await resources.stop();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const versions = () =>
  plane.kubectl([
    'get',
    'chains,organisations,feetokens,pm,smartcontracts,paymasterpolicies',
    '-A',
    '-o=jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}{"\\n"}{end}',
  ]);

test('an export is what kubectl got, is valid, and changes no spec when the API server applies it', async () => {
  const { out, status } = await paymaster(['export', ...kubeconfig]);
  expect(status).toBe(0);
  expect(out).toContain('name: of-rest');
  writeFileSync(file, out);
  const got = join(folder, 'got.yaml');
  writeFileSync(
    got,
    plane.kubectl([
      'get',
      'chains,organisations,feetokens,pm,smartcontracts,paymasterpolicies',
      '-A',
      '-o=yaml',
      '--show-managed-fields',
    ]),
  );
  expect((await paymaster(['export', '--got', got])).out).toBe(out);
  expect(await paymaster(['validate', '--dev', file])).toMatchObject({ status: 0 });
  for (const source of [kubeconfig, ['--got', got]])
    expect(await paymaster(['diff', file, ...source])).toMatchObject({ out: 'nothing differs\n', status: 0 });
  const before = versions();
  plane.kubectl(['apply', '--server-side', '-f', file]);
  expect(versions()).toBe(before);
  expect((await paymaster(['export', ...kubeconfig])).out).toBe(out);
});

test('apply-check refuses what the API server refuses, for the same field and owner', async () => {
  const { out } = await paymaster(['export', ...kubeconfig]);
  writeFileSync(file, out.replace(/threshold: "5"/, 'threshold: "6"'));
  const apply = () => plane.kubectl(['apply', '--server-side', '--field-manager=argocd', '-f', file]);
  const check = await paymaster(['apply-check', file, '--dev', '--manager', 'argocd', ...kubeconfig]);
  expect(check).toMatchObject({ status: 1 });
  expect(check.out).toMatch(
    /^✗ PaymasterPolicy quickstart\/of-rest refused: .*spec\.spendingLimit\.threshold is owned by/m,
  );
  expect(apply).toThrow(/conflict[^]*spec\.spendingLimit\.threshold/);
});

test('somebody who may read one namespace exports it', async () => {
  const { out, status } = await paymaster(['export', '-n', 'quickstart', ...kubeconfig]);
  expect(status).toBe(0);
  expect(out).not.toMatch(/^kind: (Chain|Organisation|FeeToken)$/m);
  expect(out).toMatch(/^kind: Paymaster$/m);
});

test('doctor reads a cluster without a token: its objects, and what is not there', async () => {
  const env = { KUBECONFIG: plane.kubeconfig, XDG_CONFIG_HOME: folder };
  const problems = async (args: readonly string[] = []) => {
    const { out, status } = await paymaster(['doctor', '-o', 'json', ...args], env);
    const { problems: found } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
    return { status, checks: new Set(found.map(({ check }) => check)) };
  };
  // No operator runs here, for less than a minute or for more.
  const { checks } = await problems();
  expect([...checks].filter((check) => check === 'not-seen-yet' || check === 'operator-away')).not.toEqual(
    [],
  );
  plane.kubectl(['delete', 'organisations', '--all']);
  const without = await problems();
  expect([without.status, without.checks.has('no-organisation')]).toEqual([1, true]);
  // Objects of the cluster are not read then.
  expect((await problems(['-n', 'quickstart'])).checks).not.toContain('no-organisation');
  const nowhere = join(folder, 'away.yaml');
  writeFileSync(
    nowhere,
    readFileSync(plane.kubeconfig, 'utf8').replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, 'https://127.0.0.1:9'),
  );
  expect(await paymaster(['doctor'], { ...env, KUBECONFIG: nowhere })).toMatchObject({ status: 3, out: '' });
  // Nobody has signed in, so there is no server to ask.
  expect(await paymaster(['doctor'], { XDG_CONFIG_HOME: folder })).toMatchObject({ status: 2, out: '' });
});
