import { BlockList, isIP } from 'node:net';

type Family = 'ipv4' | 'ipv6';

/** The addresses that share the first `prefix` bits with `address`. */
export type IpNetwork = { readonly address: string; readonly family: Family; readonly prefix: number };

/**
 * The family of a literal as resolvers and sockets write it: dotted decimal without leading zeros, or IPv6 in any
 * spelling without brackets and zone. Undefined for everything else. The URL parser handles the odd IPv4 forms (octal,
 * hex, short).
 */
export function findAddressFamily(text: string): Family | undefined {
  const family = text.includes('%') ? 0 : isIP(text);
  return family === 0 ? undefined : family === 4 ? 'ipv4' : 'ipv6';
}

/** Parses CIDR notation. Throws RangeError, which quotes the text, when it is not valid. */
export function parseNetwork(text: string): IpNetwork {
  const [address = '', prefix = '', ...rest] = text.split('/');
  const family = findAddressFamily(address);
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 'ipv6' ? 128 : 32);
  if (family === undefined || !isPrefix || rest.length > 0) {
    throw new RangeError(`a network must be a CIDR range such as "10.96.0.0/12", got "${text}"`);
  }
  return { address, family, prefix: Number(prefix) };
}

/** Answers whether an address is in one of the networks; false for a text that is not an address. */
export function createNetworks(networks: readonly IpNetwork[]): (address: string) => boolean {
  // A list for each family: Node compares an IPv4-mapped address with IPv4 networks too, and no guard should.
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() };
  for (const { address, family, prefix } of networks) lists[family].addSubnet(address, prefix, family);
  return (address) => {
    const family = findAddressFamily(address);
    return family !== undefined && lists[family].check(address, family);
  };
}
