import { group, version } from '../../../core/meta/meta.js';
import type { Component } from '../../support/cluster/component.js';
import { succeeds, until } from '../../support/until.js';
import { freshUserOp, rpc, unlessBusy, type RpcAnswer } from '../../system/support/client.js';
import type { Installation } from './installation.js';

/** Asks one replica to sponsor an operation of the quickstart's paymaster. */
export function ask(installation: Installation, replica: Component): Promise<RpcAnswer> {
  const asked = [freshUserOp(installation.connection), { mode: 'SPONSORED', calculateGasLimits: false }];
  return unlessBusy(() => rpc(installation.rpcUrl(replica), 'pm_sponsorUserOperation', asked));
}

/** Suspends the quickstart's paymaster, waits until that reaches every replica, and reverts it. */
export async function expectConvergence(installation: Installation, patienceMs: number): Promise<void> {
  const { replicas } = installation;
  const all = async (holds: (answer: RpcAnswer) => boolean): Promise<boolean> =>
    (await Promise.all(replicas.map((replica) => ask(installation, replica)))).every(holds);
  await suspend(installation, true, patienceMs);
  await until('every replica refuses', () => all(({ reason }) => reason === 'SUSPENDED'), patienceMs);
  await suspend(installation, false, patienceMs);
  await until(
    'every replica sponsors',
    () => all(({ status, reason }) => status === 200 && reason === undefined),
    patienceMs,
  );
}

/** An API server that has just come back may refuse the first calls. */
async function suspend({ cluster }: Installation, suspended: boolean, patienceMs: number): Promise<void> {
  const change = () =>
    cluster.transport.request({
      method: 'PATCH',
      path: `/apis/${group}/${version}/namespaces/quickstart/paymasters/shop`,
      contentType: 'application/merge-patch+json',
      body: { spec: { suspended } },
    });
  await until('the API server takes the change', () => succeeds(change()), patienceMs);
}
