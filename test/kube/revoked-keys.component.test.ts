import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { until } from '../support/until.js';
import { freshUserOp, rpc, unlessBusy, type RpcAnswer } from '../system/support/client.js';
import type { Component } from '../support/cluster/component.js';
import { startInstallation, type Installation } from './support/installation.js';

// A key that leaked is dead on every replica soon after it is revoked, while keys beside it go on.

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ operators: 1 });
}, 600_000);
afterAll(async () => {
  await installation?.cluster.stop();
});

async function manage(method: string, path: string, body?: object): Promise<Response> {
  const { dashboardUrl, authToken } = installation.connection;
  return fetch(`${dashboardUrl}/manage/v1/paymasters/shop/keys${path}`, {
    method,
    headers: { authToken, 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
}

async function aKey(name: string): Promise<string> {
  const answer = await manage('POST', '', { name });
  expect(answer.status).toBe(201);
  return ((await answer.json()) as { data: { key: string } }).data.key;
}

function ask({ origin }: Component, key: string): Promise<RpcAnswer> {
  const { connection } = installation;
  const asked = [freshUserOp(connection), { mode: 'SPONSORED', calculateGasLimits: false }];
  const url = `${origin}/api/v1/${connection.chainId}/${key}`;
  return unlessBusy(() => rpc(url, 'pm_sponsorUserOperation', asked));
}

const isSponsored = ({ result }: RpcAnswer): boolean => result?.['mode'] === 'SPONSORED';

const isUnknown = ({ error }: RpcAnswer): boolean => error?.data?.['reason'] === 'KEY_UNKNOWN';

/** Asks each replica at the same time. */
const everyReplica = async (key: string, holds: (answer: RpcAnswer) => boolean): Promise<boolean> =>
  (await Promise.all(installation.replicas.map((replica) => ask(replica, key)))).every(holds);

test('a key that is revoked becomes refused by all of three replicas, which sponsor with the others all the while', async () => {
  expect(installation.replicas).toHaveLength(3);
  const [leaked, kept] = [await aKey('leaked'), await aKey('kept')];
  for (const key of [leaked, kept])
    await until('every replica knows the key', () => everyReplica(key, isSponsored));

  const answer = await manage('DELETE', '/leaked');
  expect(answer.status).toBe(200);
  const begun = performance.now();
  await until('every replica refuses the key', async () => {
    const [refused, others] = await Promise.all([
      everyReplica(leaked, isUnknown),
      everyReplica(kept, isSponsored),
    ]);
    expect(others).toBe(true);
    return refused;
  });
  // For people who read the run. No condition: other tests run beside it.
  process.stdout.write(`revoked key: refused by all after ${Math.round(performance.now() - begun)} ms\n`);

  // The name again is another key, and the one that leaked stays dead.
  const again = await aKey('leaked');
  expect(again).not.toBe(leaked);
  await until('every replica knows the new key', () => everyReplica(again, isSponsored));
  expect(await everyReplica(leaked, isUnknown)).toBe(true);
});
