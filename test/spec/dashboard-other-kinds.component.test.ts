import { beforeAll, describe, expect, test } from '@jest/globals';
import { derivePolicyId } from '../../core/config/ids.js';
import type { PaymasterPolicySpec } from '../../core/resources/paymaster-policy.js';
import { acmeToken, createPaymaster, recordOf, recordsOf } from '../build/dashboard.js';
import { useDashboard } from '../support/use-dashboard.js';

// The service document has three kinds of policies. Its endpoints list, pause and delete the others, and limits that it cannot
// express, and neither create nor change them.

const host = useDashboard();
let key: string;
let paymaster: string;
beforeAll(async () => {
  ({ key } = await createPaymaster(host));
  const [found] = await host.resources.list('Paymaster', { namespace: 'acme' });
  paymaster = found?.metadata.name ?? '';
});

const aDay = { scope: 'PAYMASTER', cycleDuration: { value: 1, unit: 'day' } };

/** `listedAs`: the type under which it is listed, where that is another one. */
const kinds: readonly (Pick<PaymasterPolicySpec, 'policyType'> & Record<string, unknown>)[] = [
  {
    policyType: 'PAYMASTER_SA_LIMIT',
    listedAs: 'SPENDING_LIMIT',
    member: 'spendingLimit',
    data: { ...aDay, thresholdType: 'USD', threshold: '12.345678' },
  },
  ...[{ never: {} }, { calendar: { every: 'month', timeZone: 'Europe/Berlin' } }].map((cycle) => ({
    policyType: 'PAYMASTER_SA_LIMIT' as const,
    listedAs: 'SPENDING_LIMIT',
    member: 'spendingLimit',
    data: { scope: 'PAYMASTER', thresholdType: 'COUNT', threshold: '12', ...cycle },
  })),
  ...[{}, { threshold: '12', cycleDuration: aDay.cycleDuration }].map((cycle) => ({
    policyType: 'PAYMASTER_SA_LIMIT' as const,
    listedAs: 'SPENDING_LIMIT',
    member: 'spendingLimit',
    data: { scope: 'PAYMASTER', thresholdType: 'NATIVE_ASSET', perOperation: '0.05', ...cycle },
  })),
  { policyType: 'WINDOW', member: 'window', data: { until: '2027-01-01T00:00:00Z', appliesTo: ['ERC20'] } },
  { policyType: 'EXPRESSION', member: 'expression', data: { text: 'chain == 1', allowNoCalls: true } },
  {
    policyType: 'SENDERS',
    member: 'senders',
    data: { action: 'Deny', addresses: [`0x${'ab'.repeat(20)}`] },
    // The list may be long.
    shown: { action: 'Deny', count: 1 },
  },
];

describe.each(kinds)(
  'a policy of type $policyType',
  ({ policyType: type, listedAs, member, data, shown = data }) => {
    const policyType = typeof listedAs === 'string' ? listedAs : type;
    const name = `kind-${kinds.findIndex((kind) => kind['data'] === data)}`;
    const policyId = derivePolicyId('acme', name);
    beforeAll(() =>
      host.resources.apply({
        manager: 'git',
        kind: 'PaymasterPolicy',
        key: { namespace: 'acme', name },
        spec: {
          paymasterRef: { name: paymaster },
          name: `${policyType} ${name}`,
          policyType: type,
          [String(member)]: data,
        },
      }),
    );
    const call = (method: string, path: string, body?: object) =>
      host.call(method, `/paymaster-policy${path}`, { token: acmeToken, key, body });
    const listed = async () =>
      recordsOf((await call('GET', '')).body.data).find(({ _id }) => _id === policyId) ?? {};

    test('is not created', async () => {
      const { status, body } = await call('POST', '', { name: 'Other', policyType, policyData: data });
      expect(status).toBe(400);
      expect(body.message).toContain('policyType must be');
    });

    test('is listed', async () => {
      const { policyData, ...record } = await listed();
      expect(record).toMatchObject({
        _id: policyId,
        name: `${policyType} ${name}`,
        policyType,
        active: true,
      });
      expect(recordOf(policyData)).toEqual(shown);
    });

    test('is not changed as a limit: the message names the management API', async () => {
      const before = await listed();
      for (const body of [{ threshold: 5 }, {}]) {
        const answer = await call('PATCH', `/limit/${policyId}`, body);
        expect(answer.status).toBe(400);
        expect(answer.body.message).toContain('/manage/v1');
        expect(answer.body.message).toContain(policyType);
      }
      expect(await listed()).toEqual(before);
    });

    test('is paused and resumed', async () => {
      for (const [action, active] of [
        ['deactivate', false],
        ['activate', true],
      ] as const) {
        expect((await call('PATCH', `/${action}/${policyId}`)).status).toBe(200);
        expect(await listed()).toMatchObject({ active });
      }
    });
  },
);
