import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { isIP } from 'node:net';
import { parseIp } from '../../core/policy/webhook/ip-address.js';
import { createAddressGuard } from '../../core/policy/webhook/public-address.js';
import { judgeWebhookUrl } from '../../core/policy/webhook/webhook-url.js';
import { hostileByAddress, hostileByText, legalUrls } from './ssrf-corpus.js';

describe('a webhook URL is judged by its text when it is stored', () => {
  test.each(hostileByText)('$# $why is refused', ({ url }) => {
    expect(judgeWebhookUrl(url)).toEqual({
      field: 'url',
      expected: expect.stringMatching(/URL/),
      value: expect.any(String),
    });
  });

  test.each(legalUrls)('%s is accepted', (url) => {
    expect(judgeWebhookUrl(url)).toBeUndefined();
  });

  test('the problem names the field, what is expected and the value without its secrets', () => {
    expect(judgeWebhookUrl('http://hooks.example.com/check?key=s3cret', {}, 'policyData.url')).toEqual({
      field: 'policyData.url',
      expected: 'an https URL',
      value: '"http://hooks.example.com/check"',
    });
    expect(judgeWebhookUrl('https://me:s3cret@hooks.example.com/')?.value).not.toContain('s3cret');
  });
});

describe('what the platform permits', () => {
  test.each([
    'http://localhost:3000/',
    'http://127.0.0.1:9/x',
    'http://[::1]:3000/',
    'https://app.localhost/',
  ])('loopback and http: %s', (url) => {
    expect(judgeWebhookUrl(url, { allowHttp: true, allowLoopback: true })).toBeUndefined();
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
    expect(judgeWebhookUrl(url, { allowHttp: true, allowLoopback: true })).toBeDefined();
  });

  test('a range of its own cluster, and the names inside it', () => {
    const rules = { allowHttp: true, allowNetworks: ['10.96.0.0/12'], ports: [8080] };
    expect(judgeWebhookUrl('http://10.96.3.4:8080/', rules)).toBeUndefined();
    expect(judgeWebhookUrl('http://hooks.shop.svc.cluster.local:8080/', rules)).toBeUndefined();
    expect(judgeWebhookUrl('http://10.112.0.1:8080/', rules)).toBeDefined();
    expect(judgeWebhookUrl('http://localhost:8080/', rules)).toBeDefined();
  });

  test('a malformed range is an error that quotes it', () => {
    expect(() => createAddressGuard({ allowNetworks: ['10.0.0.0'] })).toThrow(/"10\.0\.0\.0"/);
    expect(() => createAddressGuard({ allowNetworks: ['10.0.0.0/33'] })).toThrow(RangeError);
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

describe('address literals', () => {
  const v4 = fc.ipV4();
  const v6 = fc.ipV6();
  const nearly = fc
    .tuple(fc.oneof(v4, v6), fc.nat(40), fc.constantFrom('', ':', '.', '0', 'f', '::', '256', 'g', '%1', ' '))
    .map(([text, at, insert]) => text.slice(0, at) + insert + text.slice(at + 1));

  test('are told from other text as the runtime does', () => {
    fc.assert(
      fc.property(fc.oneof(v4, v6, nearly, fc.string()), (text) => {
        fc.pre(!text.includes('%'));
        expect(parseIp(text)?.family ?? 0).toBe(isIP(text));
      }),
      { numRuns: 5000 },
    );
  });

  test('have one value in every spelling', () => {
    fc.assert(
      fc.property(v6, (text) => {
        const canonical = new URL(`http://[${text}]/`).hostname.slice(1, -1);
        expect(parseIp(text)).toEqual(parseIp(canonical));
      }),
      { numRuns: 1000 },
    );
  });
});
