import { describe, expect, test } from '@jest/globals';
import { parseNetwork } from '../../core/policy/webhook/ip-address.js';
import { createOwnHosts, createPublicHost, type Misdirected } from '../../standalone/own-hosts.js';

// A page of another site can make its own name point to 127.0.0.1, and then reads what this machine answers to that name.

const named = (misdirected: Misdirected) => (host: string | undefined) =>
  misdirected({ headers: host === undefined ? {} : { host }, socket: {} as never }) === undefined;
const own = named(createOwnHosts('127.0.0.1'));
const everywhere = named(createOwnHosts('0.0.0.0'));
const byName = named(createOwnHosts('dev.example.org'));

test.each([
  'localhost',
  'LOCALHOST.',
  'localhost:8080',
  '127.0.0.1:8080',
  '127.0.0.2',
  '[::1]:8080',
  undefined,
])('%s is this machine, whatever HOST is', (host) => {
  for (const isOwn of [own, everywhere, byName]) expect(isOwn(host)).toBe(true);
});

test.each([
  'evil.example',
  'evil.example:8080',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'x@localhost',
  '',
])('"%s" is another host, whatever HOST is', (host) => {
  for (const isOwn of [own, everywhere, byName]) expect(isOwn(host)).toBe(false);
});

test('the name of HOST is this machine; where HOST is every address, so are any address and the name of a container', () => {
  expect([byName('dev.example.org:80'), own('dev.example.org')]).toEqual([true, false]);
  for (const host of ['192.0.2.7:8080', '[2001:db8::1]', 'paymaster:8080', 'host.docker.internal:8080'])
    expect([everywhere(host), own(host)]).toEqual([true, false]);
});

describe('behind a proxy that ends TLS', () => {
  const misdirected = createPublicHost({
    listened: '0.0.0.0',
    publicUrl: 'https://pay.example.org',
    proxies: [parseNetwork('172.30.0.2/32'), parseNetwork('127.0.0.1/32')],
  });
  const proxy = '172.30.0.2';
  const visitor = '203.0.113.9';
  const container = '172.30.0.3';
  const https = { 'x-forwarded-for': visitor, 'x-forwarded-proto': 'https' };

  test.each([
    { name: 'a visitor through the proxy', peer: proxy, headers: { host: 'pay.example.org', ...https } },
    {
      name: 'the same where the socket is one of IPv6',
      peer: `::ffff:${proxy}`,
      headers: { host: 'PAY.example.org', ...https },
    },
    { name: 'a proxy on this machine', peer: '127.0.0.1', headers: { host: 'pay.example.org', ...https } },
    { name: 'a program on this machine', peer: '127.0.0.1', headers: { host: 'localhost:8080' } },
    {
      name: 'a page of this machine',
      peer: '127.0.0.1',
      headers: { host: '127.0.0.1:8080', origin: 'http://localhost:3000' },
    },
    {
      name: 'the process itself, by the address on which it listens',
      peer: container,
      headers: { host: '0.0.0.0:8080' },
    },
  ])('$name is answered', ({ peer, headers }) => {
    expect(
      misdirected({ headers, socket: { remoteAddress: peer, localAddress: container } }),
    ).toBeUndefined();
  });

  test.each([
    { name: 'a person at the port itself', peer: visitor, headers: { host: '198.51.100.1:8080' } },
    {
      name: 'a person at the port itself, by the public name',
      peer: visitor,
      headers: { host: 'pay.example.org' },
    },
    {
      name: 'a program at the port itself that says that it came over TLS',
      peer: visitor,
      headers: { host: 'pay.example.org', ...https },
    },
    {
      name: 'a program at the port itself that chooses its address alone',
      peer: visitor,
      headers: { host: 'localhost', 'x-forwarded-for': '127.0.0.1' },
    },
    {
      name: 'a program at the port itself that names this machine',
      peer: visitor,
      headers: { host: 'localhost' },
    },
    {
      name: 'a neighbour in the network of the containers',
      peer: '172.30.0.4',
      headers: { host: 'pay.example.org', ...https },
    },
    {
      name: 'a visitor without TLS',
      peer: proxy,
      headers: { host: 'pay.example.org', ...https, 'x-forwarded-proto': 'http' },
    },
    {
      name: 'a visitor whose own header the proxy did not remove',
      peer: proxy,
      headers: { host: 'pay.example.org', ...https, 'x-forwarded-proto': 'https, http' },
    },
    {
      name: 'a proxy that says nothing of TLS',
      peer: proxy,
      headers: { host: 'pay.example.org', 'x-forwarded-for': visitor },
    },
    { name: 'a visitor who names this machine', peer: proxy, headers: { host: 'localhost:8080', ...https } },
    { name: 'a visitor of another name', peer: proxy, headers: { host: 'evil.example', ...https } },
    {
      name: 'a page of another site in a browser on this machine',
      peer: '127.0.0.1',
      headers: { host: 'evil.example' },
    },
    {
      name: 'a port forwarder that shows every visitor as this machine',
      peer: '127.0.0.1',
      headers: { host: '198.51.100.1:8080' },
    },
    {
      name: 'a page over a proxy that says for nobody that it asks, as nginx does when it is not told',
      peer: '127.0.0.1',
      headers: { host: '127.0.0.1:8080', origin: 'http://pay.example.org' },
    },
    {
      name: 'what a proxy shows as its own',
      peer: '127.0.0.1',
      headers: { host: '127.0.0.1:8080', 'x-real-ip': visitor },
    },
    { name: 'a request without a host', peer: '127.0.0.1', headers: {} },
  ])('$name is not', ({ peer, headers }) => {
    expect(misdirected({ headers, socket: { remoteAddress: peer, localAddress: container } })).toContain(
      'use https://pay.example.org',
    );
  });
});
