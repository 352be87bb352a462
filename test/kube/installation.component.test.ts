import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { derivePolicyId } from '../../core/config/ids.js';
import type { Hex } from '../../core/units/hex.js';
import { buildAccount, encodeWith } from '../chain/support/account.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { buildUserOp, signByAccount } from '../chain/support/user-op.js';
import { dashboard, freshUserOp, rpc, toWire, unlessBusy } from '../system/support/client.js';
import { attachDevChain } from '../system/support/dev-chain.js';
import { until } from '../support/until.js';
import { readerOf } from './support/read.js';
import { startInstallation, type Installation } from './support/installation.js';

// Each component is a separate process with the role that the chart renders for it, on a real API server and PostgreSQL.

let installation: Installation;
let devChain: DevChain;
beforeAll(async () => {
  installation = await startInstallation({ operators: 1, replicas: 2 });
  const { chainRpcUrl, chainId } = installation.connection;
  devChain = attachDevChain(chainRpcUrl, chainId);
}, 600_000);
afterAll(async () => {
  await devChain?.stop();
  await installation?.cluster.stop();
});

const counter = new Interface(['function increment()']);
const kubectl = (...args: string[]): string => installation.cluster.plane.kubectl(args);

test('kubectl apply -f examples/quickstart makes every resource ready', () => {
  expect(installation.states.filter(({ phase }) => phase !== 'ready')).toEqual([]);
  expect(installation.states.length).toBeGreaterThanOrEqual(8);
  expect(kubectl('get', 'pm', '-n', 'quickstart')).toMatch(/shop\s.*True/);
});

test.each([0, 1])('RPC replica %i sponsors an operation, and it is mined', async (index) => {
  const replica = installation.replicas[index];
  if (replica === undefined) throw new Error('no such replica');
  const profile = devChain.profile('1.1.0');
  const account = await buildAccount(devChain, profile.entryPointVersion);
  const call = {
    to: devChain.deployments.sponsoredContract.address,
    data: encodeWith(counter, 'increment', []),
  };
  const op = await buildUserOp(account, [call]);
  const asked = [toWire(op), { mode: 'SPONSORED', calculateGasLimits: false }];
  const url = installation.rpcUrl(replica);
  const answer = await unlessBusy(() => rpc(url, 'pm_sponsorUserOperation', asked));
  expect(answer.error).toBeUndefined();
  expect(answer).toMatchObject({ status: 200, result: { mode: 'SPONSORED' } });
  const signed = await signByAccount(account, op, answer.result?.['paymasterAndData'] as Hex);
  const { event } = await handleOp(devChain, profile.entryPointVersion, signed);
  expect(event.success).toBe(true);
});

