import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { isSoak, soakSeconds } from '../support/soak-seconds.js';
import { until } from '../support/until.js';
import { readSnapshot } from '../../adapters/configs/snapshot/snapshot-file.js';
import { group, version } from '../../core/meta/meta.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Component } from '../support/cluster/component.js';
import { startInstallation, type Installation } from './support/installation.js';
import { ask, expectConvergence } from './support/convergence.js';
import { startLoad } from './support/load.js';

// Serving survives an outage of the control plane. In `make soak` it lasts a minute, else until hundreds were served.

const outageMs = isSoak ? soakSeconds * 1000 : 0;
/** Bounds a hang; on a busy machine components that have backed off take minutes to be served again. */
const patienceMs = 240_000;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ operators: 1 });
}, 600_000);
afterAll(async () => {
  await installation?.cluster.stop();
});

const ascending = (a: number, b: number): number => a - b;
const lasts = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Whether the snapshot has each config as the API server has it. The file is a moment behind what is served, and a replica that
 * starts with an older config than another one has served refuses until it can read the newer one.
 */
async function hasAllOnDisk(replica: Component): Promise<boolean> {
  const file = join(dirname(replica.logFile), 'var/lib/paymaster/configs.snapshot');
  const { configs } = await readSnapshot(readFileSync(file, 'utf8'));
  const onDisk = [...configs.values()].flatMap((event) =>
    event.type === 'put-paymaster' ? [event.config.configGeneration] : [],
  );
  const { items } = (await installation.cluster.transport.request({
    method: 'GET',
    path: `/apis/${group}/${version}/paymasterconfigs`,
  })) as { items: readonly { spec: { config: string } }[] };
  const written = items.map(({ spec }) => (JSON.parse(spec.config) as PaymasterConfig).configGeneration);
  return isDeepStrictEqual(onDisk.toSorted(ascending), written.toSorted(ascending));
}

test(
  'an API server that hangs costs no request, and later changes are served',
  async () => {
    const { apiServer } = installation.cluster.plane;
    const load = startLoad(installation);
    apiServer.signal('SIGSTOP');
    await lasts(outageMs);
    await until('a hundred were asked for', () => load.sent() > 100, patienceMs);
    const { failures } = await load.stop();
    apiServer.signal('SIGCONT');
    expect(failures).toEqual([]);
    await expectConvergence(installation, patienceMs);
  },
  outageMs + 3 * patienceMs,
);

test(
  'an API server that is killed costs no request; a replica that restarts meanwhile serves its snapshot',
  async () => {
    const { apiServer } = installation.cluster.plane;
    const [first, ...others] = installation.replicas;
    if (first === undefined) throw new Error('no replica');
    await until('its snapshot has all that is served', () => hasAllOnDisk(first), patienceMs);
    const load = startLoad({ ...installation, replicas: others });
    apiServer.signal('SIGKILL');
    await apiServer.ended();
    first.signal('SIGKILL');
    await first.ended();
    await first.restart();
    const answer = await ask(installation, first);
    const metrics = await (await fetch(`${first.origin}/metrics`)).text();
    await lasts(outageMs / 3);
    await until('a hundred were asked for', () => load.sent() > 100, patienceMs);
    const { failures } = await load.stop();
    await apiServer.restart();
    expect(answer.error).toBeUndefined();
    expect(answer).toMatchObject({ status: 200, result: { mode: 'SPONSORED' } });
    expect(Number(/^paymaster_config_confirmed_age_seconds (\S+)$/m.exec(metrics)?.[1])).toBeGreaterThan(0);
    expect(readFileSync(first.logFile, 'utf8')).toContain('serving the snapshot on disk');
    expect(failures).toEqual([]);
    await expectConvergence(installation, patienceMs);
  },
  outageMs + 4 * patienceMs,
);
