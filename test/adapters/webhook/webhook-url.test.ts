import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { parsePrivateHosts, readWebhookRules } from '../../../core/policy/webhook/private-hosts.js';
import { createAddressGuard, createNetworkGuard } from '../../../core/policy/webhook/public-address.js';
import { checkWebhookUrl } from '../../../core/policy/webhook/webhook-url.js';
import { Settings } from '../../../core/settings.js';
import {
  besideListed,
  besideListedAddresses,
  hostileByAddress,
  hostileByText,
  legalUrls,
  listedHost,
  listedUrls,
} from './ssrf-corpus.js';

describe('a webhook URL is judged by its text when it is stored', () => {
  test.each(hostileByText)('$# $why is refused', ({ url }) => {
    expect(checkWebhookUrl(url)).toEqual({
      field: 'url',
      expected: expect.stringMatching(/URL/),
      value: expect.any(String),
    });
  });

  test.each(legalUrls)('%s is accepted', (url) => {
    expect(checkWebhookUrl(url)).toBeUndefined();
  });

  test('the problem names the field, what is expected and the value without its secrets', () => {
    expect(checkWebhookUrl('http://hooks.example.com/check?key=s3cret', {}, 'policyData.url')).toEqual({
      field: 'policyData.url',
      expected: 'an https URL',
      value: '"http://hooks.example.com/check"',
    });
    expect(checkWebhookUrl('https://me:s3cret@hooks.example.com/')?.value).not.toContain('s3cret');
  });
});

describe('what the platform permits', () => {
  test.each([
    'http://localhost:3000/',
    'http://127.0.0.1:9/x',
    'http://[::1]:3000/',
    'https://app.localhost/',
  ])('loopback and http: %s', (url) => {
    expect(checkWebhookUrl(url, { allowHttp: true, allowLoopback: true })).toBeUndefined();
  });

  test.each([
    'http://10.0.0.1/',
    'http://169.254.169.254/',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0:3000/',
    'http://hooks.example.com:3000/',
    'http://user@localhost/',
    'ftp://localhost/',
  ])('never more than that: %s', (url) => {
    expect(checkWebhookUrl(url, { allowHttp: true, allowLoopback: true })).toBeDefined();
  });

  const listed = { privateHosts: [listedHost] };
  test.each(listedUrls)('a host of the same cluster that the platform lists: %s', (url) => {
    expect(checkWebhookUrl(url, listed)).toBeUndefined();
    expect(checkWebhookUrl(url)).toBeDefined();
  });

  test.each([...besideListed, ...hostileByText])('and only that: $# $why', ({ url }) => {
    expect(checkWebhookUrl(url, listed)).toBeDefined();
  });

  test.each(legalUrls)('and %s as before', (url) => {
    expect(checkWebhookUrl(url, listed)).toBeUndefined();
  });
});

