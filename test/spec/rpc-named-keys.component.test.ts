import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  aLimitConfig,
  aPaymasterConfig,
  sha256,
  someApiKey,
  someChainId,
  someToken,
} from '../build/configs.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { anOperation, sponsored } from '../build/operations.js';
import { rpcPath, startRpc, type RpcAnswer, type RpcHost } from '../build/rpc.js';
import { until } from '../support/until.js';
import { useRpc } from '../support/use-rpc.js';

// Paymaster.spec.keys: keys with names, each with restrictions of its own.

const webKey = 'webwebweb.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c01';
const partnerKey = 'partner00.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c02';
type Row = Partial<PaymasterConfig['keys'][number]>;
const keys = (web: Row, ...others: PaymasterConfig['keys']): PaymasterConfig['keys'] => [
  { sha256: sha256(someApiKey) },
  { sha256: sha256(webKey), name: 'web', ...web },
  ...others,
];

const host = useRpc();
const aWebhook = {
  policyId: '3e3e3e3e-1111-5222-8333-444455556666',
  name: 'Members only',
  url: 'https://hooks.acme.example/check',
  method: 'POST' as const,
  timeoutMs: 1_000,
  onError: 'Deny' as const,
  keyGeneration: 1,
};
let nonce = 0;
type Asking = {
  readonly key?: string;
  readonly mode?: object;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
};
function ask(
  host: RpcHost,
  { key = webKey, mode = {}, method = 'pm_sponsorUserOperation', headers = {} }: Asking = {},
): Promise<RpcAnswer> {
  nonce += 1;
  const params = [anOperation({ nonce }), { ...sponsored, ...mode }];
  return host.call(method, params, { path: rpcPath(key), headers: { authToken: someToken, ...headers } });
}
const askAsOthers = (context: object): Promise<RpcAnswer> =>
  host.call(
    'pm_getPaymasterData',
    [anOperation({ nonce: (nonce += 1) }), entryPoints['0.6'], `0x${someChainId.toString(16)}`, context],
    { path: rpcPath(webKey) },
  );
const outcomeOf = ({ body: { result, error } }: RpcAnswer) =>
  error?.data.reason ?? (result?.['reason'] as string | undefined) ?? 'sponsored';
const promises = async (host: RpcHost) => (await host.usage.reservations(someChainId)).length;

beforeEach(() => host.put());

describe('A key with a name', () => {
  test('is served like the first key, and its decisions say which key asked', async () => {
    await host.put({ keys: keys({}) });
    expect(outcomeOf(await ask(host))).toBe('sponsored');
    expect(outcomeOf(await ask(host, { key: someApiKey }))).toBe('sponsored');
    await host.put({ keys: keys({}), suspended: true });
    expect(outcomeOf(await ask(host))).toBe('SUSPENDED');
    await until('all three are recorded', async () => {
      const { decisions } = await host.ledger.decisions({
        organisation: aPaymasterConfig().namespace,
        from: 0 as EpochMs,
        to: (host.clock.now() + 86_400_000) as EpochMs,
        limit: 100,
      });
      const named = decisions.map(({ decision: { verdict, policies } }) => [
        verdict,
        policies.find(({ effect }) => effect === 'key')?.policyId,
      ]);
      return ['sponsored,web', 'sponsored,', 'refused,web'].every((each) =>
        named.some((one) => each === one.join()),
      );
    });
  });

  test('answers as an unknown key once it has expired, and its paymaster goes on', async () => {
    await host.put({ keys: keys({ validUntil: (host.clock.now() + 60_000) as EpochMs }) });
    expect(outcomeOf(await ask(host))).toBe('sponsored');
    host.clock.advance(60_000);
    const expired = await ask(host);
    const unknown = await ask(host, { key: 'unknown00.3f6c1c0a-7d7e-4f41-9a55-0f5e8f3b2c03' });
    expect([expired.status, expired.body.error?.message]).toEqual([401, unknown.body.error?.message]);
    expect(outcomeOf(await ask(host, { key: someApiKey }))).toBe('sponsored');
  });

  test('is revoked alone', async () => {
    const partner = { sha256: sha256(partnerKey), name: 'partner' };
    await host.put({ keys: keys({}, partner) });
    expect(outcomeOf(await ask(host, { key: partnerKey }))).toBe('sponsored');
    await host.put({ keys: keys({}) });
    expect((await ask(host, { key: partnerKey })).status).toBe(401);
    expect(outcomeOf(await ask(host))).toBe('sponsored');
  });

  test.each([
    { change: 'is revoked', later: [], reason: 'KEY_UNKNOWN' },
    {
      change: 'is bound to a campaign',
      later: [{ sha256: sha256(webKey), name: 'web', campaign: 'winter' }],
      reason: 'CAMPAIGN_NOT_ACTIVE',
    },
  ])('that $change while its request waits gets no signature', async ({ later, reason }) => {
    const waiting = Promise.withResolvers<void>();
    const asked = Promise.withResolvers<void>();
    const { webhook } = host.world;
    host.world.webhook = async (request) => {
      asked.resolve();
      await waiting.promise;
      return webhook(request);
    };
    try {
      await host.put({ keys: keys({}), webhooks: [aWebhook] });
      const before = await promises(host);
      const answer = ask(host);
      await asked.promise;
      await host.put({ keys: [{ sha256: sha256(someApiKey) }, ...later], webhooks: [aWebhook] });
      waiting.resolve();
      expect(outcomeOf(await answer)).toBe(reason);
      expect(await promises(host)).toBe(before);
    } finally {
      host.world.webhook = webhook;
    }
  });
});

