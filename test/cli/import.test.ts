import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { importFormats } from '../../cli/commands/import.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'import-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

type From = keyof typeof importFormats;
async function imported(from: From, policy: object, more: readonly string[] = []) {
  const file = join(folder, 'policy.json');
  writeFileSync(file, JSON.stringify(policy));
  const target = ['-n', 'acme', '--paymaster', 'shop'];
  const ended = await paymaster(['import', '--from', from, file, ...target, ...more]);
  const objects = parseAllDocuments(ended.out).flatMap((each) =>
    each.contents === null ? [] : [each.toJS()],
  );
  const specs = objects.map(({ spec: { paymasterRef, ...spec } }) => {
    expect(paymasterRef).toEqual({ name: 'shop' });
    return spec;
  });
  return { ...ended, objects, specs };
}

// The examples of their documentation, with values of our own.
const ofPimlico = {
  id: 'sp_brave_otter',
  policy_name: 'Spring / Gas Fund',
  policy_status: 'active',
  created_at: '2026-05-23T15:23:38Z',
  start_time: '2026-03-01T00:00:00Z',
  end_time: '2026-06-01T00:00:00Z',
  webhook_endpoint: null,
  webhook_enabled: null,
  chain_ids: { allowlist: [10, 8453] },
  limits: {
    global: {
      user_operation_spending: { amount: 1_000_050, currency: 'USD' },
      maximum_user_operation_count: 1000,
      reset_interval: 'monthly',
    },
    user: {
      user_operation_spending: { amount: 12.5, currency: 'USD' },
      maximum_user_operation_count: null,
      reset_interval: null,
    },
    user_operation: { user_operation_spending: { amount: 50, currency: 'USD' } },
  },
};
const alice = '0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985';
const ofAlchemy = {
  policyName: 'My Policy',
  policyType: 'sponsorship',
  policyId: 'a844e221-3c13-40c6-95db-d2db390e14b5',
  appId: 'x',
  status: 'inactive',
  networks: ['BASE_MAINNET'],
  rules: {
    maxSpendUsd: '5000.00',
    maxSpendPerSenderUsd: 100,
    maxSpendPerUoUsd: '0.25',
    maxCount: '100',
    maxCountPerSender: 2,
    senderAllowlist: [],
    senderBlocklist: [alice],
    startTimeUnix: '1674228753',
    endTimeUnix: null,
    sponsorshipExpiryMs: '600000',
  },
};

test('a policy of Pimlico', async () => {
  const { specs, objects, error, status } = await imported('pimlico', ofPimlico);
  expect(status).toBe(0);
  const limit = (name: string, spendingLimit: object) => ({
    name: `Spring / Gas Fund ${name}`,
    campaign: 'sp_brave_otter',
    policyType: 'PAYMASTER_SA_LIMIT',
    spendingLimit,
  });
  const monthly = { calendar: { every: 'month', timeZone: 'UTC' } };
  expect(specs).toEqual([
    {
      name: 'Spring / Gas Fund window',
      campaign: 'sp_brave_otter',
      policyType: 'WINDOW',
      window: { from: '2026-03-01T00:00:00Z', until: '2026-06-01T00:00:00Z' },
    },
    limit('global-usd', { scope: 'PAYMASTER', threshold: '10000.5', thresholdType: 'USD', ...monthly }),
    limit('global-count', { scope: 'PAYMASTER', threshold: '1000', thresholdType: 'COUNT', ...monthly }),
    limit('user-usd', { scope: 'SMART_ACCOUNT', threshold: '0.125', thresholdType: 'USD', never: {} }),
    limit('per-operation', { scope: 'PAYMASTER', thresholdType: 'USD', perOperation: '0.5' }),
  ]);
  expect(objects[0].metadata).toEqual({ name: 'spring-gas-fund-window', namespace: 'acme' });
  expect(error).toContain(
    'chain_ids.allowlist: a Paymaster is of one chain: import it for each of 10,8453\n',
  );
  expect(error).toContain(
    'id: the policies are the campaign sp_brave_otter: they judge requests that name it as sponsorshipPolicyId',
  );
  expect(error).toContain('limits begin at zero');
});

