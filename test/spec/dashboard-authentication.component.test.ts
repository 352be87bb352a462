import { beforeAll, describe, expect, test } from '@jest/globals';
import { hashCredential as hashToken } from '../../core/config/api-key.js';
import { paymasterObjectName } from '../../core/resources/names.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import {
  aContractBody,
  aLimitBody,
  acmeToken,
  applyOrganisation,
  chainId,
  createPaymaster,
  otherToken,
  recordOf,
  recordsOf,
} from '../build/dashboard.js';
import type { Answer } from '../build/dashboard.js';
import { masterKeys } from '../build/operator.js';
import { useDashboard } from '../support/use-dashboard.js';

// Service document, "Authentication", and tenancy: what a header gives access to, and what it never does.

const host = useDashboard();

/** A paymaster with one contract and one limit, and what identifies them. */
type Tenant = {
  readonly token: string;
  readonly key: string;
  readonly paymasterId: string;
  readonly policyId: string;
};

async function aTenant(token: string, name: string): Promise<Tenant> {
  const paymaster = await createPaymaster(host, { token, name });
  const { key } = paymaster;
  await host.call('POST', '/smart-contract', { token, key, body: aContractBody });
  const created = await host.call('POST', '/paymaster-policy', { token, key, body: aLimitBody });
  return { ...paymaster, policyId: String(recordOf(created.body.data)['_id']) };
}

/** Everything that a tenant can see of itself. */
async function snapshot({ token, key }: Tenant): Promise<unknown> {
  const paths = ['/paymaster', '/smart-contract', '/paymaster-policy'];
  const answers = await Promise.all(paths.map((path) => host.call('GET', path, { token, key })));
  return answers.map(({ status, body }) => ({ status, data: body.data }));
}

const unacceptable = { status: 401, message: 'Auth token and API key is required in the headers' };
const contractNotFound = { status: 404, message: 'Smart contract not found' };
const userNotFound = { status: 404, message: 'User not found' };

type Endpoint = {
  readonly number: number;
  readonly call: (credentials: { token: string; key: string }, victim: Tenant) => Promise<Answer>;
  readonly wrongToken: { status: number; message: string };
  /** Absent where no apiKey is asked for. */
  readonly wrongKey?: { status: number; message: string };
};

const { address } = aContractBody;
const funding = { type: 'paymasterFundingId', signature: '0x', address };
const endpoints: readonly Endpoint[] = [
  { number: 1, call: (c) => host.call('GET', '/paymaster', c), wrongToken: unacceptable },
  {
    number: 2,
    call: (c) =>
      host.call('POST', '/paymaster', {
        ...c,
        body: { name: 'X', type: 'HYBRID', chainId, version: '1.1.0' },
      }),
    wrongToken: { status: 401, message: 'Auth token is required in the headers' },
  },
  {
    number: 3,
    call: (c) => host.call('POST', '/smart-contract', { ...c, body: { ...aContractBody, name: 'Mine' } }),
    wrongToken: unacceptable,
    wrongKey: unacceptable,
  },
  {
    number: 4,
    call: (c) => host.call('GET', '/smart-contract', c),
    wrongToken: unacceptable,
    wrongKey: unacceptable,
  },
  {
    number: 5,
    call: (c) => host.call('PATCH', '/smart-contract', { ...c, body: { address, whitelistedMethods: [] } }),
    wrongToken: unacceptable,
    wrongKey: contractNotFound,
  },
  {
    number: 6,
    call: (c) => host.call('DELETE', '/smart-contract', { ...c, body: { address } }),
    wrongToken: unacceptable,
    wrongKey: contractNotFound,
  },
  {
    number: 7,
    call: (c, { paymasterId }) => host.call('GET', `/funding-message/${paymasterId}`, c),
    wrongToken: unacceptable,
    wrongKey: unacceptable,
  },
  {
    number: 8,
    call: (c, { paymasterId }) =>
      host.call('PATCH', '/paymaster', { ...c, body: { ...funding, paymasterId } }),
    wrongToken: userNotFound,
    wrongKey: userNotFound,
  },
  {
    number: 9,
    call: (c) => host.call('POST', '/paymaster-policy', { ...c, body: { ...aLimitBody, name: 'Mine' } }),
    wrongToken: unacceptable,
    wrongKey: unacceptable,
  },
  {
    number: 10,
    call: (c) => host.call('GET', '/paymaster-policy', c),
    wrongToken: unacceptable,
    wrongKey: unacceptable,
  },
  ...[
    { number: 11, action: 'limit' },
    { number: 12, action: 'deactivate' },
    { number: 13, action: 'activate' },
  ].map(({ number, action }) => ({
    number,
    call: (c: { token: string; key: string }, { policyId }: Tenant) =>
      host.call('PATCH', `/paymaster-policy/${action}/${policyId}`, c),
    wrongToken: unacceptable,
    wrongKey: unacceptable,
  })),
];

