import { kubeSettings, readKubeAccess } from '../adapters/kube/credentials.js';
import {
  chainUrlDirectory,
  keyDirectory,
  portBounds,
  priceHeadersDirectory,
  processSettings,
  signerDirectory,
} from '../adapters/process/process-settings.js';
import { platformTokenSettings } from '../adapters/secrets/platform-tokens.js';
import { providerSettings } from '../adapters/signer/providers/table.js';
import { readUsageSettings, usageSettings } from '../adapters/store/usage-settings.js';
import { platformSettings, readPlatformDefaults } from '../core/config/platform-settings.js';
import { readWebhookRules, webhookSettings } from '../core/policy/webhook/private-hosts.js';
import { either, httpUrl, integer, optional, Settings, type Setting } from '../core/settings.js';
import { callLimitSettings, readCallLimits } from './dashboard/call-limits.js';
import { notificationSettings } from './dashboard/notifications/settings.js';
import { programmedSettings } from './dashboard/programmed.js';
import { ledgerSettings, readLedgerSettings } from './ledger-settings.js';

/** What a server process does: answers wallets, answers the dashboard API, or both. */
const roles = ['rpc', 'dashboard'] as const;
export type Role = (typeof roles)[number];

/** Settings of a server process, from environment variables. */
export type ServerConfig = ReturnType<typeof parseServerConfig>;

const ownSettings = {
  roles: roleList('PAYMASTER_ROLES'),
  opsPort: integer(
    'PAYMASTER_OPS_PORT',
    'Serves health and metrics, and nothing else; absent: PORT does.',
    portBounds,
  ),
  trustedProxies: integer(
    'PAYMASTER_TRUSTED_PROXIES',
    'Proxies in front, whose X-Forwarded-For is believed.',
    { min: 0, max: 10 },
    0,
  ),
  maxStalenessSeconds: integer(
    'PAYMASTER_MAX_STALENESS_SECONDS',
    'For how long configurations are used that the API server does not confirm.',
    { min: 60, max: 604_800 },
    21_600,
  ),
};

const fileSettings = {
  /** With `webhook-master.key` and, for the dashboard, `master.key` and `session.key`. */
  keyDirectory,
  priceHeadersDirectory,
  /** So that a restarted replica can serve while the API server is away. */
  snapshotDirectory: optional(
    'PAYMASTER_SNAPSHOT_DIR',
    'Where the served configurations are kept; absent: nowhere.',
  ),
};

const dashboardSettings = {
  jsonRpcUrl: optionalUrl(
    'PAYMASTER_JSON_RPC_URL',
    'Where the dashboard asks for explanations: the Service of the rpc role; absent: this process, if it has that role.',
  ),

  hasConsole: either(
    'PAYMASTER_CONSOLE',
    'Whether the dashboard role serves the console at /console/.',
    ['on', 'off'],
    true,
  ),
};

/** Of the rpc role, which needs them. */
const signingSettings = { signerDirectory, chainUrlDirectory };

export const serverSettings = {
  Process: processSettings,
  'Kubernetes API': kubeSettings,
  Server: ownSettings,
  Files: fileSettings,
  'Files of the rpc role': signingSettings,
  Database: usageSettings,
  Ledger: ledgerSettings,
  Dashboard: {
    ...callLimitSettings,
    ...dashboardSettings,
    ...platformTokenSettings,
    ...notificationSettings,
    ...programmedSettings,
  },
  'Clouds that hold keys': providerSettings,
  Platform: platformSettings,
  Webhooks: webhookSettings,
};

/** Parses the environment once; throws a SettingsError that lists every mistake. */
export function parseServerConfig(env: Readonly<Record<string, string | undefined>>) {
  const settings = new Settings(env);
  const { podName = `server-${process.pid}`, ...listening } = settings.read(processSettings);
  const { maxStalenessSeconds, ...own } = settings.read(ownSettings);
  const config = {
    ...listening,
    podName,
    ...own,
    maxStalenessMs: maxStalenessSeconds * 1000,
    kube: readKubeAccess(settings),
    usage: readUsageSettings(settings),
    ledger: readLedgerSettings(settings),
    ...settings.read(fileSettings),
    ...(own.roles.includes('rpc') ? settings.read(signingSettings) : {}),
    /** The operator's quotas: the dashboard refuses what the operator would not accept. */
    quotas: readPlatformDefaults(settings).quotas,
    signerEnvironment: settings.read(providerSettings),
    webhookRules: readWebhookRules(settings),
    callLimits: readCallLimits(settings),
    ...settings.read(dashboardSettings),
    ...settings.read(platformTokenSettings),
    ...settings.read(notificationSettings),
    ...settings.read(programmedSettings),
  };
  return settings.finishStrictly(config, signingSettings);
}

function optionalUrl(name: string, what: string): Setting<string | undefined> {
  const url = httpUrl(name, what);
  return { ...url, values: '', read: (value, settings) => value && url.read(value, settings) };
}

function roleList(name: string): Setting<readonly Role[]> {
  const every = roles.join(',');
  return {
    name,
    text: 'What the process does.',
    values: every,
    read(value = every, settings) {
      const names = value.split(',');
      const chosen = roles.filter((role) => names.includes(role));
      if (chosen.length !== names.length) settings.mistake(name, `a list of ${roles.join(', ')}`, value);
      return chosen;
    },
  };
}
