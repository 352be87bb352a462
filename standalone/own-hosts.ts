import { isIP } from 'node:net';

/**
 * Whether a request's header Host names this machine as people do who run it here: by a loopback name, by what HOST says, and where that
 * is every address, as in a container, by any address or a name without dots, which nobody can register. Any other name may belong to a
 * page that points it here (DNS rebinding). Browsers always send the header.
 */
export function createOwnHosts(listened: string): (host: string | undefined) => boolean {
  const isEverywhere = ['0.0.0.0', '::'].includes(listened);
  const names = new Set(['localhost', '::1', bareName(listened)]);
  return (host) => {
    if (host === undefined) return true;
    const name = bareName(host.replace(/:\d+$/, ''));
    if (names.has(name)) return true;
    if (isIP(name) !== 0) return isEverywhere || name.startsWith('127.');
    return isEverywhere && (/^[a-z0-9_-]+$/.test(name) || name === 'host.docker.internal');
  };
}

function bareName(host: string): string {
  return host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}