test('a policy of Alchemy, also inside an answer', async () => {
  const { specs, error, status } = await imported('alchemy', { data: { policy: ofAlchemy } });
  expect(status).toBe(0);
  expect(specs.map(({ active }) => active)).toEqual(specs.map(() => false));
  expect(new Set(specs.map(({ campaign }) => campaign))).toEqual(new Set([ofAlchemy.policyId]));
  const limit = (scope: string, threshold: string, thresholdType: string) => ({
    spendingLimit: { scope, threshold, thresholdType, never: {} },
  });
  expect(specs).toMatchObject([
    limit('PAYMASTER', '5000', 'USD'),
    limit('SMART_ACCOUNT', '100', 'USD'),
    { spendingLimit: { scope: 'PAYMASTER', thresholdType: 'USD', perOperation: '0.25' } },
    limit('PAYMASTER', '100', 'COUNT'),
    limit('SMART_ACCOUNT', '2', 'COUNT'),
    // An empty list of those who are allowed allows everybody there, and nobody here.
    { senders: { action: 'Deny', addresses: [alice] } },
    { window: { from: '2023-01-20T15:32:33.000Z' } },
  ]);
  expect(error).toContain('set spec.maxExpirySeconds of the Paymaster to 600');
  expect((await imported('alchemy', ofAlchemy)).specs).toEqual(specs);
});

describe('what bounds sponsorship and cannot be carried over is never lost in silence', () => {
  test.each([
    {
      from: 'pimlico',
      change: { webhook_endpoint: 'https://a.example' },
      says: 'webhook_endpoint: a webhook is asked',
    },
    {
      from: 'pimlico',
      change: { limits: { global: { maximum_gas: 5 } } },
      says: 'limits.global.maximum_gas: not known to this import',
    },
    { from: 'pimlico', change: { allowed_contracts: ['0x1'] }, says: 'allowed_contracts: not known' },
    {
      from: 'alchemy',
      change: { rules: { webhookRules: { webhookUrl: 'https://a.example' } } },
      says: 'rules.webhookRules: a webhook is asked',
    },
  ] as const)('$from: $says', async ({ from, change, says }) => {
    const base = from === 'pimlico' ? ofPimlico : ofAlchemy;
    const { error, status } = await imported(from, { ...base, ...change });
    expect({ status, error }).toEqual({
      status: 1,
      error: expect.stringContaining(`has no counterpart: ${says}`),
    });
  });

  test.each([
    {
      from: 'pimlico',
      change: { limits: { global: { user_operation_spending: { amount: 1, currency: 'EUR' } } } },
      says: 'currency must be USD',
    },
    {
      from: 'pimlico',
      change: { limits: { user: { maximum_user_operation_count: 1, reset_interval: 'hourly' } } },
      says: 'reset_interval must be one of never',
    },
    {
      from: 'pimlico',
      change: { limits: { global: { user_operation_spending: { amount: -1, currency: 'USD' } } } },
      says: 'amount must be an amount in cents',
    },
    {
      from: 'pimlico',
      change: { limits: { user_operation: { user_operation_spending: { amount: 1, currency: 'EUR' } } } },
      says: 'limits.user_operation.user_operation_spending.currency must be USD',
    },
    {
      from: 'alchemy',
      change: { rules: { maxSpendPerUoUsd: 'much' } },
      says: 'rules.maxSpendPerUoUsd must be an amount in dollars',
    },
    { from: 'pimlico', change: { start_time: 'soon' }, says: 'window: spec.window.from must be' },
    { from: 'alchemy', change: { policyType: 'erc20' }, says: 'policyType must be sponsorship' },
    {
      from: 'alchemy',
      change: { rules: { senderAllowlist: ['vitalik.eth'] } },
      says: 'allowed: spec.senders.addresses[0] must be',
    },
    {
      from: 'alchemy',
      change: { rules: { maxCount: '1e3' } },
      says: 'rules.maxCount must be a number of operations',
    },
    {
      from: 'alchemy',
      change: { rules: { endTimeUnix: 'x' } },
      says: 'rules.endTimeUnix must be seconds since 1970',
    },
  ] as const)('$from: $says, and nothing is printed', async ({ from, change, says }) => {
    const base = from === 'pimlico' ? ofPimlico : ofAlchemy;
    const { out, error, status } = await imported(from, { ...base, ...change });
    expect({ out, status, error }).toEqual({ out: '', status: 2, error: expect.stringContaining(says) });
  });
});

test('a name is only a name', async () => {
  const { objects, specs } = await imported('pimlico', {
    ...ofPimlico,
    policy_name: 'a\n---\nkind: Chain #\u001b[2J',
  });
  expect(objects.map(({ kind }) => kind)).toEqual(specs.map(() => 'PaymasterPolicy'));
  const empty = await imported('pimlico', { ...ofPimlico, policy_name: '…' });
  expect(empty.objects[0].metadata.name).toBe('imported-window');
});

test.each(Object.keys(importFormats) as From[])(
  'docs/moving.md says what every field of %s becomes',
  (from) => {
    const document = readFileSync(join(repositoryRoot, 'docs/moving.md'), 'utf8');
    const rows = importFormats[from].rows.map(({ field, becomes }) => `| \`${field}\` | ${becomes} |`);
    expect(document).toContain(rows.join('\n'));
  },
);