describe('the rate of a key with a name', () => {
  const rateLimit = { requests: 2, perSeconds: 10 };

  test('is its own: a key that is flooded leaves the others what they have', async () => {
    await host.put({ keys: keys({ rateLimit }), rateLimit: { perKey: { requests: 4, perSeconds: 10 } } });
    const flood = [];
    for (let i = 0; i < 6; i += 1) flood.push(outcomeOf(await ask(host)));
    expect(flood).toEqual([...Array(2).fill('sponsored'), ...Array(4).fill('RATE_LIMIT')]);
    // Those that were refused took nothing from the limit of all keys.
    for (const expected of ['sponsored', 'sponsored', 'RATE_LIMIT'])
      expect(outcomeOf(await ask(host, { key: someApiKey }))).toBe(expected);
  });

  test('is held where the paymaster has none, and never widens that of the paymaster', async () => {
    const other = { sha256: sha256(partnerKey), name: 'partner', rateLimit: { requests: 99, perSeconds: 1 } };
    host.clock.advance(60_000);
    await host.put({ keys: keys({ rateLimit }, other) });
    for (const expected of ['sponsored', 'sponsored', 'RATE_LIMIT'])
      expect(outcomeOf(await ask(host))).toBe(expected);
    host.clock.advance(60_000);
    await host.put({ keys: keys({}, other), rateLimit: { perKey: { requests: 1, perSeconds: 100 } } });
    for (const expected of ['sponsored', 'RATE_LIMIT'])
      expect(outcomeOf(await ask(host, { key: partnerKey }))).toBe(expected);
  });
});

describe('a key of a campaign', () => {
  const limitOf = (campaign: string, threshold = '100') => ({
    ...aLimitConfig({ policyId: `${campaign} ${threshold}`, name: campaign, threshold }),
    campaign,
  });
  const campaigns: Partial<PaymasterConfig> = {
    campaigns: ['summer', 'winter'],
    limits: [limitOf('winter'), limitOf('summer')],
  };
  const ofWinter = keys({ campaign: 'winter' });

  test('asks in its campaign without naming it, and takes from its limits', async () => {
    await host.put({ ...campaigns, keys: ofWinter, limits: [limitOf('winter', '1'), limitOf('summer')] });
    expect(outcomeOf(await ask(host))).toBe('sponsored');
    expect(outcomeOf(await ask(host))).toBe('LIMIT_REACHED');
    expect(outcomeOf(await ask(host, { key: someApiKey }))).toBe('CAMPAIGN_REQUIRED');
  });

  test.each([
    { name: 'another campaign', mode: { sponsorshipPolicyId: 'summer' } },
    { name: 'another campaign in the words of other services', mode: { policyId: 'summer' } },
    { name: 'a campaign in another spelling', mode: { sponsorshipPolicyId: 'Winter' } },
    { name: 'a campaign that nobody has', mode: { sponsorshipPolicyId: '__proto__' } },
  ])('is refused when it names $name', async ({ name, mode }) => {
    await host.put({ ...campaigns, withoutCampaign: true, keys: ofWinter });
    const before = await promises(host);
    // The forms of ERC-7677 alone read the words of other services; elsewhere the campaign of the key counts.
    const asking = 'policyId' in mode ? askAsOthers(mode) : ask(host, { mode });
    expect([name, outcomeOf(await asking)]).toEqual([name, 'CAMPAIGN_NOT_ACTIVE']);
    expect(await promises(host)).toBe(before);
  });

  test.each([
    { name: 'no policy has a campaign', config: {} },
    { name: 'its campaign has ended', config: { campaigns: ['winter'] } },
    {
      name: 'silence is allowed',
      config: { ...campaigns, limits: [limitOf('summer')], withoutCampaign: true },
    },
    {
      name: 'only Shadow has campaigns',
      config: { limits: [{ ...limitOf('summer'), shadow: true as const }] },
    },
  ])('asks for nothing while $name', async ({ config }) => {
    await host.put({ ...config, keys: ofWinter } as Partial<PaymasterConfig>);
    for (const mode of [{}, { sponsorshipPolicyId: 'winter' }, { sponsorshipPolicyId: 'summer' }])
      expect(outcomeOf(await ask(host, { mode }))).toBe('CAMPAIGN_NOT_ACTIVE');
  });

  test('never judges for another key, whichever asked first', async () => {
    const ofSummer = { sha256: sha256(partnerKey), name: 'partner', campaign: 'summer' };
    await host.put({ ...campaigns, keys: keys({ campaign: 'winter' }, ofSummer) });
    const summer = { sponsorshipPolicyId: 'summer' };
    for (const asking of [{ key: someApiKey, mode: summer }, { key: partnerKey }, { mode: summer }, {}])
      expect([asking, outcomeOf(await ask(host, asking))]).toEqual([
        asking,
        asking.mode === summer && asking.key === undefined ? 'CAMPAIGN_NOT_ACTIVE' : 'sponsored',
      ]);
    const explained = await ask(host, { method: 'pm_explainSponsorship' });
    expect(explained.body.result).toMatchObject({ sponsored: true, campaigns: { named: 'winter' } });
  });
});

