import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { EpochMs } from '../../core/units/time.js';
import { sha256, someApiKey, someNow } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { rpcPath, startRpc, type RpcAnswer, type RpcHost } from '../build/rpc.js';
import { useRpc } from '../support/use-rpc.js';

const host = useRpc();
beforeEach(() => host.put());

let nonce = 0;
function sponsor(path: string, headers: Readonly<Record<string, string>> = {}): Promise<RpcAnswer> {
  nonce += 1;
  return host.call('pm_sponsorUserOperation', [anOperation({ nonce }), sponsored], { path, headers });
}

describe('Authentication of the JSON-RPC methods: the DApp apiKey', () => {
  test('the key in the address identifies the DApp', async () => {
    expect((await sponsor(rpcPath())).status).toBe(200);
  });

  test('on a key-less address the header apiKey does', async () => {
    expect((await sponsor('/api/v1/31337', { apiKey: someApiKey })).status).toBe(200);
    expect((await sponsor('/api/v2/31337/', { apikey: someApiKey })).status).toBe(200);
  });

  test.each([
    ['no key', '/api/v1/31337', {}],
    ['an unknown key', rpcPath('aaaaaaaaa.00000000-0000-4000-8000-000000000000'), {}],
    ['an unknown key in the header', '/api/v1/31337', { apiKey: 'wrong' }],
    ['the hash of a key', rpcPath(sha256(someApiKey)), {}],
    ['a key with a blank', rpcPath(`${someApiKey}%20`), {}],
  ])('%s is 401 with error -32001', async (_name, path, headers) => {
    const { status, body } = await sponsor(path, headers);
    expect(status).toBe(401);
    expect(body.error).toMatchObject({ code: -32001, data: { retryable: false } });
  });

  test('an authToken is not a key', async () => {
    const { status } = await sponsor('/api/v1/31337', { authToken: 'acme-token-0123456789' });
    expect(status).toBe(401);
  });

  test('a key of another chain is an error that names both chains', async () => {
    const { status, body } = await sponsor(rpcPath(someApiKey, 1));
    expect(status).toBe(400);
    expect(body.error).toMatchObject({ code: -32602, data: { reason: 'CHAIN_MISMATCH' } });
    expect(body.error?.message).toMatch(/31337.* 1\b/);
  });

  test.each([
    ['/api/v1/0x7a69/key'],
    ['/api/v1/'],
    ['/api/v1/abc'],
    [`${rpcPath()}/more`],
    ['/api/v1/31337/%zz'],
  ])('the malformed address %s is -32600', async (path) => {
    const { status, body } = await sponsor(path);
    expect(status).toBe(400);
    expect(body.error?.code).toBe(-32600);
  });

  test('a wrong key is never repeated in an answer', async () => {
    const { text } = await sponsor(rpcPath('sEcReT_9Z.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c99'));
    expect(text).not.toContain('sEcReT_9Z');
  });
});

describe('Rotation of keys', () => {
  test('every key of the paymaster works, each until its end', async () => {
    const previous = 'previous1.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c11';
    await host.put({
      keys: [
        { sha256: sha256(someApiKey) },
        { sha256: sha256(previous), validUntil: (someNow + 60_000) as EpochMs },
      ],
    });
    expect((await sponsor(rpcPath(previous))).status).toBe(200);
    host.clock.advance(60_000);
    expect((await sponsor(rpcPath(previous))).status).toBe(401);
    expect((await sponsor(rpcPath())).status).toBe(200);
  });

  test('a key that was taken away stops working', async () => {
    await host.put({ keys: [{ sha256: sha256('other') }] });
    expect((await sponsor(rpcPath())).status).toBe(401);
    expect((await sponsor(rpcPath('other'))).status).toBe(200);
  });

  test('keys of a deleted paymaster are unknown', async () => {
    const own = await startRpc();
    try {
      const [stored] = await own.configs.listPaymasters();
      await own.configs.deletePaymaster(stored?.config.paymasterId ?? '');
      const { status } = await own.call('pm_sponsorUserOperation', [anOperation(), sponsored]);
      expect(status).toBe(401);
    } finally {
      await own.stop();
    }
  });
});

