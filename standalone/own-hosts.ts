import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { createNetworks, type IpNetwork } from '../core/policy/webhook/ip-address.js';
import { isLoopbackHost } from '../core/policy/webhook/webhook-url.js';
import { single } from '../server/http/client-address.js';

export type Request = Pick<IncomingMessage, 'headers'> & {
  readonly socket: Pick<IncomingMessage['socket'], 'remoteAddress' | 'localAddress'>;
};

/** Why a request is not answered, for the person who sent it; undefined: it is. */
export type Misdirected = (request: Request) => string | undefined;

/**
 * Whether a request's header Host names this machine as people do who run it here: by a loopback name, by what HOST says, and where that
 * is every address, as in a container, by any address or a name without dots, which nobody can register. Any other name may belong to a
 * page that points it here (DNS rebinding). Browsers always send the header.
 */
export function createOwnHosts(listened: string): Misdirected {
  const isEverywhere = ['0.0.0.0', '::'].includes(listened);
  const names = new Set(['localhost', '::1', bareName(listened)]);
  const isOwn = (host: string | undefined): boolean => {
    if (host === undefined) return true;
    const name = nameOfHost(host);
    if (names.has(name)) return true;
    if (isIP(name) !== 0) return isEverywhere || name.startsWith('127.');
    return isEverywhere && (/^[a-z0-9_-]+$/.test(name) || name === 'host.docker.internal');
  };
  return ({ headers }) =>
    isOwn(headers.host)
      ? undefined
      : 'The header Host names another host: use localhost, or the address of HOST';
}

/**
 * Behind a proxy that ends TLS. Answered is what the proxy says it took over TLS for the public name, and what this machine asks of itself.
 * What says that it was forwarded and comes from elsewhere is not: anyone who reaches this port could choose the address that limits count.
 * What says nothing and comes from elsewhere has no TLS: a person who signs in there shows everybody on the way a token.
 */
export function createPublicHost(deps: {
  readonly listened: string;
  readonly publicUrl: string;
  readonly proxies: readonly IpNetwork[];
}): Misdirected {
  const isProxy = createNetworks(deps.proxies);
  const publicHost = new URL(deps.publicUrl).host;
  const plain = `Nothing is answered here without TLS: use ${deps.publicUrl}`;
  return ({ headers, socket }) => {
    const peer = withoutMapping(socket.remoteAddress);
    const isForwarded = signsOfProxies.some((name) => name in headers);
    if (!isForwarded) {
      const isFromHere = isLoopbackHost(peer) || peer === withoutMapping(socket.localAddress);
      const name = nameOfHost(headers.host ?? '');
      const isOurName = isLoopbackHost(name) || name === bareName(deps.listened);
      return isFromHere && isOurName && isOfThisMachine(headers.origin) ? undefined : plain;
    }
    if (!isProxy(peer)) return `${plain}. PAYMASTER_PROXIES does not have ${peer}`;
    if (single(headers['x-forwarded-proto']) !== 'https') return plain;
    return headers.host?.toLowerCase() === publicHost ? undefined : plain;
  };
}

const signsOfProxies = [
  'x-forwarded-for',
  'x-forwarded-proto',
  'x-forwarded-host',
  'x-real-ip',
  'forwarded',
  'via',
];

/** A proxy on this machine that was not told to say for whom it asks looks like a program here; a page of elsewhere shows that it is not. */
function isOfThisMachine(origin: string | undefined): boolean {
  return origin === undefined || isLoopbackHost(URL.parse(origin)?.hostname ?? '');
}

/** A socket that listens for both families shows IPv4 addresses inside of IPv6 ones. */
function withoutMapping(address = ''): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function nameOfHost(host: string): string {
  return bareName(host.replace(/:\d+$/, ''));
}

function bareName(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}
