import { beforeEach, describe, expect, test } from '@jest/globals';
import { hashCredential as hashToken } from '../../core/config/api-key.js';
import { DomainError } from '../../core/errors.js';
import {
  aContractBody,
  aDeploymentBody,
  aLimitBody,
  acmeToken,
  applyOrganisation,
  chainId,
  createPaymaster,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import type { Answer } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';
import { useStarted } from '../support/use-started.js';
import { newWallet } from '../support/new-wallet.js';

// Two replicas over the same stores: of concurrent duplicates exactly one succeeds, and no update is lost.

const host = useDashboard();
const replica = useStarted(() => host.beside());
let key: string;
let paymasterId: string;
let round = 0;
beforeEach(async () => {
  round += 1;
  ({ key, paymasterId } = await createPaymaster(host, { name: `Shop ${round}` }));
});

function twenty(
  method: string,
  path: string,
  body: (index: number) => object | undefined,
): Promise<Answer[]> {
  const replicas = [host, replica];
  return Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      (replicas[index % 2] ?? host).call(method, path, { token: acmeToken, key, body: body(index) }),
    ),
  );
}

function tally(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const line = status === 200 ? '200' : `${status} ${body.message}`;
    counts[line] = (counts[line] ?? 0) + 1;
  }
  return counts;
}

describe('20 duplicate POSTs: exactly one succeeds', () => {
  test('of a paymaster', async () => {
    const body = { name: `Duplicate ${round}`, type: 'HYBRID', chainId, version: '1.1.0' };
    const answers = await twenty('POST', '/paymaster', () => body);
    expect(tally(answers)).toEqual({ '200': 1, '400 paymaster_name_exists': 19 });
  });

  test('of a contract, whatever the case of its address', async () => {
    const { address } = aContractBody;
    const answers = await twenty('POST', '/smart-contract', (index) => ({
      ...aContractBody,
      address: index % 3 === 0 ? address.toLowerCase() : address,
    }));
    expect(tally(answers)).toEqual({ '200': 1, '400 Smart contract address already exists': 19 });
  });

  test('of a policy', async () => {
    const answers = await twenty('POST', '/paymaster-policy', () => aLimitBody);
    expect(tally(answers)).toEqual({ '200': 1, '400 A policy named "Daily" already exists': 19 });
  });

  test('of a policy whose name an earlier one gave up', async () => {
    const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body: aLimitBody });
    await host.call('PATCH', `/paymaster-policy/limit/${String(recordOf(created.body.data)['_id'])}`, {
      token: acmeToken,
      key,
      body: { name: 'Renamed' },
    });
    const answers = await twenty('POST', '/paymaster-policy', () => aLimitBody);
    expect(tally(answers)).toEqual({ '200': 1, '400 A policy named "Daily" already exists': 19 });
  });
});

test('a quota is not exceeded by concurrent creates on one replica', async () => {
  const token = `quota-token-${round}-0123456789`;
  await applyOrganisation(host.resources, 'quota', {
    namespace: 'quota',
    tokens: [{ name: 'ci', sha256: hashToken(token) }],
    quotas: { paymasters: 3 },
  });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      replica.call('POST', '/paymaster', {
        token,
        body: { name: `Q${index}`, type: 'HYBRID', chainId, version: '1.1.0' },
      }),
    ),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(3);
});

test('of concurrent renames to one name on one replica exactly one succeeds', async () => {
  const ids = await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const body = { ...aLimitBody, name: `Limit ${index}` };
      const { body: answer } = await replica.call('POST', '/paymaster-policy', {
        token: acmeToken,
        key,
        body,
      });
      return String(recordOf(answer.data)['_id']);
    }),
  );
  const answers = await Promise.all(
    ids.map((id) =>
      replica.call('PATCH', `/paymaster-policy/limit/${id}`, {
        token: acmeToken,
        key,
        body: { name: 'The one' },
      }),
    ),
  );
  expect(tally(answers)).toEqual({ '200': 1, '400 A policy named "The one" already exists': 7 });
});

test('concurrent updates of one policy on both replicas are all kept', async () => {
  const created = await host.call('POST', '/paymaster-policy', { token: acmeToken, key, body: aLimitBody });
  const id = String(recordOf(created.body.data)['_id']);
  const credentials = { token: acmeToken, key };
  const answers = await Promise.all([
    host.call('PATCH', `/paymaster-policy/limit/${id}`, { ...credentials, body: { threshold: 77 } }),
    replica.call('PATCH', `/paymaster-policy/deactivate/${id}`, credentials),
    replica.call('PATCH', `/paymaster-policy/limit/${id}`, { ...credentials, body: { name: 'Renamed' } }),
    host.call('PATCH', `/paymaster-policy/limit/${id}`, {
      ...credentials,
      body: { cycleDuration: { value: 9, unit: 'day' } },
    }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  const { body } = await host.call('GET', '/paymaster-policy', credentials);
  expect(recordsOf(body.data)[0]).toMatchObject({
    name: 'Renamed',
    active: false,
    policyData: { threshold: 77, cycleDuration: { value: 9, unit: 'day' } },
  });
});

test('a change that others overtake ten times is made all the same', async () => {
  const credentials = { token: acmeToken, key };
  const created = await host.call('POST', '/paymaster-policy', { ...credentials, body: aLimitBody });
  let overtaken = 0;
  const slow = await host.beside({
    resources: {
      ...host.resources,
      apply: (request) => {
        if (overtaken === 10) return host.resources.apply(request);
        overtaken += 1;
        return Promise.reject(new DomainError('WRITE_CONFLICT', 'changed meanwhile'));
      },
    },
  });
  const path = `/paymaster-policy/limit/${String(recordOf(created.body.data)['_id'])}`;
  const answer = await slow.call('PATCH', path, { ...credentials, body: { threshold: 77 } });
  await slow.stop();
  expect({ status: answer.status, overtaken }).toEqual({ status: 200, overtaken: 10 });
});

test('of twenty uses of one funding signature exactly one succeeds', async () => {
  const sent = await host.call('GET', `/funding-message/${paymasterId}`, { token: acmeToken, key });
  const wallet = newWallet();
  const signature = await wallet.signMessage(String(recordOf(sent.body.data)['fundingMessage']));
  const body = { paymasterId, type: 'paymasterFundingId', signature, address: wallet.address };
  const answers = await twenty('PATCH', '/paymaster', () => body);
  expect(tally(answers)).toEqual({ '200': 1, '400 Invalid signature': 19 });
});

test('a client reads its own writes on the other replica', async () => {
  const credentials = { token: acmeToken, key };
  await host.call('POST', '/paymaster-policy', { ...credentials, body: aDeploymentBody });
  const policies = await replica.call('GET', '/paymaster-policy', credentials);
  expect(recordsOf(policies.body.data).map(({ name }) => name)).toEqual(['Deploy']);
  await replica.call('POST', '/smart-contract', { ...credentials, body: aContractBody });
  const contracts = await host.call('GET', '/smart-contract', credentials);
  expect(recordsOf(contracts.body.data).map(({ name }) => name)).toEqual(['NFT']);
});
