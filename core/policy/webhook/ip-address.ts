/**
 * An address as a number of 32 or 128 bits, so that testing whether it is in a network takes one shift and one
 * comparison.
 */
export type IpAddress = { readonly family: 4 | 6; readonly value: bigint };

/** The addresses that share the first `prefix` bits with `address`. */
export type IpNetwork = { readonly address: IpAddress; readonly prefix: number };

/**
 * Parses a literal as resolvers and sockets write it: dotted decimal without leading zeros, or IPv6 in any spelling
 * without brackets and zone. Undefined for everything else. The URL parser handles the odd IPv4 forms (octal, hex,
 * short).
 */
export function parseIp(text: string): IpAddress | undefined {
  if (text.includes(':')) {
    const value = parseV6(text);
    return value === undefined ? undefined : { family: 6, value };
  }
  const value = parseV4(text);
  return value === undefined ? undefined : { family: 4, value };
}

/** Parses CIDR notation. Throws RangeError, which quotes the text, when it is not valid. */
export function parseNetwork(text: string): IpNetwork {
  const [literal = '', prefix = '', ...rest] = text.split('/');
  const address = parseIp(literal);
  const isPrefix = /^\d{1,3}$/.test(prefix) && Number(prefix) <= bitsOf(address?.family ?? 4);
  if (address === undefined || !isPrefix || rest.length > 0) {
    throw new RangeError(`a network must be a CIDR range such as "10.96.0.0/12", got "${text}"`);
  }
  return { address, prefix: Number(prefix) };
}

export function isInNetwork({ family, value }: IpAddress, { address, prefix }: IpNetwork): boolean {
  const shift = BigInt(bitsOf(family) - prefix);
  return family === address.family && value >> shift === address.value >> shift;
}

function bitsOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

function parseV4(text: string): bigint | undefined {
  const parts = text.split('.');
  const isDotted = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part));
  if (!isDotted || parts.some((part) => Number(part) > 255)) return undefined;
  return parts.reduce((value, part) => (value << 8n) | BigInt(part), 0n);
}

function parseV6(text: string): bigint | undefined {
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = parseGroups(halves[0] ?? '', halves.length === 1);
  const tail = halves.length === 2 ? parseGroups(halves[1] ?? '', true) : [];
  if (head === undefined || tail === undefined) return undefined;

  const missing = 8 - head.length - tail.length;
  // `::` replaces at least one group; without it all eight groups must be written.
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  const groups = [...head, ...Array<bigint>(missing).fill(0n), ...tail];
  return groups.reduce((value, group) => (value << 16n) | group, 0n);
}

/** 16-bit groups; the last two may be written as an IPv4 address where they end the text. */
function parseGroups(text: string, isEnd: boolean): bigint[] | undefined {
  if (text === '') return [];
  const parts = text.split(':');
  const groups: bigint[] = [];
  for (const [index, part] of parts.entries()) {
    if (part.includes('.') && isEnd && index === parts.length - 1) {
      const v4 = parseV4(part);
      if (v4 === undefined) return undefined;
      groups.push(v4 >> 16n, v4 & 0xffffn);
    } else if (/^[0-9a-f]{1,4}$/i.test(part)) {
      groups.push(BigInt(`0x${part}`));
    } else {
      return undefined;
    }
  }
  return groups;
}
