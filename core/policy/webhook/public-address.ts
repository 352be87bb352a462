import { createNetworks, findAddressFamily, parseNetwork } from './ip-address.js';

/**
 * Decides which addresses a request may reach whose target a customer chose: public unicast only. For IPv4 this is a
 * list of the ranges that are not public. For IPv6 it is the reverse: only 2000::/3 is assigned at all, which excludes loopback,
 * link-local, unique local, IPv4-mapped, NAT64 (64:ff9b::/96) and multicast without naming them.
 */
export type AddressGuard = {
  /** `address` is a literal without brackets or zone; anything else is not allowed. */
  isAllowed(address: string): boolean;
};

/** `allowLoopback` permits 127.0.0.0/8 and ::1, for a machine where the webhook host runs beside the service. */
export function createAddressGuard(options: { readonly allowLoopback?: boolean } = {}): AddressGuard {
  if (options.allowLoopback !== true) return { isAllowed: isPublic };
  return { isAllowed: (address) => isLoopback(address) || isPublic(address) };
}

/** Permits these CIDR ranges and nothing else, public or not. A malformed range throws RangeError naming it. */
export function createNetworkGuard(networks: readonly string[]): AddressGuard {
  return { isAllowed: createNetworks(networks.map(parseNetwork)) };
}

function isPublic(address: string): boolean {
  return (findAddressFamily(address) === 'ipv4' || isAssignedV6(address)) && !isSpecial(address);
}

const isLoopback = createNetworks(['127.0.0.0/8', '::1/128'].map(parseNetwork));

const isAssignedV6 = createNetworks([parseNetwork('2000::/3')]);

const specialV4 = [
  '0.0.0.0/8', // this host
  '10.0.0.0/8',
  '100.64.0.0/10', // carrier-grade NAT; also one cloud's metadata service
  '127.0.0.0/8',
  '168.63.129.16/32', // a cloud's host agent on an address that looks public
  '169.254.0.0/16', // link-local; the metadata service of most clouds
  '172.16.0.0/12',
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.31.196.0/24', // AS112
  '192.52.193.0/24', // AMT
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16',
  '192.175.48.0/24', // AS112
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
];

// Inside 2000::/3, but not ordinary hosts: protocol assignments with Teredo (2001::/32), documentation, 6to4.
const specialV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

const isSpecial = createNetworks([...specialV4, ...specialV6].map(parseNetwork));