describe('tenancy', () => {
  let victim: Tenant;
  let sibling: Tenant;
  let stranger: Tenant;
  beforeAll(async () => {
    victim = await aTenant(acmeToken, 'Victim');
    sibling = await aTenant(acmeToken, 'Sibling');
    stranger = await aTenant(otherToken, 'Stranger');
  });

  describe.each(endpoints)('endpoint $number', ({ call, wrongToken, wrongKey }) => {
    test('a wrong authToken reaches nothing', async () => {
      const before = await snapshot(victim);
      const { status, body } = await call({ token: 'wrong-token-0123456789', key: victim.key }, victim);
      expect({ status, message: body.message }).toEqual(wrongToken);
      expect(await snapshot(victim)).toEqual(before);
    });

    if (!wrongKey) return;

    test('a wrong apiKey reaches nothing', async () => {
      const before = await snapshot(victim);
      const { status, body } = await call({ token: acmeToken, key: `${victim.key}x` }, victim);
      expect({ status, message: body.message }).toEqual(wrongKey);
      expect(await snapshot(victim)).toEqual(before);
    });

    test('the authToken of another organisation does not open an apiKey', async () => {
      const before = await snapshot(victim);
      const { status, body } = await call({ token: otherToken, key: victim.key }, victim);
      expect({ status, message: body.message }).toEqual(wrongKey);
      expect(await snapshot(victim)).toEqual(before);
    });

    test('an apiKey of another organisation is a wrong one', async () => {
      const before = await snapshot(victim);
      const { status, body } = await call({ token: acmeToken, key: stranger.key }, victim);
      expect({ status, message: body.message }).toEqual(wrongKey);
      expect(await snapshot(victim)).toEqual(before);
    });

    test("a sibling's apiKey reaches nothing of this paymaster", async () => {
      const before = await snapshot(victim);
      await call({ token: acmeToken, key: sibling.key }, victim);
      expect(await snapshot(victim)).toEqual(before);
    });
  });

  test("a sibling's apiKey does not find a policy or funding message by id", async () => {
    const credentials = { token: acmeToken, key: sibling.key };
    for (const action of ['limit', 'deactivate', 'activate']) {
      const { status } = await host.call(
        'PATCH',
        `/paymaster-policy/${action}/${victim.policyId}`,
        credentials,
      );
      expect({ action, status }).toEqual({ action, status: 404 });
    }
    const message = await host.call('GET', `/funding-message/${victim.paymasterId}`, credentials);
    expect(message.status).toBe(404);
    const update = await host.call('PATCH', '/paymaster', {
      ...credentials,
      body: { ...funding, paymasterId: victim.paymasterId },
    });
    expect({ status: update.status, message: update.body.message }).toEqual(userNotFound);
  });

  test('a list names only what belongs to the caller', async () => {
    const acme = await host.call('GET', '/paymaster', { token: acmeToken });
    const other = await host.call('GET', '/paymaster', { token: otherToken });
    expect(recordsOf(acme.body.data).map(({ apiKey }) => apiKey)).not.toContain(stranger.key);
    expect(recordsOf(other.body.data).map(({ name }) => name)).toEqual(['Stranger']);
  });

  test('two organisations may use the same name on the same chain', async () => {
    const mine = await createPaymaster(host, { token: acmeToken, name: 'Same' });
    const theirs = await createPaymaster(host, { token: otherToken, name: 'Same' });
    expect(mine.key).not.toBe(theirs.key);
    expect(mine.paymasterId).not.toBe(theirs.paymasterId);
  });
});

