import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

/**
 * Who calls, for limits: see {@link countedAddress}. Each trusted proxy has appended the address that it saw, so the client's address is that
 * many entries from the end.
 */
export function clientAddress(request: IncomingMessage, trustedProxies: number): string {
  return countedAddress(callerAddress(request, trustedProxies));
}

/** The whole address of the caller, IPv4 without its IPv6 form: to compare with networks. */
export function callerAddress(request: IncomingMessage, trustedProxies: number): string {
  const peer = request.socket.remoteAddress ?? '';
  const forwarded = single(request.headers['x-forwarded-for'])?.split(',') ?? [];
  return bareAddress((trustedProxies > 0 && forwarded.at(-trustedProxies)?.trim()) || peer);
}

function bareAddress(address: string): string {
  if (isIPv4(address)) return address;
  // Some proxies append the port.
  const [bare = ''] = address.replace(/^\[(.*)\](:\d+)?$|^([\d.]+):\d+$/, '$1$3').split('%');
  return isIPv6(bare) && /^::ffff:\d+\./i.test(bare) ? bare.slice(7) : bare;
}

/** Beginnings of IPv6 addresses that hold an IPv4 address: mapped (RFC 4291), and of NAT64 (RFC 6052). */
const holdIpv4 = ['0:0:0:0:0:ffff:', '64:ff9b:0:0:0:0:'];

/**
 * What an address counts as: an IPv4 address, also one inside of an IPv6 address, as itself; IPv6 by its first 64 bits, since the owner
 * of one address has all below them. Any other text, such as a name that a proxy made up, as itself.
 */
export function countedAddress(address: string): string {
  const bare = bareAddress(address);
  if (!isIPv6(bare)) return bare;
  const groups = parseGroups(bare);
  const text = groups.map((group) => group.toString(16)).join(':');
  if (!holdIpv4.some((beginning) => text.startsWith(beginning)))
    return `${text.split(':').slice(0, 4).join(':')}::/64`;
  return groups
    .slice(6)
    .flatMap((group) => [group >> 8, group & 0xff])
    .join('.');
}

/** The eight numbers of an IPv6 address in any spelling. */
function parseGroups(address: string): readonly number[] {
  const { hostname } = new URL(`http://[${address}]`);
  const [before = [], after = []] = hostname
    .slice(1, -1)
    .split('::')
    .map((half) => half.split(':').filter((group) => group !== ''));
  const left = 8 - before.length - after.length;
  return [...before, ...Array.from({ length: left }, () => '0'), ...after].map((group) =>
    Number.parseInt(group, 16),
  );
}

export function single(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : header?.[0];
}
