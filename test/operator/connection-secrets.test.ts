import { afterEach, describe, expect, test } from '@jest/globals';
import { deriveApiKey } from '../../core/config/api-key.js';
import { deriveWebhookKey } from '../../core/policy/webhook/signing-key.js';
import { derivePolicyId } from '../../core/config/ids.js';
import { DomainError } from '../../core/errors.js';
import { aPaymaster, aPolicy } from '../build/resources.js';
import { conditionOf, isReady, startWorld } from './world.js';
import type { World } from './world.js';

let world: World;
afterEach(() => world.close());

describe('connection secrets', () => {
  const withSecret = aPaymaster({ writeConnectionSecretToRef: { name: 'shop-connection' } });
  const hook = aPolicy({
    meta: { name: 'hook' },
    name: 'Hook',
    policyType: 'WEBHOOK',
    webhook: { url: 'https://rules.example.com/check' },
  });

  test('hold what a client needs', async () => {
    world = await startWorld();
    await world.apply(withSecret, hook);
    await world.until(
      'it is written',
      () => world.secrets.get('acme/shop-connection')?.data['webhookKey'] !== undefined,
    );
    const apiKey = deriveApiKey(new Uint8Array(32).fill(1), {
      namespace: 'acme',
      name: 'shop',
      keyGeneration: 1,
    });
    const webhookKey = deriveWebhookKey(new Uint8Array(32).fill(2), derivePolicyId('acme', 'hook'));
    expect(world.secrets.get('acme/shop-connection')).toEqual({
      owner: 'shop',
      data: {
        apiKey,
        rpcUrl: `http://rpc.test/api/v1/31337/${apiKey}`,
        paymasterId: (await world.config('shop'))?.paymasterId,
        chainId: '31337',
        webhookKey,
        'webhookKey.hook': webhookKey,
      },
    });
    await world.until('it is said', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'ConnectionSecret').endsWith('Written'),
    );
    // The status never repeats what the secret holds.
    expect(JSON.stringify(await world.get('Paymaster', 'shop'))).not.toContain(apiKey);
  });

  test('that could not be written are retried, as their condition says', async () => {
    world = await startWorld();
    let isDenied = true;
    await world.restart({
      connectionSecrets: {
        write: async () => {
          if (isDenied) throw new DomainError('INTERNAL', 'the API server denies the operator access');
          return 'written';
        },
      },
    });
    await world.apply(withSecret);
    const condition = async () => conditionOf(await world.get('Paymaster', 'shop'), 'ConnectionSecret');
    await world.until('it is said', async () => (await condition()) === 'False/WriteFailed');
    isDenied = false;
    await world.until('it is written', async () => (await condition()) === 'True/Written');
  });

  test('that the operator may not write keep the paymaster from being ready at once, and the message names the label', async () => {
    world = await startWorld();
    let isDenied = true;
    await world.restart({
      connectionSecrets: { write: async () => (isDenied ? 'denied' : 'written') },
    });
    await world.apply(withSecret);
    const readies = new Set<string>();
    const ready = async () => {
      const found = conditionOf(await world.get('Paymaster', 'shop'), 'Ready');
      readies.add(found);
      return found;
    };
    await world.until('it is not ready', async () => (await ready()) === 'False/SecretNotWritten');
    expect([...readies].filter((each) => each.startsWith('True'))).toEqual([]);
    const { status } = (await world.get('Paymaster', 'shop'))!;
    const messages = status?.conditions?.filter(({ reason }) => /Secret|NotAllowed/.test(reason));
    expect(messages?.map(({ message }) => message)).toEqual([
      expect.stringContaining('kubectl label namespace acme paymasters.dev/organisation=true'),
      expect.stringContaining('kubectl label namespace acme paymasters.dev/organisation=true'),
    ]);
    isDenied = false;
    await world.until('it is ready', isReady(world));
  });

  test('that somebody deletes or changes are written again', async () => {
    world = await startWorld();
    await world.apply(withSecret);
    const isWritten = () => world.secrets.get('acme/shop-connection')?.data['chainId'] === '31337';
    await world.until('it is written', isWritten);
    await world.settle();
    world.secrets.delete('acme/shop-connection');
    await world.until('it is there again', isWritten);
    world.secrets.set('acme/shop-connection', { owner: 'shop', data: { chainId: '1' } });
    await world.until('it is right again', isWritten);
  });

  test('with another owner are left alone, and a condition reports that', async () => {
    world = await startWorld();
    world.secrets.set('acme/shop-connection', { owner: 'database', data: { password: 'x' } });
    await world.apply(withSecret);
    await world.until('it is said', async () =>
      conditionOf(await world.get('Paymaster', 'shop'), 'ConnectionSecret').endsWith('NotOurs'),
    );
    expect(world.secrets.get('acme/shop-connection')?.data).toEqual({ password: 'x' });
  });
});