describe('the networks of a key', () => {
  let proxied: RpcHost;
  beforeAll(async () => {
    proxied = await startRpc({ trustedProxies: 1 });
  });
  afterAll(() => proxied.stop());
  const office = keys({ cidrs: ['203.0.113.0/24', '2001:db8:1::/48'] });
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } });

  test.each([
    'x-forwarded-for',
    'x-real-ip',
    'forwarded',
    'cf-connecting-ip',
    'true-client-ip',
    'x-client-ip',
  ])('are not evaded by %s where no proxy is trusted', async (header) => {
    await host.put({ keys: office });
    const value = header === 'forwarded' ? 'for=203.0.113.7' : '203.0.113.7';
    const before = await promises(host);
    const { status, body } = await ask(host, { headers: { [header]: value } });
    expect([status, body.error?.code, body.error?.data.reason]).toEqual([403, -32001, 'NETWORK_NOT_ALLOWED']);
    expect(await promises(host)).toBe(before);
  });

  test('count what the trusted proxy has seen, and not what its caller has written before it', async () => {
    await proxied.put({ keys: office });
    for (const [address, expected] of [
      ['203.0.113.7', 'sponsored'],
      ['203.0.113.7:4711', 'sponsored'],
      ['::ffff:203.0.113.7', 'sponsored'],
      ['2001:db8:1:2::3', 'sponsored'],
      ['[2001:db8:1::1]:443', 'sponsored'],
      ['198.51.100.1', 'NETWORK_NOT_ALLOWED'],
      ['203.0.113.7, 198.51.100.1', 'NETWORK_NOT_ALLOWED'],
      ['2001:db8:2::1', 'NETWORK_NOT_ALLOWED'],
      ['64:ff9b::203.0.113.7', 'NETWORK_NOT_ALLOWED'],
      ['203.0.113.7/32', 'NETWORK_NOT_ALLOWED'],
      ['203.0.113.07', 'NETWORK_NOT_ALLOWED'],
      ['unknown', 'NETWORK_NOT_ALLOWED'],
      ['', 'NETWORK_NOT_ALLOWED'],
    ] as const)
      expect([address, outcomeOf(await ask(proxied, from(address)))]).toEqual([address, expected]);
  });

  test('bind their key alone, and every method of it', async () => {
    await host.put({ keys: office });
    expect(outcomeOf(await ask(host, { key: someApiKey }))).toBe('sponsored');
    for (const method of ['pm_supportedEntryPoints', 'pm_explainSponsorship', 'no_such_method'])
      expect(outcomeOf(await ask(host, { method }))).toBe('NETWORK_NOT_ALLOWED');
  });

  test.each([
    { name: 'an empty list', cidrs: [] },
    { name: 'texts that are no networks', cidrs: ['127.0.0.1', '127.0.0.0/99', 'localhost/8', ':::/0'] },
  ])('that are $name admit nobody', async ({ cidrs }) => {
    await host.put({ keys: keys({ cidrs }) });
    expect(outcomeOf(await ask(host))).toBe('NETWORK_NOT_ALLOWED');
    await host.put({ keys: keys({ cidrs: [...cidrs, '127.0.0.0/8'] }) });
    expect(outcomeOf(await ask(host))).toBe('sponsored');
  });

  test('the refusal shows the name of the key and nothing of the key itself', async () => {
    await host.put({ keys: keys({ cidrs: [] }) });
    const { text } = await ask(host);
    expect(text).toContain('web');
    expect(text).not.toContain(webKey.slice(0, 9));
    expect(text).not.toContain(sha256(webKey).slice(0, 8));
  });
});
