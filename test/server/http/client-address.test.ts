import { expect, test } from '@jest/globals';
import { countedAddress } from '../../../server/http/client-address.js';

// Limits for each client count what one client has: a whole network of IPv6, and one address of IPv4 however it is written.

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::FFFF:c000:201', '192.0.2.1'],
  ['0:0:0:0:0:ffff:192.0.2.1', '192.0.2.1'],
  ['64:ff9b::192.0.2.1', '192.0.2.1'],
  ['64:ff9b::c000:0201', '192.0.2.1'],
  ['2001:db8:1:2::3', '2001:db8:1:2::/64'],
  ['2001:0DB8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2::/64'],
  ['2001:db8:1:3::3', '2001:db8:1:3::/64'],
  ['64:ff9b:1::1', '64:ff9b:1:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['::', '0:0:0:0::/64'],
  ['', ''],
  ['unknown', 'unknown'],
  ['[2001:db8::1]', '2001:db8:0:0::/64'],
  ['[2001:db8::1]:443', '2001:db8:0:0::/64'],
  ['192.0.2.1:443', '192.0.2.1'],
])('%s counts as %s', (address, client) => {
  expect(countedAddress(address)).toBe(client);
});
