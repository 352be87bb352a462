import { providerVariables } from '../adapters/signer/providers/table.js';
import { given } from '../core/units/given.js';
import { readKubeAccess } from '../adapters/kube/access.js';
import { logLevels } from '../adapters/log/pino-logger.js';
import { readWebhookRules } from '../core/policy/webhook/private-hosts.js';
import { readPlatformDefaults } from '../core/config/platform-settings.js';
import { Settings } from '../core/settings.js';
import { readCallLimits } from './dashboard/call-limits.js';
import { readLedgerSettings } from './ledger-settings.js';
import { roles, type Role } from './roles.js';
import { readUsageSettings } from './usage-settings.js';

/** Settings of a server process, from environment variables. */
export type ServerConfig = ReturnType<typeof parseServerConfig>;

/** Parses the environment once; throws a SettingsError that lists every mistake. */
export function parseServerConfig(env: Readonly<Record<string, string | undefined>>) {
  const settings = new Settings(env);
  const chosen = readRoles(settings);
  const isRpc = chosen.includes('rpc');
  const directory = (name: string, what: string): string | undefined =>
    isRpc ? settings.text(name, what) : settings.optional(name);
  const port = (name: string, usual: number): number =>
    settings.integer(name, { min: 0, max: 65_535 }, usual);
  const hasOpsPort = settings.optional('PAYMASTER_OPS_PORT') !== undefined;
  return settings.finish({
    host: settings.text('HOST', 'the address to listen on', '0.0.0.0'),
    port: port('PORT', 8080),
    /** Health and metrics, and nothing else; absent: on `port`. */
    ...(hasOpsPort ? { opsPort: port('PAYMASTER_OPS_PORT', 0) } : {}),
    logLevel: settings.oneOf('LOG_LEVEL', logLevels, 'info'),
    roles: chosen,
    kube: readKubeAccess(settings),
    /** System namespace: compiled objects. */
    namespace: settings.text('POD_NAMESPACE', 'the system namespace', 'paymaster-system'),
    podName: settings.text('POD_NAME', 'the name of this process', `server-${process.pid}`),
    usage: readUsageSettings(settings),
    ledger: readLedgerSettings(settings),
    /** Directory of `webhook-master.key` and, for the dashboard, `master.key`. */
    keyDirectory: settings.text('PAYMASTER_KEY_DIR', 'the directory of the master keys'),
    ...given({
      /** Needed by the rpc role. */
      signerDirectory: directory('PAYMASTER_SIGNER_DIR', 'the directory of the signing keys'),
      chainUrlDirectory: directory('PAYMASTER_CHAIN_URL_DIR', 'the directory of files with chain URLs'),
      /** Header files of HTTP price sources; absent: such a source has no price. */
      priceHeadersDirectory: settings.optional('PAYMASTER_PRICE_HEADERS_DIR'),
      /** Where the served configs are kept, so that a restarted replica can serve while the API server is away; absent: nowhere. */
      snapshotDirectory: settings.optional('PAYMASTER_SNAPSHOT_DIR'),
    }),
    /** Variables of clouds that hold keys. */
    signerEnvironment: providerVariables(env),
    maxStalenessMs:
      settings.integer('PAYMASTER_MAX_STALENESS_SECONDS', { min: 60, max: 604_800 }, 21_600) * 1000,
    trustedProxies: settings.integer('PAYMASTER_TRUSTED_PROXIES', { min: 0, max: 10 }, 0),
    /** The operator's quotas: the dashboard refuses what the operator would not accept. */
    quotas: readPlatformDefaults(settings).quotas,
    webhookRules: readWebhookRules(settings),
    callLimits: readCallLimits(settings),
  });
}

function readRoles(settings: Settings): readonly Role[] {
  const names = settings.text('PAYMASTER_ROLES', '', roles.join(',')).split(',');
  const chosen = roles.filter((role) => names.includes(role));
  if (chosen.length !== names.length)
    settings.mistake('PAYMASTER_ROLES', `a list of ${roles.join(', ')}`, names.join(','));
  return chosen;
}
