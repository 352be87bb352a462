import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { DomainError } from '../../core/errors.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  aWebhookBody,
  acmeToken,
  chainId,
  createPaymaster,
  recordOf,
} from '../build/dashboard.js';
import type { Answer } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';
import { newWallet } from '../support/new-wallet.js';

// A write answers when the operator has programmed it, so that the sponsorship request that follows sees it. Here the
// real operator runs beside the dashboard, over a chain that does not answer: serving does not wait for it.

/** Longer than a test may take: an answer that comes has not waited for its end. */
const programmedTimeoutMs = 600_000;

const host = useDashboard({
  operator: true,
  programmedTimeoutMs,
  webhookUrls: { allowHttp: true },
});
let key: string;
let paymasterId: string;
let round = 0;
beforeEach(async () => {
  round += 1;
  ({ key, paymasterId } = await createPaymaster(host, { name: `Shop ${round}` }));
});

/** Writes, and resolves with the config that is served at the moment of the answer. */
async function write(
  method: string,
  path: string,
  body?: object,
): Promise<{ answer: Answer; served: PaymasterConfig }> {
  const answer = await host.call(method, path, { token: acmeToken, key, body });
  const stored = await host.configs.getPaymaster(paymasterId);
  expect(answer.status).toBe(200);
  if (!stored) throw new Error('nothing is served');
  return { answer, served: stored.config };
}

const programmedOf = ({ headers }: Answer) => headers.get('x-programmed');

describe('X-Programmed: true means that it is served now', () => {
  test('a new paymaster, by its key', async () => {
    const body = { name: `Fresh ${round}`, type: 'HYBRID', chainId, version: '1.1.0' };
    const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
    expect(programmedOf(answer)).toBe('true');
    const stored = await host.configs.getPaymaster(String(recordOf(answer.body.data)['paymasterId']));
    expect(stored?.config).toMatchObject({ name: body.name, chainId, version: '1.1.0' });
  });

  test('a contract, its methods, and its removal', async () => {
    const { address } = aContractBody;
    const created = await write('POST', '/smart-contract', aContractBody);
    expect(programmedOf(created.answer)).toBe('true');
    const [contract] = created.served.contracts;
    expect(contract?.address).toBe(address);
    expect(contract?.selectors).toHaveLength(2);
    const updated = await write('PATCH', '/smart-contract', { address, whitelistedMethods: ['burn'] });
    expect(programmedOf(updated.answer)).toBe('true');
    expect(updated.served.contracts[0]?.selectors).toHaveLength(1);
    const deleted = await write('DELETE', '/smart-contract', { address });
    expect(programmedOf(deleted.answer)).toBe('true');
    expect(deleted.served).toMatchObject({ contracts: [], contractsRegistered: false });
  });

  test('a limit, whose cycle starts when the answer says', async () => {
    const created = await write('POST', '/paymaster-policy', aLimitBody);
    expect(programmedOf(created.answer)).toBe('true');
    const record = recordOf(created.answer.body.data);
    expect(created.served.limits).toEqual([
      {
        policyId: record['_id'],
        name: 'Daily',
        scope: 'PAYMASTER',
        thresholdType: 'COUNT',
        threshold: '10',
        startMs: recordOf(record['policyData'])['startTimeInEpoch'],
        durationMs: 3 * 3_600_000,
      },
    ]);
    const path = `/paymaster-policy/limit/${String(record['_id'])}`;
    const equal = await write('PATCH', path, { threshold: 10 });
    expect(programmedOf(equal.answer)).toBe('true');
    expect(equal.served.limits[0]?.startMs).toBeGreaterThan(created.served.limits[0]?.startMs ?? 0);
    expect(equal.served.configGeneration).toBeGreaterThan(created.served.configGeneration);
  });

  test('pausing and resuming, which do not move the cycle', async () => {
    const created = await write('POST', '/paymaster-policy', aLimitBody);
    const id = String(recordOf(created.answer.body.data)['_id']);
    const paused = await write('PATCH', `/paymaster-policy/deactivate/${id}`);
    expect(programmedOf(paused.answer)).toBe('true');
    expect(paused.served.limits).toEqual([]);
    const resumed = await write('PATCH', `/paymaster-policy/activate/${id}`);
    expect(programmedOf(resumed.answer)).toBe('true');
    expect(resumed.served.limits).toEqual(created.served.limits);
    const again = await write('PATCH', `/paymaster-policy/activate/${id}`);
    expect(programmedOf(again.answer)).toBe('true');
  });

  test('a webhook and a deployment rule', async () => {
    const webhook = await write('POST', '/paymaster-policy', aWebhookBody);
    expect(programmedOf(webhook.answer)).toBe('true');
    expect(webhook.served.webhooks).toMatchObject([{ name: 'Check', url: aWebhookBody.policyData.url }]);
    const deployment = await write('POST', '/paymaster-policy', aDeploymentBody);
    expect(programmedOf(deployment.answer)).toBe('true');
    expect(deployment.served.walletDeployment).toBe(true);
  });

  test('a funding wallet, proven by what the dashboard stored', async () => {
    const sent = await host.call('GET', `/funding-message/${paymasterId}`, { token: acmeToken, key });
    const wallet = newWallet();
    const signature = await wallet.signMessage(String(recordOf(sent.body.data)['fundingMessage']));
    const body = { paymasterId, type: 'paymasterFundingId', signature, address: wallet.address };
    const { answer, served } = await write('PATCH', '/paymaster', body);
    expect(programmedOf(answer)).toBe('true');
    expect(served.fundingAddress).toBe(wallet.address);
    expect(served.notReady).toBeUndefined();
  });
});

