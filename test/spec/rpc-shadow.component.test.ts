import { beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { compileAddressList } from '../../core/policy/address-list.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  addressOf,
  aLimitConfig,
  aPaymasterConfig,
  someNow,
  someTarget,
  someToken,
} from '../build/configs.js';
import { anOperation, execute, mintCall, sponsored } from '../build/operations.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();
const sender = addressOf(0xa11ce);
let nonce = 100;

const everybody = compileAddressList([sender]).list;
const aWebhook = {
  name: 'Hook',
  url: 'https://rules.example/check',
  method: 'POST',
  onError: 'Deny',
} as const;
const refusing: readonly {
  readonly name: string;
  readonly policyId: string;
  readonly reason: string;
  readonly config: Partial<PaymasterConfig>;
  readonly callData?: string;
}[] = [
  {
    name: 'a limit',
    policyId: 'limit',
    reason: 'LIMIT_REACHED',
    config: { limits: [aLimitConfig({ policyId: 'limit', threshold: '0', shadow: true })] },
  },
  {
    name: "a budget's quarter for one paymaster",
    policyId: 'quarter',
    reason: 'BUDGET_SHARE_FULL',
    config: {
      limits: [aLimitConfig({ policyId: 'quarter', budget: true, threshold: '3', shadow: true })],
    },
  },
  {
    name: 'a limit per operation',
    policyId: 'per-operation',
    reason: 'COST_TOO_HIGH',
    config: {
      operationLimits: [
        {
          policyId: 'per-operation',
          name: 'Each',
          thresholdType: 'NATIVE_ASSET',
          perOperation: '0',
          shadow: true,
        },
      ],
    },
  },
  {
    name: 'a limit per operation that counts, too,',
    policyId: 'both',
    reason: 'COST_TOO_HIGH',
    config: {
      limits: [aLimitConfig({ policyId: 'both', name: 'Both', threshold: '1000000', shadow: true })],
      operationLimits: [
        { policyId: 'both', name: 'Both', thresholdType: 'NATIVE_ASSET', perOperation: '0', shadow: true },
      ],
    },
  },
  {
    name: 'a window',
    policyId: 'window',
    reason: 'WINDOW_CLOSED',
    config: { windows: [{ policyId: 'window', name: 'Over', until: someNow, shadow: true }] },
  },
  {
    name: 'a sender list',
    policyId: 'senders',
    reason: 'SENDER_NOT_ALLOWED',
    config: {
      senders: [
        { policyId: 'senders', name: 'Out', action: 'Deny', list: everybody.hash, count: 1, shadow: true },
      ],
    },
  },
  {
    name: 'a sender list that is not here',
    policyId: 'missing',
    reason: 'SENDERS_UNKNOWN',
    config: {
      senders: [{ policyId: 'missing', name: 'Out', action: 'Allow', list: 'ff', count: 1, shadow: true }],
    },
  },
  {
    name: 'an expression',
    policyId: 'expression',
    reason: 'EXPRESSION_REFUSED',
    config: {
      expressions: [
        { policyId: 'expression', name: 'Elsewhere', text: 'chain == 1', methods: [], shadow: true },
      ],
    },
  },
  {
    name: 'an expression about the cost',
    policyId: 'cost',
    reason: 'EXPRESSION_REFUSED',
    config: {
      expressions: [{ policyId: 'cost', name: 'Free', text: 'cost.native == 0', methods: [], shadow: true }],
    },
  },
  {
    name: 'a webhook',
    policyId: 'hook',
    reason: 'WEBHOOK_REFUSED',
    config: { webhooks: [{ ...aWebhook, policyId: 'hook', shadow: true }] },
  },
  {
    name: 'the list of contracts',
    policyId: 'contracts',
    reason: 'CONTRACT_NOT_REGISTERED',
    config: { contractsInShadow: true },
    callData: execute(addressOf(0xbad), mintCall()),
  },
];

beforeEach(async () => {
  await host.configs.putList(everybody);
  host.world.webhook = async ({ policies }) => policies.map(() => ({ verdict: 'refused' }) as const);
  await host.put();
});

const ask = async (method: string, operation: object, mode: object = sponsored) =>
  (await host.call(method, [operation, mode], { headers: { authToken: someToken } })).body.result ?? {};
const operationOf = (callData = execute(someTarget, mintCall())) =>
  anOperation({ sender, callData, nonce: (nonce += 1) });
const sponsor = (callData?: string) => ask('pm_sponsorUserOperation', operationOf(callData));
const count = async (reason: string): Promise<number> => {
  const line = new RegExp(`^paymaster_would_refuse_total\\{reason="${reason}"\\} (\\d+)$`, 'm');
  return Number(line.exec((await host.metrics.render()).body)?.[1]);
};
const range = () => ({
  organisation: aPaymasterConfig().namespace,
  from: 0 as EpochMs,
  to: (host.clock.now() + 86_400_000) as EpochMs,
});

