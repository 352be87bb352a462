import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { buildAccount } from '../chain/support/account.js';
import { buildUserOp } from '../chain/support/user-op.js';
import { until } from '../support/until.js';
import { rpc, toWire } from '../system/support/client.js';
import { answerJson, startHost, type WebhookHost } from '../adapters/webhook/webhook-host.js';
import { onOneProcess } from './support/stores.js';
import { expectServed, explain, increment } from './support/wallet.js';
import { manifest, startWorld, type World } from './support/world.js';

// A tenant writes thousands of limits for one paymaster: each request evaluated all of them in the single thread of the store, and
// each reservation stored them. Or the tenant writes a hundred webhooks and sends a large signature, which went to each of them.

const version = 'singleton-0.7';
const sponsored = { mode: 'SPONSORED' };
/** Policies of each kind. The number that counts is bounded, so ten times as many would show nothing new. */
const policies = 250;
const mostLimits = 20;
const mostWebhooks = 5;

let world: World;
let host: WebhookHost;
beforeAll(async () => {
  host = await startHost(answerJson({ arePoliciesVerified: true }));
});
afterAll(() => host.stop());

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    world = await startWorld(store);
  });
  afterAll(() => world.stop());

  test('of 250 limits the 20 oldest count, and none of the others refuses anybody', async () => {
    const spendingLimit = {
      scope: 'PAYMASTER',
      cycleDuration: { value: 1, unit: 'day' },
      threshold: '1000',
      thresholdType: 'COUNT',
    };
    const url = await paymasterWith('PAYMASTER_SA_LIMIT', () => ({ spendingLimit }));
    await until('all that count are there', async () => (await limitsOf(url)).length === mostLimits);
    await expectServed(world.devChain, version, url);
    expect(await limitsOf(url)).toHaveLength(mostLimits);
    await expectServed(world.devChain, version, await world.paymaster(version));
  });

  test('of 250 webhooks 5 are asked, and a large signature is not sent to them', async () => {
    const webhook = { url: `http://127.0.0.1:${host.port}/check`, timeoutSeconds: 10 };
    const url = await paymasterWith('WEBHOOK', () => ({ webhook }));
    await until('all that count are asked', async () => (await bodiesOf(url)).length >= mostWebhooks);
    const bodies = await bodiesOf(url);
    expect(bodies).toHaveLength(mostWebhooks);
    for (const body of bodies) expect(body.length).toBeLessThan(8_192);
    await expectServed(world.devChain, version, url);
  });

  function paymasterWith(policyType: string, spec: () => object): Promise<string> {
    return world.paymaster(version, {}, (name) =>
      Array.from({ length: policies }, (_, nth) =>
        manifest('PaymasterPolicy', `${name}-policy-${nth}`, {
          paymasterRef: { name },
          name: `policy ${nth}`,
          policyType,
          ...spec(),
        }),
      ),
    );
  }

  async function limitsOf(url: string): Promise<readonly unknown[]> {
    const { limits } = await explain(url, await operation(), sponsored, world.authToken);
    return limits as readonly unknown[];
  }

  /** What webhooks are sent for an operation with 40 kB of signature. */
  async function bodiesOf(url: string): Promise<readonly string[]> {
    const from = host.received.length;
    const wire = { ...toWire(await operation()), signature: `0x${'ff'.repeat(40_000)}` };
    await rpc(url, 'pm_sponsorUserOperation', [wire, sponsored]);
    return host.received.slice(from).map(({ body }) => body);
  }

  async function operation() {
    return buildUserOp(await buildAccount(world.devChain, '0.7'), [increment(world.devChain)]);
  }
});