test('of 20 writes at once each answers when it is served', async () => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      host.call('POST', '/paymaster-policy', {
        token: acmeToken,
        key,
        body: { ...aLimitBody, name: `Limit ${index}` },
      }),
    ),
  );
  expect(answers.map(programmedOf)).toEqual(Array.from({ length: 20 }, () => 'true'));
  const stored = await host.configs.getPaymaster(paymasterId);
  expect(stored?.config.limits).toHaveLength(20);
});

test('of 20 changes of one policy at once none is lost, while the operator writes its status', async () => {
  const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body: aLimitBody });
  const id = String(recordOf(created.body.data)['_id']);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      index % 2 === 0
        ? host.call('PATCH', `/paymaster-policy/limit/${id}`, {
            token: acmeToken,
            key,
            body: { threshold: index },
          })
        : host.call('PATCH', `/paymaster-policy/deactivate/${id}`, { token: acmeToken, key }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  const activated = await write('PATCH', `/paymaster-policy/activate/${id}`);
  expect(activated.served.limits).toMatchObject([{ policyId: id, name: 'Daily' }]);
});

test('reads carry no X-Programmed', async () => {
  const answer = await host.call('GET', '/paymaster-policy', { token: acmeToken, key });
  expect(programmedOf(answer)).toBeNull();
});

describe('X-Programmed: false never makes a write fail', () => {
  test('when the operator refuses what the dashboard took, at once', async () => {
    // The operator of this test has no exception for http: only the dashboard is configured with one.
    const body = { ...aWebhookBody, policyData: { url: 'http://rules.example.com/' } };
    const answer = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body });
    expect({ status: answer.status, programmed: programmedOf(answer) }).toEqual({
      status: 200,
      programmed: 'false',
    });
  });

  test('when the store goes down after the write', async () => {
    let isDown = false;
    const failing: Pick<ResourceStore, 'get' | 'list' | 'page' | 'apply' | 'delete'> = {
      ...host.resources,
      get: async (kind, at) => {
        if (isDown) throw new DomainError('UNAVAILABLE', 'down');
        return host.resources.get(kind, at);
      },
      apply: async (request) => {
        const applied = await host.resources.apply(request);
        isDown = true;
        return applied;
      },
    };
    const cut = await host.beside({ resources: failing, programmedTimeoutMs: 30 });
    const answer = await cut.call('POST', '/paymaster', {
      token: acmeToken,
      body: { name: `Cut ${round}`, type: 'HYBRID', chainId, version: '1.1.0' },
    });
    await cut.stop();
    expect({ status: answer.status, programmed: programmedOf(answer) }).toEqual({
      status: 200,
      programmed: 'false',
    });
  });
});
