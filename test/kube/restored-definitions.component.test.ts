import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findRoot } from '../../standalone/root.js';
import { until } from '../support/until.js';
import { conditionOf } from '../operator/world.js';
import { ask } from './support/convergence.js';
import { startInstallation, type Installation } from './support/installation.js';

// Somebody deletes the definitions, and with them all objects, and restores both.

/** Bounds a hang. */
const patienceMs = 240_000;

let installation: Installation;
beforeAll(async () => {
  installation = await startInstallation({ operators: 1, replicas: 2 });
}, 600_000);
afterAll(() => installation?.cluster.stop());

const kinds = ['paymasters', 'smartcontracts', 'paymasterpolicies', 'paymasterconfigs', 'chainconfigs'];

test(
  'after definitions were deleted and restored a Paymaster is Ready once a replica signs for it',
  async () => {
    const { cluster, replicas } = installation;
    const { plane } = cluster;
    const root = findRoot(import.meta.url);
    const shop = { namespace: 'quickstart', name: 'shop' };
    const ready = async () => {
      const [paymaster] = await cluster.resources.list('Paymaster', { namespace: shop.namespace });
      return paymaster === undefined ? 'absent' : conditionOf(paymaster, 'Ready');
    };
    // Replicas that see nothing of it.
    for (const replica of replicas) replica.signal('SIGSTOP');
    plane.kubectl(['delete', 'crd', ...kinds.map((kind) => `${kind}.paymasters.dev`)]);
    plane.kubectl(['apply', '--server-side', '-f', join(root, 'charts/install.yaml')]);
    plane.kubectl(['wait', '--for=condition=Established', '--timeout=120s', 'crd', '--all']);
    plane.kubectl(['apply', '-f', join(root, 'examples/quickstart')]);
    const states = new Set<string>();
    await until(
      'it waits for a replica',
      async () => {
        states.add(await ready().catch(() => 'not listed'));
        return states.has('Unknown/NotServed');
      },
      patienceMs,
    );
    expect([...states]).not.toContain('True/Ready');

    for (const replica of replicas) replica.signal('SIGCONT');
    await until('it is ready', async () => (await ready()) === 'True/Ready', patienceMs);
    await until(
      'a replica signs',
      async () => {
        const answers = await Promise.all(replicas.map((replica) => ask(installation, replica)));
        return answers.some(({ result }) => result?.['mode'] === 'SPONSORED');
      },
      patienceMs,
    );
  },
  4 * patienceMs,
);
