import { providerVariables } from '../adapters/signer/providers/table.js';
import { resolve } from 'node:path';
import { given } from '../core/units/given.js';
import { readPlatformDefaults } from '../core/config/platform-settings.js';
import { readCallLimits } from '../server/dashboard/call-limits.js';
import { readLedgerSettings } from '../server/ledger-settings.js';
import { readDurability } from '../server/usage-settings.js';
import { isLoopbackHost } from '../core/policy/webhook/webhook-url.js';
import { Settings } from '../core/settings.js';
import type { PortChoice } from './port-choice.js';

/** Settings of the standalone command; every one has a default, so that `make run` needs none. */
export type StandaloneConfig = ReturnType<typeof parseStandaloneConfig>;

const bundlerChoices = { '0': 'none', '1': 'required', installed: 'installed' } as const;

/** Parses the environment once; throws one SettingsError that lists every mistake. */
export function parseStandaloneConfig(env: NodeJS.ProcessEnv, root: string) {
  const settings = new Settings(env);
  const port = (name: string, usual: number): number => {
    const text = settings.optional(name) ?? String(usual);
    const chosen = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
    if (chosen < 1 || chosen > 65_535) settings.mistake(name, 'a number from 1 to 65535', text);
    return chosen;
  };
  // Two instances on one machine have two values of PORT: then nothing else is fixed unless it is given.
  const portOf = (name: string, usual: number): PortChoice => {
    if (settings.optional(name) !== undefined) return { kind: 'exact', port: port(name, usual) };
    return settings.optional('PORT') === undefined ? { kind: 'from', port: usual } : { kind: 'any' };
  };

  const authToken = settings.optional('PAYMASTER_AUTH_TOKEN');
  if (authToken !== undefined && !/^[\x21-\x7e]{16,256}$/.test(authToken))
    settings.mistake('PAYMASTER_AUTH_TOKEN', '16 to 256 printable characters without blanks');

  const chainRpcUrl = settings.optional('CHAIN_RPC_URL');
  if (chainRpcUrl !== undefined && !/^https?:$/.test(URL.parse(chainRpcUrl)?.protocol ?? ''))
    settings.mistake('CHAIN_RPC_URL', 'an http or https URL');

  const host = settings.optional('HOST') ?? '127.0.0.1';
  return settings.finish({
    /** `PAYMASTER_QUOTA_…` and `PAYMASTER_DEFAULT_CONTRACT_ACTION`, as for the operator. */
    platform: readPlatformDefaults(settings),
    host,
    port: port('PORT', 8080),
    /**
     * Whether webhooks may call this machine. Not unless it is said where others reach this service: they would reach
     * what listens on this machine for its own programs only.
     */
    allowLoopbackWebhooks:
      settings.oneOf(
        'PAYMASTER_WEBHOOK_ALLOW_LOOPBACK',
        ['true', 'false'],
        isLoopbackHost(host) ? 'true' : 'false',
      ) === 'true',
    /** Databases, keys, connection.json, log. */
    dataDirectory: resolve(settings.optional('PAYMASTER_DATA_DIR') ?? resolve(root, '.paymaster')),
    manifestDirectory: resolve(
      settings.optional('PAYMASTER_MANIFESTS') ?? resolve(root, 'examples/quickstart'),
    ),
    /** Variables of clouds, and `PAYMASTER_SIGNER_KEY_<FILE>`: signers by the file name that a profile gives; a file of that name wins. */
    signerEnvironment: {
      ...providerVariables(env),
      ...Object.fromEntries(
        Object.entries(env).flatMap(([name, value]) =>
          name.startsWith('PAYMASTER_SIGNER_KEY_') && value !== undefined ? [[name, value]] : [],
        ),
      ),
    },
    /** Dashboard token to use instead of a generated one; chain to use instead of starting anvil. */
    ...given({ authToken, chainRpcUrl }),
    chainPort: portOf('CHAIN_PORT', 8545),
    /** `installed`: a bundler runs beside a dev chain if it is installed. `required`: it must be. */
    bundler: bundlerChoices[settings.oneOf('BUNDLER', ['0', '1', 'installed'], 'installed')],
    bundlerPort: portOf('BUNDLER_PORT', 4337),
    /** `process` survives kill -9; `power` also survives power loss and is slower. */
    durability: readDurability(settings),
    ledger: readLedgerSettings(settings),
    callLimits: readCallLimits(settings),
    logLevel: settings.oneOf('LOG_LEVEL', ['debug', 'info', 'warn', 'error'], 'info'),
    /** Where JSON log lines go: a file in the data directory, or stdout. */
    logTo: settings.oneOf('PAYMASTER_LOG', ['file', 'stdout'], 'file'),
  });
}
