import { quote, type Problem } from '../../errors.js';
import { findAddressFamily } from './ip-address.js';
import { createAddressGuard } from './public-address.js';

/**
 * A host inside the platform's own network that webhooks may use, with exactly this scheme, name and port. At each
 * connection every address to which the name resolves must be in `networks`.
 */
export type PrivateHost = {
  /** As `URL.origin` writes it, e.g. `http://hooks.shop.svc.cluster.local:8080`. */
  readonly origin: string;
  /** CIDR ranges. */
  readonly networks: readonly string[];
};

/** What the platform permits besides public https hosts; everything is off by default. */
export type WebhookUrlRules = {
  /** Permits plain http too. For a development machine or a trusted network. */
  readonly allowHttp?: boolean;
  /** `localhost`, 127.0.0.0/8 and ::1, on any port. */
  readonly allowLoopback?: boolean;
  /** Permits these hosts of the platform's own network. */
  readonly privateHosts?: readonly PrivateHost[];
  /** Ports that webhooks may use. Default 443 and 8443, with http also 80 and 8080. */
  readonly ports?: readonly number[];
};

/**
 * Judges the text of a webhook URL when it is stored; its addresses are judged again at each connection. Undefined
 * means acceptable. `field` is the name to report, default `url`.
 */
export function checkWebhookUrl(
  url: string,
  rules: WebhookUrlRules = {},
  field = 'url',
): Problem | undefined {
  const expected = findFault(url, rules);
  return expected === undefined ? undefined : { field, expected, value: quoteWithoutSecrets(url) };
}

const maxUrlLength = 2048;
// The URL parser drops tabs and line breaks and reads a backslash as a slash, so the URL that is called would differ
// from the one that people see.
const misleadingCharacters = /[^\u0021-\u005b\u005d-\u007e\u0080-\u{10ffff}]/u;
const userInfo = /^[^/?#]*:\/\/[^/?#]*@/;
const internalSuffixes = [
  'local',
  'localdomain',
  'internal',
  'intranet',
  'lan',
  'home',
  'corp',
  'private',
  'arpa',
  'svc',
  'onion',
];

/** What the text should have been, or undefined when nothing is wrong with it. */
function findFault(text: string, rules: WebhookUrlRules): string | undefined {
  const scheme = rules.allowHttp === true ? 'an http or https URL' : 'an https URL';
  if (text.length > maxUrlLength) return `${scheme} of at most ${maxUrlLength} characters`;
  if (misleadingCharacters.test(text)) return `${scheme} without spaces, control characters or backslashes`;
  if (!URL.canParse(text)) return scheme;

  const url = new URL(text);
  const isListed = rules.privateHosts?.some(({ origin }) => origin === url.origin) === true;
  const isScheme = url.protocol === 'https:' || (url.protocol === 'http:' && rules.allowHttp === true);
  if (!isListed && !isScheme) return scheme;
  if (userInfo.test(text)) return 'a URL without user name and password';
  if (isListed) return undefined;
  return findHostFault(url.hostname, rules) ?? findPortFault(url, rules);
}

function findHostFault(hostname: string, rules: WebhookUrlRules): string | undefined {
  const literal = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (findAddressFamily(literal) !== undefined) {
    return createAddressGuard(rules).isAllowed(literal) ? undefined : 'a URL whose host is a public address';
  }
  if (hostname.endsWith('.')) return 'a URL whose host has no trailing dot';
  if (isLoopbackName(hostname)) {
    return rules.allowLoopback === true ? undefined : 'a URL whose host is public, not this machine';
  }
  const labels = hostname.split('.');
  if (labels.length < 2) return 'a URL whose host is a full domain name';
  if (internalSuffixes.includes(labels.at(-1) ?? '')) return 'a URL whose host is a public domain name';
  return undefined;
}

function findPortFault(url: URL, rules: WebhookUrlRules): string | undefined {
  if (rules.allowLoopback === true && isLoopbackHost(url.hostname)) return undefined;
  const ports = rules.ports ?? [443, 8443, ...(rules.allowHttp === true ? [80, 8080] : [])];
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
  return ports.includes(port) ? undefined : `a URL whose port is one of ${ports.join(', ')}`;
}

/** `localhost` and everything below it (RFC 6761). */
export function isLoopbackName(hostname: string): boolean {
  return hostname === 'localhost' || hostname.endsWith('.localhost');
}

/** `localhost`, and the literal addresses of this machine; those of IPv6 with or without brackets. */
export function isLoopbackHost(hostname: string): boolean {
  return (
    isLoopbackName(hostname) || /^127\.\d+\.\d+\.\d+$/.test(hostname) || /^(\[::1\]|::1)$/.test(hostname)
  );
}

/** The part of the URL that may be shown: query and user information can contain a customer's secrets. */
function quoteWithoutSecrets(text: string): string {
  return quote(text.replace(/[?#].*$/s, '').replace(/\/\/[^/]*@/, '//…@'));
}
