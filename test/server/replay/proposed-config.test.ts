import { expect, test } from '@jest/globals';
import { paymasterIdOf, policyIdOf } from '../../../core/config/ids.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { Organisation } from '../../../core/resources/organisation.js';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import type { EpochMs } from '../../../core/units/time.js';
import { ProposalReader } from '../../../server/replay/proposal-reader.js';
import { proposedConfig } from '../../../server/replay/proposal.js';
import { compileProposed } from '../../../server/replay/proposed-config.js';
import { aChainConfig, aLimitConfig, aPaymasterConfig, someChainId, someNow } from '../../build/configs.js';
import { aPaymaster, anOrganisation } from '../../build/resources.js';

const now = (someNow + 40 * 86_400_000) as EpochMs;
const from = (someNow + 7 * 86_400_000) as EpochMs;
const hour = 3_600_000;

const aLimit = (name: string, { threshold = '5', hours = 24, startTime = '' } = {}) => ({
  apiVersion: 'paymasters.dev/v1alpha1',
  kind: 'PaymasterPolicy',
  metadata: { name, namespace: 'acme' },
  spec: {
    name,
    paymasterRef: { name: 'shop' },
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit: {
      scope: 'PAYMASTER',
      thresholdType: 'COUNT',
      threshold,
      cycleDuration: { value: hours, unit: 'hour' },
      ...(startTime === '' ? {} : { startTime }),
    },
  },
});

/** What is served for shop, which has a daily limit, when these are proposed. */
async function servedWith(resources: string | readonly unknown[]): Promise<readonly PaymasterConfig[]> {
  const budget = { name: 'all', chain: someChainId, usd: '9', never: {} };
  const organisation: Organisation = anOrganisation({ namespace: 'acme', budgets: [budget] });
  const shop = aPaymaster({ name: 'shop', chainId: someChainId, version: '1.1.0' });
  const served = aPaymasterConfig({
    paymasterId: paymasterIdOf('acme', 'shop'),
    limits: [
      aLimitConfig({ policyId: policyIdOf('acme', 'daily'), name: 'daily', startMs: someNow }),
      aLimitConfig({ policyId: 'of-organisation', name: 'all', budget: true, thresholdType: 'USD' }),
    ],
  });
  const stored = { config: served, hash: '' };
  const store = {
    list: async (kind: string) => (kind === 'Paymaster' ? [shop] : []),
    page: async () => ({ items: [], next: undefined }),
    get: async () => undefined,
  };
  const reader = new ProposalReader();
  const config = await proposedConfig(
    {
      read: async (...given) => reader.read(...given),
      present: async (objects) => reader.present(objects),
      validate: async (at) => reader.validate(at),
      compile: async (...given) => compileProposed(reader.resources, ...given),
    },
    {
      resources: store as unknown as Pick<ResourceStore, 'get' | 'list' | 'page'>,
      configs: {
        getLatest: async () => stored,
        getPaymaster: async () => stored,
        getChain: async () => ({ config: aChainConfig(), hash: '' }),
        getList: async () => undefined,
      },
      webhookUrls: {},
      quotas: {},
    },
    { organisation, namespace: 'acme', tenant: 'acme', resources, now, from },
  );
  return config.paymasters;
}

const limitsOf = ([config]: readonly PaymasterConfig[]) =>
  config?.limits.map(({ name, threshold, startMs, durationMs }) => ({
    name,
    threshold,
    startMs,
    durationMs,
  }));

test('without proposed resources what is served decides, not what would be compiled', async () => {
  const [config] = await servedWith('');
  expect(config?.limits).toEqual([expect.objectContaining({ name: 'daily', threshold: '1000' })]);
  expect(config?.contracts).toHaveLength(1);
});

test('a changed limit keeps the cycle of the one that it replaces, if that is as long', async () => {
  expect(limitsOf(await servedWith([aLimit('daily')]))).toEqual([
    { name: 'daily', threshold: '5', startMs: someNow, durationMs: 24 * hour },
  ]);
  expect(limitsOf(await servedWith([aLimit('daily', { hours: 6 })]))).toEqual([
    { name: 'daily', threshold: '5', startMs: from, durationMs: 6 * hour },
  ]);
});

test('a new limit begins with the range, or when it says so itself', async () => {
  const startTime = '2026-02-01T00:00:00Z';
  expect(limitsOf(await servedWith([aLimit('most'), aLimit('said', { startTime })]))).toEqual([
    { name: 'most', threshold: '5', startMs: from, durationMs: 24 * hour },
    { name: 'said', threshold: '5', startMs: Date.parse(startTime), durationMs: 24 * hour },
  ]);
});
