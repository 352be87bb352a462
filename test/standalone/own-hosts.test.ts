import { expect, test } from '@jest/globals';
import { createOwnHosts } from '../../standalone/own-hosts.js';

// A page of another site can make its own name point to 127.0.0.1, and then reads what this machine answers to that name.

const own = createOwnHosts('127.0.0.1');
const everywhere = createOwnHosts('0.0.0.0');
const named = createOwnHosts('dev.example.org');

test.each([
  'localhost',
  'LOCALHOST.',
  'localhost:8080',
  '127.0.0.1:8080',
  '127.0.0.2',
  '[::1]:8080',
  undefined,
])('%s is this machine, whatever HOST is', (host) => {
  for (const isOwn of [own, everywhere, named]) expect(isOwn(host)).toBe(true);
});

test.each([
  'evil.example',
  'evil.example:8080',
  'localhost.evil.example',
  '127.0.0.1.evil.example',
  'x@localhost',
  '',
])('"%s" is another host, whatever HOST is', (host) => {
  for (const isOwn of [own, everywhere, named]) expect(isOwn(host)).toBe(false);
});

test('the name of HOST is this machine; where HOST is every address, so are any address and the name of a container', () => {
  expect([named('dev.example.org:80'), own('dev.example.org')]).toEqual([true, false]);
  for (const host of ['192.0.2.7:8080', '[2001:db8::1]', 'paymaster:8080', 'host.docker.internal:8080'])
    expect([everywhere(host), own(host)]).toEqual([true, false]);
});
