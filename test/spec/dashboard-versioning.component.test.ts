import { expect, test } from '@jest/globals';
import { acmeToken, chainId, recordOf } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// Service document, "Versioning": the paths carry v2, a paymaster names its version.

const host = useDashboard();

test.each(['1.0.0', '1.1.0', '2.0.0'])(
  'version %s, which the chain offers, is taken and kept',
  async (version) => {
    const body = { name: `Version ${version}`, type: 'HYBRID', chainId, version };
    const { status } = await host.call('POST', '/paymaster', { token: acmeToken, body });
    expect(status).toBe(200);
    const [stored] = await host.resources.list('Paymaster', {
      namespace: 'acme',
      fields: { 'spec.name': body.name },
    });
    expect(stored?.spec).toMatchObject({ version, type: 'HYBRID', chainId });
  },
);

test.each(['1.2.0', '1.1', 'v1.1.0', ' 1.1.0', 'latest'])(
  'version "%s" is a 400 that lists those offered',
  async (version) => {
    const body = { name: 'Unknown version', type: 'HYBRID', chainId, version };
    const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toBe(`version must be one of "1.0.0", "1.1.0", "2.0.0", got "${version}"`);
  },
);

test('type is HYBRID and nothing else', async () => {
  const body = { name: 'Sponsorship', type: 'SPONSORSHIP', chainId, version: '1.1.0' };
  const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
  expect(answer.status).toBe(400);
  expect(answer.body.message).toBe('type must be "HYBRID", got "SPONSORSHIP"');
});

test('a profile that the chain offers later can be used from then on', async () => {
  const chain = await host.resources.get('Chain', { name: 'dev' });
  const [profile] = chain?.spec.profiles ?? [];
  if (!chain || !profile) throw new Error('the chain is gone');
  const body = { name: 'Later', type: 'HYBRID', chainId, version: '3.0.0' };
  expect((await host.call('POST', '/paymaster', { token: acmeToken, body })).status).toBe(400);
  await host.resources.apply({
    manager: 'platform',
    kind: 'Chain',
    key: { name: 'dev' },
    spec: { ...chain.spec, profiles: [...chain.spec.profiles, { ...profile, version: '3.0.0' }] },
  });
  const answer = await host.call('POST', '/paymaster', { token: acmeToken, body });
  expect(answer.status).toBe(200);
  expect(recordOf(answer.body.data)['name']).toBe('Later');
});

test.each(['/api/v1/public/sdk/paymaster', '/api/public/sdk/paymaster'])('%s is not served', async (path) => {
  const response = await host.fetch(path, { headers: { authToken: acmeToken } });
  await response.text();
  expect(response.status).toBe(404);
});