describe('the list of private hosts', () => {
  test('has an origin and its ranges in each entry', () => {
    const { origin, networks } = listedHost;
    const text = ` ${origin}/=${networks.join(',')}\n https://KYC.shop.svc.cluster.local=10.0.0.7/32 `;
    expect(parsePrivateHosts(text)).toEqual([
      { origin, networks },
      { origin: 'https://kyc.shop.svc.cluster.local', networks: ['10.0.0.7/32'] },
    ]);
    expect(parsePrivateHosts('  ')).toEqual([]);
  });

  const ofHost = (networks: string) => `http://hooks.shop.svc=${networks}`;
  test.each([
    { entry: 'http://hooks.shop.svc', why: 'no range' },
    { entry: 'http://hooks.shop.svc=', why: 'no range' },
    { entry: ofHost('10.0.0.1'), why: 'no CIDR' },
    { entry: ofHost('10.0.0.0/33'), why: 'no CIDR' },
    { entry: 'hooks.shop.svc=10.0.0.0/8', why: 'no scheme' },
    { entry: 'ftp://hooks.shop.svc=10.0.0.0/8', why: 'another scheme' },
    { entry: 'http://hooks=10.0.0.0/8', why: 'a single label' },
    { entry: 'http://hooks.shop.svc.=10.0.0.0/8', why: 'a trailing dot' },
    { entry: 'http://hooks.shop.svc/path=10.0.0.0/8', why: 'a path' },
    { entry: 'http://user@hooks.shop.svc=10.0.0.0/8', why: 'a user name' },
    { entry: 'http://*.shop.svc=10.0.0.0/8', why: 'a pattern' },
    { entry: 'http://10.0.0.1:8080=10.0.0.0/8', why: 'an address' },
    { entry: 'http://[fd10::1]=fd10::/16', why: 'an address' },
    { entry: 'http://app.localhost=10.0.0.0/8', why: 'this machine' },
    { entry: ofHost('0.0.0.0/0'), why: 'everything' },
    { entry: ofHost('::/0'), why: 'everything' },
    { entry: ofHost('127.0.0.1/32'), why: 'loopback' },
    { entry: ofHost('::1/128'), why: 'loopback' },
    { entry: ofHost('::ffff:10.0.0.0/104'), why: 'IPv4 in another form' },
    { entry: ofHost('10.0.0.0/8,169.254.169.254/32'), why: 'the metadata service' },
    { entry: ofHost('168.0.0.0/6'), why: 'the metadata service inside' },
    { entry: ofHost('fd00::/8'), why: 'the metadata service inside' },
    { entry: ofHost('fe80::/64'), why: 'link-local' },
  ])('refuses $why: $entry', ({ entry }) => {
    const settings = new Settings({ PAYMASTER_WEBHOOK_PRIVATE_HOSTS: entry });
    const rules = readWebhookRules(settings);
    expect(rules.privateHosts).toBeUndefined();
    expect(() => settings.finish({})).toThrow(/^PAYMASTER_WEBHOOK_PRIVATE_HOSTS must be .*got "/);
  });
});

describe('addresses', () => {
  const guard = createAddressGuard();

  test.each(hostileByAddress)('$host is not allowed by what it resolves to', ({ addresses }) => {
    expect(addresses.length > 0 && addresses.every((address) => guard.isAllowed(address))).toBe(false);
  });

  test.each([
    '8.8.8.8',
    '93.184.216.34',
    '2606:4700:4700::1111',
    '2a00:1450:4001::1',
    '172.32.0.1',
    '100.128.0.1',
  ])('the public address %s is allowed', (address) => {
    expect(guard.isAllowed(address)).toBe(true);
  });

  test('loopback is allowed where asked for, and only loopback', () => {
    const local = createAddressGuard({ allowLoopback: true });
    expect(['127.0.0.1', '127.9.9.9', '::1'].every((address) => local.isAllowed(address))).toBe(true);
    expect(
      ['10.0.0.1', '0.0.0.0', '::', '::ffff:127.0.0.1'].some((address) => local.isAllowed(address)),
    ).toBe(false);
  });
});

describe('addresses of a listed host', () => {
  const guard = createNetworkGuard(listedHost.networks);

  test.each(besideListedAddresses.map((addresses) => ({ addresses })))(
    'are not $addresses',
    ({ addresses }) => {
      expect(addresses.length > 0 && addresses.every((address) => guard.isAllowed(address))).toBe(false);
    },
  );

  test('are those of its ranges', () => {
    expect(['10.96.0.0', '10.111.255.255', 'fd10::7'].every((address) => guard.isAllowed(address))).toBe(
      true,
    );
  });

  test('a malformed range is an error that quotes it', () => {
    expect(() => createNetworkGuard(['10.0.0.0'])).toThrow(/"10\.0\.0\.0"/);
    expect(() => createNetworkGuard(['10.0.0.0/33'])).toThrow(RangeError);
  });
});

describe('address literals', () => {
  test('are in a range when their first bits are those of the range', () => {
    const bitsOf = (text: string): string =>
      text
        .split('.')
        .map((part) => Number(part).toString(2).padStart(8, '0'))
        .join('');
    fc.assert(
      fc.property(fc.ipV4(), fc.ipV4(), fc.integer({ min: 0, max: 32 }), (address, network, prefix) => {
        const isInside = bitsOf(address).slice(0, prefix) === bitsOf(network).slice(0, prefix);
        expect(createNetworkGuard([`${network}/${prefix}`]).isAllowed(address)).toBe(isInside);
      }),
      { numRuns: 2000 },
    );
  });

  test('are the same address in every spelling', () => {
    fc.assert(
      fc.property(fc.ipV6(), (text) => {
        const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
        expect(createNetworkGuard([`${text}/128`]).isAllowed(canonical)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    {
      address: '::ffff:10.0.0.1',
      network: '10.0.0.0/8',
      why: 'an IPv4-mapped address is of the other family',
    },
    { address: '10.0.0.1', network: '::ffff:0:0/96', why: 'and so is its IPv4 form' },
    { address: 'fe80::1%eth0', network: 'fe80::/10', why: 'a zone names a link, not an address' },
    { address: '[::1]', network: '::1/128', why: 'brackets belong to URLs' },
    { address: '010.0.0.1', network: '10.0.0.0/8', why: 'a leading zero may mean octal' },
    { address: '', network: '0.0.0.0/0', why: 'an empty text is not an address' },
  ])('$address is not in $network: $why', ({ address, network }) => {
    expect(createNetworkGuard([network]).isAllowed(address)).toBe(false);
  });
});