describe('tokens', () => {
  const organisation = { name: 'tokens', namespace: 'tokens' };
  const token = 'first-token-0123456789';

  async function grant(...tokens: { token: string; expiresAt?: string }[]): Promise<void> {
    await applyOrganisation(host.resources, organisation.name, {
      namespace: organisation.namespace,
      tokens: tokens.map(({ token: text, ...rest }, index) => ({
        name: `t${index}`,
        sha256: hashToken(text),
        ...rest,
      })),
    });
  }

  async function status(text: string): Promise<number> {
    return (await host.call('GET', '/paymaster', { token: text })).status;
  }

  test('a new token works at once, also after it was refused', async () => {
    expect(await status(token)).toBe(401);
    await grant({ token });
    expect(await status(token)).toBe(200);
  });

  test('a removed token stops at once', async () => {
    await grant({ token });
    expect(await status(token)).toBe(200);
    await grant({ token: 'second-token-0123456789' });
    expect(await status(token)).toBe(401);
    expect(await status('second-token-0123456789')).toBe(200);
  });

  test('a token works until it expires', async () => {
    await grant({ token, expiresAt: new Date(host.clock.now() + 60_000).toISOString() });
    expect(await status(token)).toBe(200);
    host.clock.advance(60_001);
    expect(await status(token)).toBe(401);
  });

  test('the SHA-256 of a token is not a token', async () => {
    expect(await status(hashToken(acmeToken))).toBe(401);
  });
});

describe('apiKeys', () => {
  async function rotate(name: string, spec: Partial<Paymaster['spec']>): Promise<void> {
    const key = { namespace: 'acme', name: paymasterObjectName(chainId, name) };
    await host.resources.apply({ manager: 'platform', kind: 'Paymaster', key, spec });
  }

  async function status(key: string): Promise<number> {
    return (await host.call('GET', '/smart-contract', { token: acmeToken, key })).status;
  }

  async function listedKey(name: string): Promise<string> {
    const { body } = await host.call('GET', '/paymaster', { token: acmeToken });
    return String(recordsOf(body.data).find((record) => record['name'] === name)?.['apiKey']);
  }

  test('the key of the list is the key of the creation', async () => {
    const { key } = await createPaymaster(host, { name: 'Listed' });
    expect(await listedKey('Listed')).toBe(key);
  });

  test('raising keyGeneration replaces the key at once', async () => {
    const { key } = await createPaymaster(host, { name: 'Rotated' });
    expect(await status(key)).toBe(200);
    await rotate('Rotated', { keyGeneration: 2 });
    expect(await status(key)).toBe(401);
    expect(await status(await listedKey('Rotated'))).toBe(200);
  });

  test('the previous key works until previousKeyUntil', async () => {
    const { key } = await createPaymaster(host, { name: 'Overlap' });
    const previousKeyUntil = new Date(host.clock.now() + 60_000).toISOString();
    await rotate('Overlap', { keyGeneration: 2, previousKeyUntil });
    expect(await status(key)).toBe(200);
    host.clock.advance(60_001);
    expect(await status(key)).toBe(401);
  });

  test('keys of the previous master key work while the master key is rotated', async () => {
    const before = await createPaymaster(host, { name: 'Master' });
    const rotating = await host.beside({
      masterKeys: { ...masterKeys, current: Buffer.alloc(32, 9), previous: masterKeys.current },
    });
    const answer = await rotating.call('GET', '/smart-contract', before);
    await rotating.stop();
    expect(answer.status).toBe(200);
  });
});
