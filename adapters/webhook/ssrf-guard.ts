import { Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { types } from 'node:util';
import { buildConnector } from 'undici';
import { pause } from '../timers.js';
import { isLoopbackName, type PrivateHost } from '../../core/policy/webhook/webhook-url.js';
import { createNetworkGuard, type AddressGuard } from '../../core/policy/webhook/public-address.js';

/**
 * Connects to hosts that customers choose, without being led to an inner address:
 * - A literal host is checked itself, because no lookup happens for it.
 * - We resolve a name ourselves, **all** its addresses must be allowed, and the socket connects to exactly those: a
 *   resolver that answers differently the second time (DNS rebinding) is never asked a second time.
 * - A name that leads to an inner address and one that does not exist are refused by the same error after the same
 *   time: anyone who names hosts must not learn which names the inner network has.
 * - The address of the connected socket is checked once more, however it was reached.
 * - A host that the platform lists is checked only against the addresses that are listed with it.
 * - TLS uses the name of the URL for SNI and certificate, is always verified, and no proxy setting is read.
 */
export function createGuardedConnector(options: ConnectorOptions): buildConnector.connector {
  const ordinary = connectorWith(options, options.guard);
  const listed = new Map(
    (options.privateHosts ?? []).map(({ origin, networks }) => [
      origin,
      connectorWith(options, createNetworkGuard(networks)),
    ]),
  );
  return (target, callback) => (listed.get(formatOrigin(target)) ?? ordinary)(target, callback);
}

type ConnectorOptions = {
  readonly guard: AddressGuard;
  readonly privateHosts?: readonly PrivateHost[];
  readonly resolve: ResolveHost;
  readonly connectTimeoutMs: number;
  /** PEM certificates to trust instead of the built-in ones. */
  readonly ca?: string;
};

function formatOrigin({ protocol, hostname, port }: buildConnector.Options): string {
  const text = `${protocol}//${hostname}${port === '' ? '' : `:${port}`}`;
  return URL.canParse(text) ? new URL(text).origin : '';
}

function connectorWith(
  { resolve, connectTimeoutMs, ca }: ConnectorOptions,
  guard: AddressGuard,
): buildConnector.connector {
  const connect = buildConnector({
    allowH2: false,
    timeout: connectTimeoutMs,
    rejectUnauthorized: true,
    autoSelectFamily: true,
    lookup: guardedLookup(guard, resolve),
    ...(ca === undefined ? {} : { ca }),
  });

  return (target, callback) => {
    const host = target.hostname.replace(/^\[|\]$/g, '');
    if (isIP(host) !== 0 && !guard.isAllowed(host)) {
      callback(new AddressRefused(), null);
      return;
    }
    connect({ ...target, hostname: host }, (...result) => {
      const [error, socket] = result;
      if (error === null && !isConnectedTo(socket.remoteAddress, guard)) {
        socket.destroy();
        callback(new AddressRefused(), null);
        return;
      }
      callback(...result);
    });
  };
}

/** All addresses of a name, as literals; none, or an error with such a code, when it has none. */
export type ResolveHost = (hostname: string) => Promise<readonly string[]>;

/**
 * Asks the DNS servers of the machine directly: with a deadline, and without its hosts file and search domains, which
 * would turn an outer name into an inner one. `localhost` is answered as RFC 6761 requires.
 */
export function createResolver(): { resolve: ResolveHost; stop(): void } {
  const resolver = new Resolver({ timeout: 1000, tries: 2 });
  return {
    async resolve(hostname) {
      if (isLoopbackName(hostname)) return ['127.0.0.1', '::1'];
      const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
      const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
      if (addresses.length > 0) return addresses;
      const failures = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
      // A server that failed may know the name another time.
      throw failures.find((failure) => !isUnknownName(failure)) ?? failures[0];
    },
    stop: () => resolver.cancel(),
  };
}

const unknownNames: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'ENODATA']);

function isUnknownName(error: unknown): boolean {
  return types.isNativeError(error) && 'code' in error && unknownNames.has(error.code);
}

/** The shortest timeout of a webhook is twice as long, and most answers of DNS servers are there by then. */
const refusalMs = 250;

/**
 * The address, or one of the addresses, may not be called, or the name has no address. It contains no address, which would reveal
 * the inner network.
 */
class AddressRefused extends Error {
  readonly code = 'ADDRESS_REFUSED';

  constructor() {
    super('the host has no address that may be called');
    this.name = 'AddressRefused';
  }
}

function guardedLookup(guard: AddressGuard, resolve: ResolveHost): LookupFunction {
  const allowedAddresses = async (hostname: string) => {
    const refusal = pause(refusalMs);
    const addresses = await resolve(hostname).catch((error: unknown) => {
      if (isUnknownName(error)) return [];
      throw error;
    });
    if (addresses.length === 0 || !addresses.every((address) => guard.isAllowed(address))) {
      await refusal;
      throw new AddressRefused();
    }
    return addresses.map((address) => ({ address, family: isIP(address) }));
  };
  return (hostname, { all }, callback) => {
    allowedAddresses(hostname).then(
      (addresses) => {
        const [first] = addresses;
        if (all === true) callback(null, addresses);
        else callback(null, first?.address ?? '', first?.family);
      },
      (error: unknown) => callback(asError(error), []),
    );
  };
}

function isConnectedTo(remoteAddress: string | undefined, guard: AddressGuard): boolean {
  // A dual-stack socket shows an IPv4 peer as ::ffff:a.b.c.d.
  return remoteAddress !== undefined && guard.isAllowed(remoteAddress.replace(/^::ffff:(?=\d+\.)/i, ''));
}

function asError(error: unknown): Error {
  return types.isNativeError(error) ? error : new Error('the host could not be resolved', { cause: error });
}
