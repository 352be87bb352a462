import { BlockList, isIP } from 'node:net';

/**
 * Decides which addresses a request of a customer's making may reach: public unicast only. IPv4 is a list of what is
 * not public; IPv6 is the reverse, only 2000::/3 is handed out at all, which leaves out loopback, link-local, unique
 * local, IPv4-mapped, NAT64 (64:ff9b::/96) and multicast without naming them.
 */
export type AddressGuard = {
  /** `address` is a literal without brackets or zone; anything else is not allowed. */
  isAllowed(address: string): boolean;
};

/**
 * `allowLoopback` permits 127.0.0.0/8 and ::1, for a machine where the webhook host runs beside the service.
 * `allowNetworks` are CIDR ranges that the platform vouches for, e.g. the service range of its own cluster.
 * A malformed range throws RangeError naming it.
 */
export function createAddressGuard(
  options: { readonly allowLoopback?: boolean; readonly allowNetworks?: readonly string[] } = {},
): AddressGuard {
  const privateV4 = listOf(privateV4Networks);
  const publicV6 = listOf(['2000::/3']);
  const specialV6 = listOf(specialV6Networks);
  const allowed = listOf([
    ...(options.allowLoopback === true ? ['127.0.0.0/8', '::1/128'] : []),
    ...(options.allowNetworks ?? []),
  ]);

  return {
    isAllowed(address) {
      switch (isIP(address)) {
        case 4:
          return allowed.check(address, 'ipv4') || !privateV4.check(address, 'ipv4');
        case 6:
          // A mapped address is refused even where its IPv4 form would pass: BlockList would look through it.
          if (isMapped(address)) return false;
          if (allowed.check(address, 'ipv6')) return true;
          return publicV6.check(address, 'ipv6') && !specialV6.check(address, 'ipv6');
        default:
          return false;
      }
    },
  };
}

const privateV4Networks = [
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

// Inside 2000::/3, but not a host of its own: protocol assignments with Teredo (2001::/32), documentation, 6to4.
const specialV6Networks = ['2001::/23', '2001:db8::/32', '2002::/16', '2620:4f:8000::/48', '3fff::/20'];

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/');
    const family = isIP(address);
    if (family === 0 || !/^\d{1,3}$/.test(prefix) || Number(prefix) > (family === 4 ? 32 : 128)) {
      throw new RangeError(`a network must be a CIDR range such as "10.96.0.0/12", got "${network}"`);
    }
    list.addSubnet(address, Number(prefix), family === 4 ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** ::ffff:0:0/96 in any spelling; the URL parser gives the canonical one. */
function isMapped(address: string): boolean {
  return new URL(`http://[${address}]/`).hostname.startsWith('[::ffff:');
}