describe('Rate limits', () => {
  test('are off unless set', async () => {
    const answers = await Promise.all(Array.from({ length: 50 }, () => sponsor(rpcPath())));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });

  test.each([['perKey'], ['perClient']])(
    '%s: beyond the burst it is 429 with error -32005 and Retry-After',
    async (which) => {
      await host.put({ rateLimit: { [which]: { requests: 2, perSeconds: 10 } } });
      const statuses = [];
      for (let i = 0; i < 3; i += 1) statuses.push((await sponsor(rpcPath())).status);
      expect(statuses).toEqual([200, 200, 429]);
      const { headers, body } = await sponsor(rpcPath());
      expect(headers.get('retry-after')).toBe('5');
      expect(body.error).toMatchObject({ code: -32005, data: { reason: 'RATE_LIMIT', retryable: true } });
      host.clock.advance(5_000);
      expect((await sponsor(rpcPath())).status).toBe(200);
      host.clock.advance(20_000);
    },
  );

  test.each([
    { name: 'a limit of the chain', chain: { requests: 2, perSeconds: 10 } },
    {
      name: 'a limit of the chain that the paymaster would widen',
      chain: { requests: 2, perSeconds: 10 },
      paymaster: { requests: 1000, perSeconds: 1 },
    },
    {
      name: 'a limit of the paymaster below that of the chain',
      chain: { requests: 1000, perSeconds: 1 },
      paymaster: { requests: 2, perSeconds: 10 },
    },
    {
      name: 'the smaller burst at the lower rate of the two',
      chain: { requests: 2, perSeconds: 1 },
      paymaster: { requests: 4, perSeconds: 20 },
    },
  ])('$name counts', async ({ chain, paymaster }) => {
    await host.putChain({ rateLimit: { perKey: chain } });
    await host.put(paymaster === undefined ? {} : { rateLimit: { perKey: paymaster } });
    const statuses = [];
    for (let i = 0; i < 3; i += 1) statuses.push((await sponsor(rpcPath())).status);
    expect(statuses).toEqual([200, 200, 429]);
    expect((await sponsor(rpcPath())).headers.get('retry-after')).toBe('5');
    await host.putChain();
    host.clock.advance(60_000);
  });

  describe('behind a trusted proxy', () => {
    let proxied: RpcHost;
    beforeAll(async () => {
      proxied = await startRpc({ trustedProxies: 1 });
    });
    afterAll(() => proxied.stop());

    async function statusFor(rpc: RpcHost, forwardedFor: string): Promise<number> {
      nonce += 1;
      const params = [anOperation({ nonce }), sponsored];
      const headers = { 'x-forwarded-for': forwardedFor };
      return (await rpc.call('pm_sponsorUserOperation', params, { headers })).status;
    }

    test('a client is whom the proxy saw, whatever the client itself says before that', async () => {
      await proxied.put({ rateLimit: { perClient: { requests: 1, perSeconds: 60 } } });
      expect(await statusFor(proxied, '192.0.2.1')).toBe(200);
      expect(await statusFor(proxied, '198.51.100.7, 192.0.2.1')).toBe(429);
      expect(await statusFor(proxied, '192.0.2.2')).toBe(200);
    });

    test('a client beyond its own limit uses up nothing of what all share', async () => {
      const perKey = { requests: 3, perSeconds: 60 };
      await proxied.put({ rateLimit: { perKey, perClient: { requests: 1, perSeconds: 60 } } });
      const greedy = [];
      for (let i = 0; i < 5; i += 1) greedy.push(await statusFor(proxied, '192.0.2.11'));
      expect(greedy).toEqual([200, 429, 429, 429, 429]);
      expect(await statusFor(proxied, '192.0.2.12')).toBe(200);
      expect(await statusFor(proxied, '192.0.2.13')).toBe(200);
      expect(await statusFor(proxied, '192.0.2.14')).toBe(429);
    });

    test("without one the header is nobody's word", async () => {
      host.clock.advance(60_000);
      await host.put({ rateLimit: { perClient: { requests: 1, perSeconds: 60 } } });
      const first = await statusFor(host, '192.0.2.21');
      expect([first, await statusFor(host, '192.0.2.22')]).toEqual([200, 429]);
    });
  });
});
