import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import type { ProblemRecord } from '../../core/problems/render.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { freshUserOp, rpc } from './support/client.js';
import { expectFound, sponsored } from './support/doctor.js';
import {
  removeDataDirectory,
  startStandalone,
  stopStandalone,
  type RunningStandalone,
} from './support/standalone.js';

// What `paymaster doctor` finds in installations that start with something missing.

test('an installation without a paymaster', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'doctor-'));
  const idle = await startStandalone({ environment: { PAYMASTER_MANIFESTS: empty } });
  try {
    const { dashboardUrl } = idle.connection();
    const args = ['--data-dir', idle.dataDirectory, '--readyz', dashboardUrl];
    const { out, status } = await paymaster(['doctor', '-o', 'json', ...args], {});
    const { problems } = JSON.parse(out) as { readonly problems: readonly ProblemRecord[] };
    expect(problems.map(({ check }) => check)).toContain('nothing-served');
    expect(status).toBe(1);
  } finally {
    await stopStandalone(idle);
    removeDataDirectory(idle.dataDirectory);
    rmSync(empty, { recursive: true });
  }
});

test('usage that was lost, until the manifest of the chain accepts the loss', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'doctor-'));
  cpSync(join(repositoryRoot, 'examples/quickstart'), folder, { recursive: true });
  const environment = { PAYMASTER_MANIFESTS: folder };
  const first = await startStandalone({ environment });
  const { dataDirectory } = first;
  let second = first;
  try {
    // Without a promise nothing can be lost.
    expect(await rpcOf(first)).toMatchObject({ result: {} });
    await stopStandalone(first);
    for (const name of ['usage.sqlite', 'usage.sqlite-wal'])
      rmSync(join(dataDirectory, name), { force: true });
    second = await startStandalone({ dataDirectory, environment });
    const { dashboardUrl, authToken } = second.connection();
    const token = join(dataDirectory, 'token');
    writeFileSync(token, authToken);
    const ofProcess = () => paymaster(['doctor', '-o', 'json', '--readyz', dashboardUrl], {});
    const ofObjects = () => paymaster(['doctor', '-o', 'json', '--data-dir', dataDirectory], {});
    const ofOrganisation = () =>
      paymaster(['doctor', '-o', 'json'], { PAYMASTER_URL: dashboardUrl, PAYMASTER_TOKEN_FILE: token });
    const lost = { check: 'database-lost', name: 'dev' } as const;
    await expectFound({ ...lost, name: new URL(dashboardUrl).host }, [ofProcess]);
    await expectFound(lost, [ofObjects, ofOrganisation]);
    const { problems } = JSON.parse((await ofObjects()).out) as { problems: readonly ProblemRecord[] };
    const { message = '' } = problems.find(({ check }) => check === 'database-lost') ?? {};
    const [, name, value] = /(paymasters\.dev\/accept-usage-loss)=(\S+)/.exec(message) ?? [];
    expect(message).toContain(`in its manifest`);

    const file = join(folder, 'chain.yaml');
    const chain = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as { metadata: object };
    const metadata = { ...chain.metadata, annotations: { [name!]: value } };
    writeFileSync(file, stringify({ ...chain, metadata }));
    await until('it signs again', async () => (await rpcOf(second)).result?.['mode'] === 'SPONSORED');
  } finally {
    await stopStandalone(second);
    removeDataDirectory(dataDirectory);
    rmSync(folder, { recursive: true });
  }
});

const rpcOf = (instance: RunningStandalone) =>
  rpc(instance.connection().rpcUrl, 'pm_sponsorUserOperation', [
    freshUserOp(instance.connection()),
    sponsored,
  ]);
