import { isIP } from 'node:net';
import { hostname } from 'node:os';

/**
 * Whether a request's header Host names this machine as people do who run it here: by a loopback name, by what HOST says, and where that
 * is every address, by any address or the machine's name. Any other name may belong to a page that points it here (DNS rebinding).
 * Browsers always send the header.
 */
export function createOwnHosts(listened: string): (host: string | undefined) => boolean {
  const isEverywhere = ['0.0.0.0', '::'].includes(listened);
  const names = new Set([
    'localhost',
    '::1',
    bareName(listened),
    ...(isEverywhere ? [bareName(hostname())] : []),
  ]);
  return (host) => {
    if (host === undefined) return true;
    const name = bareName(host.replace(/:\d+$/, ''));
    return names.has(name) || (isIP(name) !== 0 && (isEverywhere || name.startsWith('127.')));
  };
}

function bareName(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}