describe('the dashboard on the Kubernetes API', () => {
  let apiKey: string;

  test('creates a paymaster that is programmed when it answers, and visible to kubectl', async () => {
    const created = await dashboard(installation.connection, 'POST', '/paymaster', {
      body: {
        name: 'made by rest',
        type: 'HYBRID',
        chainId: installation.connection.chainId,
        version: '1.1.0',
      },
    });
    expect(created).toMatchObject({
      status: 200,
      body: { message: 'DApp registered successfully' },
      programmed: 'true',
    });
    apiKey = (created.body.data as { apiKey: string }).apiKey;
    const owners = kubectl(
      'get',
      'pm',
      '-n',
      'quickstart',
      '-o',
      'jsonpath={range .items[?(@.spec.name=="made by rest")]}{.metadata.managedFields[*].manager}{end}',
      '--show-managed-fields',
    );
    expect(owners.split(' ').toSorted()).toEqual(['paymaster-dashboard', 'paymaster-operator']);
  });

  test('explains an operation as the JSON-RPC server in another process would', async () => {
    const { connection } = installation;
    const headers = { authToken: connection.authToken };
    const context = { mode: 'SPONSORED', calculateGasLimits: false };
    const userOp = freshUserOp(connection);
    const response = await fetch(`${connection.dashboardUrl}/manage/v1/paymasters/shop/explain`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ userOp, context }),
    });
    const direct = await rpc(connection.rpcUrl, 'pm_explainSponsorship', [userOp, context], headers);
    expect(direct.result).toMatchObject({ sponsored: true });
    const { data } = (await response.json()) as { data: Record<string, unknown> };
    expect(data).toMatchObject({ sponsored: true, paymaster: direct.result?.['paymaster'] });
  });

  describe('and a second field manager', () => {
    const policy = 'shop-operations-per-day';
    const patchLimit = (threshold: number) =>
      dashboard(
        installation.connection,
        'PATCH',
        `/paymaster-policy/limit/${derivePolicyId('quickstart', policy)}`,
        { apiKey: installation.connection.apiKey, body: { threshold } },
      );
    const threshold = (): string =>
      kubectl('get', 'pmpol', policy, '-n', 'quickstart', '-o', 'jsonpath={.spec.spendingLimit.threshold}');

    test('kubectl apply: 409 naming it, and the value stays', async () => {
      const answer = await patchLimit(7);
      expect(answer.status).toBe(409);
      expect(answer.body.message).toContain('kubectl-client-side-apply');
      expect(threshold()).toBe('100000');
    });

    test('a GitOps tool that applies on the server: 409 naming it; its next sync finds no drift', async () => {
      const manifest = JSON.stringify(declared(policy));
      const sync = (): string =>
        installation.cluster.plane.kubectl(
          [
            'apply',
            '--server-side',
            '--force-conflicts',
            '--field-manager=argocd-controller',
            '-f',
            '-',
            '-o',
            'jsonpath={.metadata.generation}',
          ],
          { input: manifest },
        );
      const generation = sync();
      const answer = await patchLimit(7);
      expect(answer.status).toBe(409);
      expect(answer.body.message).toContain('argocd-controller');
      expect(sync()).toBe(generation);
    });

    test('an edit by hand: the dashboard takes the field over', async () => {
      kubectl('delete', 'pmpol', policy, '-n', 'quickstart');
      const { name, ...body } = { name: 'edited by hand', threshold: 50 };
      const created = await dashboard(installation.connection, 'POST', '/paymaster-policy', {
        apiKey: installation.connection.apiKey,
        body: {
          name,
          policyType: 'PAYMASTER_SA_LIMIT',
          policyData: {
            type: 'PAYMASTER',
            cycleDuration: { value: 1, unit: 'day' },
            threshold: body.threshold,
            thresholdType: 'COUNT',
          },
        },
      });
      expect(created).toMatchObject({ status: 200, programmed: 'true' });
      const object = kubectl(
        'get',
        'pmpol',
        '-n',
        'quickstart',
        '--field-selector',
        `spec.name=${name}`,
        '-o',
        'jsonpath={.items[0].metadata.name}',
      );
      kubectl(
        'patch',
        'pmpol',
        object,
        '-n',
        'quickstart',
        '--type=merge',
        '--field-manager=kubectl-edit',
        '-p',
        '{"spec":{"spendingLimit":{"threshold":"60"}}}',
      );
      const answer = await dashboard(
        installation.connection,
        'PATCH',
        `/paymaster-policy/limit/${derivePolicyId('quickstart', object)}`,
        { apiKey: installation.connection.apiKey, body: { threshold: 100000 } },
      );
      expect(answer.status).toBe(200);
      expect(
        kubectl('get', 'pmpol', object, '-n', 'quickstart', '-o', 'jsonpath={.spec.spendingLimit.threshold}'),
      ).toBe('100000');
    });
  });

  test('an edit by kubectl is served by every replica', async () => {
    const contract = devChain.deployments.sponsoredContract.address;
    await dashboard(installation.connection, 'POST', '/smart-contract', {
      apiKey,
      body: {
        name: 'counter',
        address: contract,
        abi: devChain.deployments.sponsoredContract.abi,
        whitelistedMethods: ['increment'],
      },
    });
    const account = await buildAccount(devChain, '0.6');
    const op = toWire(
      await buildUserOp(account, [{ to: contract, data: encodeWith(counter, 'increment', []) }]),
    );
    const ask = (origin: string) =>
      rpc(`${origin}/api/v1/${installation.connection.chainId}/${apiKey}`, 'pm_sponsorUserOperation', [
        op,
        { mode: 'SPONSORED', calculateGasLimits: false },
      ]);
    const reasons = () =>
      Promise.all(installation.replicas.map(async ({ origin }) => (await ask(origin)).reason));
    await until('all replicas sponsor', async () =>
      (await reasons()).every((reason) => reason === undefined || reason === 'SPONSORED' || reason === 'OK'),
    );
    const name = kubectl(
      'get',
      'pmsc',
      '-n',
      'quickstart',
      '-o',
      'jsonpath={range .items[?(@.spec.name=="counter")]}{.metadata.name}{"\\n"}{end}',
    )
      .split('\n')
      .find((candidate) => candidate !== 'shop-counter' && candidate !== '');
    kubectl(
      'patch',
      'pmsc',
      name ?? '',
      '-n',
      'quickstart',
      '--type=merge',
      '-p',
      '{"spec":{"whitelistedMethods":["burn"]}}',
    );
    await until('all replicas refuse', async () =>
      (await reasons()).every((reason) => reason === 'METHOD_NOT_WHITELISTED'),
    );
  });
});