describe.each(refusing)('$name in Shadow', ({ policyId, reason, config, callData }) => {
  test('refuses nothing; what it would refuse is counted, recorded, summed up and explained', async () => {
    await host.put(config);
    const before = await count(reason);
    expect(await sponsor(callData)).toMatchObject({
      paymasterAndData: expect.stringMatching(/^0x[0-9a-f]{80,}/),
    });
    await until('it is counted', async () => (await count(reason)) === before + 1);
    const explained = await ask('pm_explainSponsorship', operationOf(callData), {
      ...sponsored,
      callWebhook: true,
    });
    expect(explained).toMatchObject({ sponsored: true, wouldRefuse: [{ policyId, reason }] });
    // An explanation is not a request.
    expect(await count(reason)).toBe(before + 1);
    // Nothing waits for a webhook, so whether its answer is in the record is a matter of luck.
    if (policyId === 'hook') return;
    await until('it is in the record and in the sums', async () => {
      const { decisions } = await host.ledger.decisions({ ...range(), limit: 100 });
      const [latest] = decisions.filter(({ decision }) => decision.sender === sender.toLowerCase());
      const isRecorded = latest?.decision.policies.some(
        (each) => each.policyId === policyId && each.effect === 'would_refuse',
      );
      if (isRecorded !== true) return false;
      const rows = await host.ledger.usage({
        ...range(),
        paymasterId: undefined,
        step: 'day',
        groupBy: 'wouldRefuse',
        limit: 100,
      });
      return rows.some(({ group, sponsored: signed }) => group === policyId && signed >= 1);
    });
  });
});

describe('what is enforced beside what is in Shadow', () => {
  test('refuses, and the record says both', async () => {
    await host.put({
      windows: [
        { policyId: 'w1', name: 'Tried', until: someNow, shadow: true },
        { policyId: 'w2', name: 'Meant', until: someNow },
      ],
    });
    expect((await sponsor())['reason']).toBe('WINDOW_CLOSED');
    await until('both are recorded', async () => {
      const { decisions } = await host.ledger.decisions({ ...range(), limit: 100 });
      const effects = decisions.map(({ decision }) =>
        decision.policies.map(({ policyId, effect }) => `${policyId} ${effect}`).join(),
      );
      return effects.includes('w2 refused,w1 would_refuse');
    });
  });

  test('a webhook that refuses is obeyed although another in Shadow agrees', async () => {
    host.world.webhook = async ({ policies, isShadow }) =>
      policies.map(() => ({ verdict: isShadow === true ? 'verified' : 'refused' }) as const);
    await host.put({
      webhooks: [
        { ...aWebhook, policyId: 'h1', shadow: true },
        { ...aWebhook, policyId: 'h2', name: 'Meant' },
      ],
    });
    expect((await sponsor())['reason']).toBe('WEBHOOK_REFUSED');
  });
});

describe('Shadow', () => {
  test('of a limit counts beyond its threshold, so that enforcing it needs no new start', async () => {
    const limit = aLimitConfig({ policyId: 'growing', threshold: '2' });
    await host.put({ limits: [{ ...limit, shadow: true }] });
    for (let n = 0; n < 4; n += 1) expect((await sponsor())['paymasterAndData']).not.toBe('0x');
    const shown = await ask('pm_explainSponsorship', operationOf());
    expect(shown['limits']).toMatchObject([
      { used: '4 operations', left: '0 operations', enforcement: 'Shadow' },
    ]);
    await host.put({ limits: [limit] });
    expect((await sponsor())['reason']).toBe('LIMIT_REACHED');
    await host.put({ limits: [{ ...limit, threshold: '5' }] });
    expect((await sponsor())['paymasterAndData']).not.toBe('0x');
    expect((await sponsor())['reason']).toBe('LIMIT_REACHED');
  });

  test('of a window does not shorten what is signed', async () => {
    const ends = (host.clock.now() + 60_000) as EpochMs;
    await host.put({ windows: [{ policyId: 'w', name: 'Tried', until: ends, shadow: true }] });
    expect((await sponsor())['validUntil']).toBe(Math.floor(host.clock.now() / 1000) + 300);
  });

  test.each([
    { name: 'never answers', webhook: () => new Promise<never>(() => {}) },
    { name: 'finds its pool full', webhook: () => Promise.reject(new Error('busy')) },
  ])('of a webhook that $name holds nobody up', async ({ webhook }) => {
    host.world.webhook = webhook;
    await host.put({ webhooks: [{ ...aWebhook, policyId: 'slow', shadow: true }] });
    expect((await sponsor())['paymasterAndData']).not.toBe('0x');
  });

  test('of the contracts says that anything is sponsored, and lets an account be deployed alone', async () => {
    await host.put({ contractsInShadow: true });
    expect(await ask('pm_explainSponsorship', operationOf())).toMatchObject({
      paymaster: { openSponsorship: true },
    });
    const deploys = anOperation({
      sender,
      nonce: (nonce += 1),
      initCode: `0x${'fa'.repeat(20)}5fbfb9cf`,
      callData: '0x',
    });
    expect((await ask('pm_sponsorUserOperation', deploys))['paymasterAndData']).not.toBe('0x');
  });
});
