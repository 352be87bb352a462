import { resolve } from 'node:path';
import { platformTokenSettings } from '../adapters/secrets/platform-tokens.js';
import { providerSettings } from '../adapters/signer/providers/table.js';
import { readPlatformDefaults } from '../core/config/platform-settings.js';
import { readCallLimits } from '../server/dashboard/call-limits.js';
import { notificationSettings } from '../server/dashboard/notifications/settings.js';
import { programmedSettings } from '../server/dashboard/programmed.js';
import { readLedgerSettings } from '../server/ledger-settings.js';
import { usageSettings } from '../adapters/store/usage-settings.js';
import { webhookSettings } from '../core/policy/webhook/private-hosts.js';
import { parseNetwork, type IpNetwork } from '../core/policy/webhook/ip-address.js';
import { isLoopbackHost } from '../core/policy/webhook/webhook-url.js';
import { either, integer, oneOf, optional, Settings, text } from '../core/settings.js';
import type { PortChoice } from './port-choice.js';

/** Settings of the standalone command; every one has a default, so that `make run` needs none. */
export type StandaloneConfig = ReturnType<typeof parseStandaloneConfig>;

const bundlerChoices = { '0': 'none', '1': 'required', installed: 'installed' } as const;
const ports = { min: 1, max: 65_535 };

const ownSettings = {
  host: text('HOST', 'The address to listen on.', '127.0.0.1'),
  port: integer('PORT', 'The port to listen on.', ports),
  publicUrl: optional('PAYMASTER_PUBLIC_URL', 'Where others reach it: https, at a proxy that ends TLS.'),
  proxies: text(
    'PAYMASTER_PROXIES',
    'The addresses of that proxy, as CIDR ranges separated by commas.',
    '127.0.0.1/32,::1/128',
  ),
  allowPlainHttp: either(
    'PAYMASTER_ALLOW_PLAIN_HTTP',
    'Whether others may reach it without TLS: anyone on the way reads keys, tokens and sessions.',
    ['true', 'false'],
    false,
  ),
  chainPort: integer('CHAIN_PORT', 'The port of the dev chain.', ports),
  bundlerPort: integer('BUNDLER_PORT', 'The port of the bundler.', ports),
  bundler: oneOf(
    'BUNDLER',
    'Whether a bundler runs beside a dev chain.',
    ['0', '1', 'installed'],
    'installed',
  ),
  chainRpcUrl: optional('CHAIN_RPC_URL', 'The chain to use instead of starting one.'),
  dataDirectory: optional('PAYMASTER_DATA_DIR', 'Databases, keys, connection.json, log.'),
  manifestDirectory: optional('PAYMASTER_MANIFESTS', 'The directory of YAML resources.'),
  authToken: optional('PAYMASTER_AUTH_TOKEN', 'The dashboard token to use instead of a generated one.'),
  logLevel: oneOf('LOG_LEVEL', 'Of the lines of the log.', ['debug', 'info', 'warn', 'error'], 'info'),
  /** A file in the data directory, or stdout. */
  logTo: oneOf('PAYMASTER_LOG', 'Where JSON log lines go.', ['file', 'stdout'], 'file'),
  /** `process` survives kill -9; `power` also survives power loss and is slower. */
  durability: usageSettings.durability,
};

/** Parses the environment once; throws one SettingsError that lists every mistake. */
export function parseStandaloneConfig(env: NodeJS.ProcessEnv, root: string) {
  const settings = new Settings(env);
  const { port, chainPort, bundlerPort, bundler, proxies, ...own } = settings.read(ownSettings);
  const isHereAlone = isLoopbackHost(own.host) && own.publicUrl === undefined;
  // Two instances on one machine have two values of PORT: then nothing else is fixed unless it is given.
  const choose = (given: number | undefined, usual: number): PortChoice => {
    if (given !== undefined) return { kind: 'exact', port: given };
    return port === undefined ? { kind: 'from', port: usual } : { kind: 'any' };
  };
  if (own.authToken !== undefined && !/^[\x21-\x7e]{16,256}$/.test(own.authToken))
    settings.mistake('PAYMASTER_AUTH_TOKEN', '16 to 256 printable characters without blanks');
  if (own.chainRpcUrl !== undefined && !/^https?:$/.test(URL.parse(own.chainRpcUrl)?.protocol ?? ''))
    settings.mistake('CHAIN_RPC_URL', 'an http or https URL');
  if (own.publicUrl !== undefined && !isOrigin(own.publicUrl))
    settings.mistake(
      'PAYMASTER_PUBLIC_URL',
      'https:// and a host name, with nothing behind it',
      own.publicUrl,
    );
  if (!isLoopbackHost(own.host) && own.publicUrl === undefined && !own.allowPlainHttp)
    settings.mistake(
      'HOST',
      '127.0.0.1, or PAYMASTER_PUBLIC_URL be set to where a proxy ends TLS: without TLS anyone on the way reads keys, tokens and sessions (PAYMASTER_ALLOW_PLAIN_HTTP=true accepts that)',
      own.host,
    );
  // Not unless it is said where others reach this service: webhooks would reach what listens on this machine for its own programs only.
  const { name, text: what } = webhookSettings.allowLoopback;
  const allowLoopback = either(name, what, ['true', 'false'], isHereAlone);

  return settings.finishStrictly({
    ...own,
    /** `PAYMASTER_QUOTA_…` and `PAYMASTER_DEFAULT_CONTRACT_ACTION`, as for the operator. */
    platform: readPlatformDefaults(settings),
    port: port ?? 8080,
    proxies: readProxies(proxies, settings),
    allowLoopbackWebhooks: settings.read({ allowLoopback }).allowLoopback,
    dataDirectory: resolve(own.dataDirectory ?? resolve(root, '.paymaster')),
    manifestDirectory: resolve(own.manifestDirectory ?? resolve(root, 'examples/quickstart')),
    /** Variables of clouds, and `PAYMASTER_SIGNER_KEY_<FILE>`: signers by the file name that a profile gives; a file of that name wins. */
    signerEnvironment: {
      ...settings.read(providerSettings),
      ...Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) =>
          name.startsWith('PAYMASTER_SIGNER_KEY_') && value !== undefined ? [[name, value]] : [],
        ),
      ),
    },
    chainPort: choose(chainPort, 8545),
    /** `installed`: a bundler runs beside a dev chain if it is installed. `required`: it must be. */
    bundler: bundlerChoices[bundler],
    bundlerPort: choose(bundlerPort, 4337),
    ledger: readLedgerSettings(settings),
    callLimits: readCallLimits(settings),
    ...settings.read(platformTokenSettings),
    ...settings.read(notificationSettings),
    ...settings.read(programmedSettings),
  });
}

/** Everybody would be the proxy in a network that is wider. */
const widest = { ipv4: 8, ipv6: 32 };

function readProxies(text: string, settings: Settings): readonly IpNetwork[] {
  try {
    const networks = text.split(',').map((each) => parseNetwork(each.trim()));
    if (networks.every(({ family, prefix }) => prefix >= widest[family])) return networks;
    settings.mistake('PAYMASTER_PROXIES', 'networks of at most /8, or /32 of IPv6', text);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    settings.mistake('PAYMASTER_PROXIES', error.message.replace(/^.* must be /, ''));
  }
  return [];
}

function isOrigin(text: string): boolean {
  return text.startsWith('https:') && URL.parse(text)?.origin === text.toLowerCase();
}