test('events report the state of the resources, and each write of REST', async () => {
  type Event = {
    readonly regarding: { readonly name: string };
    readonly reason: string;
    readonly reportingController: string;
  };
  let items: readonly Event[] = [];
  // They are sent beside the work.
  await until('the paymaster is said to be ready', () => {
    const events = kubectl('get', 'events.events.k8s.io', '-n', 'quickstart', '-o', 'json');
    ({ items } = JSON.parse(events) as { readonly items: readonly Event[] });
    return items.some(({ regarding, reason }) => regarding.name === 'shop' && reason === 'Ready');
  });
  expect(new Set(items.map(({ reportingController }) => reportingController))).toEqual(
    new Set(['paymasters.dev/operator', 'paymasters.dev/dashboard']),
  );
});

test('connection details go into a Secret that the Paymaster controls, and never into a Secret with another owner', async () => {
  kubectl('create', 'secret', 'generic', 'theirs', '-n', 'quickstart', '--from-literal=apiKey=untouched');
  const patch = (name: string) =>
    kubectl(
      'patch',
      'pm',
      'shop',
      '-n',
      'quickstart',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { writeConnectionSecretToRef: { name } } }),
    );
  const condition = async () => {
    const shown = await readerOf(installation.cluster).condition('Paymaster', 'shop', 'ConnectionSecret');
    return shown?.split('/')[1];
  };
  patch('theirs');
  await until('the operator refuses', async () => (await condition()) === 'NotOurs');
  patch('shop-connection');
  await until('it is written', async () => (await condition()) === 'Written');
  const secret = (name: string, key: string) =>
    Buffer.from(
      kubectl('get', 'secret', name, '-n', 'quickstart', '-o', `jsonpath={.data.${key}}`),
      'base64',
    ).toString();
  expect(secret('shop-connection', 'apiKey')).toBe(installation.connection.apiKey);
  expect(secret('theirs', 'apiKey')).toBe('untouched');
  expect(
    kubectl(
      'get',
      'secret',
      'shop-connection',
      '-n',
      'quickstart',
      '-o',
      'jsonpath={.metadata.ownerReferences[0].name}',
    ),
  ).toBe('shop');
});

/** A policy as a Git repository would declare it. */
function declared(name: string): object {
  const text = kubectl('get', 'pmpol', name, '-n', 'quickstart', '-o', 'json');
  const { apiVersion, kind, spec } = JSON.parse(text) as Record<string, unknown>;
  return { apiVersion, kind, metadata: { name, namespace: 'quickstart' }, spec };
}
