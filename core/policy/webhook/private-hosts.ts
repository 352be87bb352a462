import { either, type Setting, type Settings } from '../../settings.js';
import { createNetworks, findAddressFamily, parseNetwork, type IpNetwork } from './ip-address.js';
import { isLoopbackName, type PrivateHost, type WebhookUrlRules } from './webhook-url.js';

/** Of every process that judges or calls webhooks. */
export const webhookSettings = {
  allowHttp: either(
    'PAYMASTER_WEBHOOK_ALLOW_HTTP',
    'Whether webhooks may use http.',
    ['true', 'false'],
    false,
  ),
  allowLoopback: either(
    'PAYMASTER_WEBHOOK_ALLOW_LOOPBACK',
    'Whether webhooks may call this machine.',
    ['true', 'false'],
    false,
  ),
  privateHosts: privateHosts('PAYMASTER_WEBHOOK_PRIVATE_HOSTS'),
};

export function readWebhookRules(settings: Settings): WebhookUrlRules {
  return settings.read(webhookSettings);
}

function privateHosts(name: string): Setting<readonly PrivateHost[] | undefined> {
  return {
    name,
    text: 'Private hosts that webhooks may call, and the networks that these may resolve to.',
    values: 'URL=CIDR,CIDR, separated by spaces',
    read(text, settings) {
      try {
        return text === undefined ? undefined : parsePrivateHosts(text);
      } catch (error) {
        if (!(error instanceof RangeError)) throw error;
        settings.mistake(name, error.message);
        return undefined;
      }
    },
  };
}

/**
 * Parses entries `URL=CIDR,CIDR` separated by spaces, e.g. `http://hooks.shop.svc.cluster.local:8080=10.96.0.0/12`.
 * Throws RangeError, which quotes the wrong entry and describes the right form.
 */
export function parsePrivateHosts(text: string): readonly PrivateHost[] {
  return text
    .split(/\s+/)
    .filter((entry) => entry !== '')
    .map((entry) => {
      const at = entry.lastIndexOf('=');
      const [url, networks] = at < 0 ? [entry, ''] : [entry.slice(0, at), entry.slice(at + 1)];
      return { origin: parseOrigin(url), networks: networks.split(',').map(parsePrivateNetwork) };
    });
}

function parseOrigin(text: string): string {
  const expected = `entries URL=CIDR,CIDR whose URL has scheme, full host name and port only, got "${text}"`;
  if (!/^https?:\/\/[^/?#@\\\s]+\/?$/i.test(text) || !URL.canParse(text)) throw new RangeError(expected);
  const { origin, hostname } = new URL(text);
  const isName = /^[\w-]+(\.[\w-]+)+$/.test(hostname) && findAddressFamily(hostname) === undefined;
  if (!isName || isLoopbackName(hostname)) throw new RangeError(expected);
  return origin;
}

function parsePrivateNetwork(text: string): string {
  const network = parseNetwork(text);
  const inside = neverAllowed.find((each) => overlap(parseNetwork(each), network));
  if (inside !== undefined)
    throw new RangeError(`entries URL=CIDR,CIDR without addresses of ${inside}, got "${text}"`);
  return text;
}

/**
 * Addresses of the machine itself, of the metadata service that hands out its credentials, and of no particular host.
 */
const neverAllowed = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '192.0.0.0/24',
  '100.100.100.200/32',
  '224.0.0.0/3',
  '::/96',
  '::ffff:0:0/96',
  '64:ff9b::/96',
  'fd00:ec2::/32',
  'fe80::/10',
  'ff00::/8',
];

function overlap(a: IpNetwork, b: IpNetwork): boolean {
  return createNetworks([a])(b.address) || createNetworks([b])(a.address);
}
