import { describe, expect, test } from '@jest/globals';
import { someChainId } from '../build/configs.js';
import { anOperation, sponsored } from '../build/operations.js';
import { useRpc } from '../support/use-rpc.js';

// Paymaster.spec.allowedOrigins: whose web pages may ask.

const app = 'https://app.example.com';
const host = useRpc({ paymaster: { allowedOrigins: [app, 'http://localhost:3000'] } });
let nonce = 0;
const ask = (origin?: string) =>
  host.call('pm_sponsorUserOperation', [anOperation({ nonce: (nonce += 1) }), sponsored], {
    headers: origin === undefined ? {} : { origin },
  });

describe('a paymaster with allowedOrigins', () => {
  test.each([app, 'http://localhost:3000'])(
    'serves the pages of %s, which may read the answer',
    async (origin) => {
      const { status, headers, body } = await ask(origin);
      expect([status, body.result?.['reason']]).toEqual([200, undefined]);
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('vary')).toBe('Origin');
    },
  );

  test.each([
    { name: 'another page', origin: 'https://evil.example.com' },
    { name: 'a page below the allowed one', origin: `https://x.app.example.com` },
    { name: 'a page whose name begins like the allowed one', origin: `${app}.evil.example` },
    { name: 'the allowed host without TLS', origin: 'http://app.example.com' },
    { name: 'another port', origin: `${app}:8443` },
    { name: 'a page without an origin', origin: 'null' },
    { name: 'another spelling', origin: app.toUpperCase() },
  ])('refuses $name before anything is signed, and its page cannot read why', async ({ origin }) => {
    const before = (await host.usage.reservations(someChainId)).length;
    const { status, headers, body } = await ask(origin);
    expect([status, body.error?.code, body.error?.data.reason]).toEqual([403, -32001, 'ORIGIN_NOT_ALLOWED']);
    expect(headers.get('access-control-allow-origin')).toBeNull();
    expect(headers.get('vary')).toBe('Origin');
    expect(await host.usage.reservations(someChainId)).toHaveLength(before);
  });

  test('refuses a page of this server that is not listed: the console asks the dashboard instead', async () => {
    const headers = { origin: host.origin, 'sec-fetch-site': 'same-origin' };
    const operation = anOperation({ nonce: (nonce += 1) });
    expect((await host.call('pm_sponsorUserOperation', [operation, sponsored], { headers })).status).toBe(
      403,
    );
  });

  test('serves anyone who is not a browser: this protects nothing that a key does not', async () => {
    expect((await ask()).status).toBe(200);
  });
});
