import { kubeSettings, readKubeAccess } from '../adapters/kube/credentials.js';
import {
  chainUrlDirectory,
  keyDirectory,
  priceHeadersDirectory,
  processSettings,
  signerDirectory,
} from '../adapters/process/process-settings.js';
import { providerSettings } from '../adapters/signer/providers/table.js';
import { platformSettings, readPlatformDefaults } from '../core/config/platform-settings.js';
import { readWebhookRules, webhookSettings } from '../core/policy/webhook/private-hosts.js';
import { httpUrl, integer, optional, Settings, text, type Setting } from '../core/settings.js';

/** Settings of the operator process, from environment variables. */
export type OperatorConfig = ReturnType<typeof parseOperatorConfig>;

const ownSettings = {
  leaseName: text('PAYMASTER_LEASE_NAME', 'The Lease of the leader.', 'paymaster-operator'),
  /** Origin and path before `/api/v1`. */
  publicRpcUrl: httpUrl(
    'PAYMASTER_PUBLIC_RPC_URL',
    'Where wallets reach the JSON-RPC server, as written into connection Secrets.',
  ),
  /** Absent: no grants. */
  tenantAccess: grant(
    'PAYMASTER_TENANT_GRANT',
    "The dashboard's access in the namespace of each Organisation.",
  ),
  secretAccess: grant('PAYMASTER_SECRETS_GRANT', "The operator's access there, to write connection Secrets."),
};

/** The Secrets of the system namespace that are mounted in the directories are for messages. */
const fileSettings = {
  /** With `master.key`, `webhook-master.key`, `master-previous.key` and `webhook-master-previous.key`. */
  keyDirectory,
  keySecret: optional('PAYMASTER_KEY_SECRET', 'The Secret that is mounted there, for messages.'),
  /** How long every pod gets to load a Secret that has changed. */
  keySettleSeconds: integer(
    'PAYMASTER_KEY_SETTLE_SECONDS',
    'How long every pod gets to load master keys that have changed.',
    { min: 1, max: 3_600 },
    120,
  ),
  signerDirectory,
  signerSecret: optional('PAYMASTER_SIGNER_SECRET', 'The Secret that is mounted there, for messages.'),
  chainUrlDirectory,
  chainUrlSecret: optional('PAYMASTER_CHAIN_URL_SECRET', 'The Secret that is mounted there, for messages.'),
  priceHeadersDirectory,
};

export const operatorSettings = {
  Process: processSettings,
  'Kubernetes API': kubeSettings,
  Operator: ownSettings,
  Files: fileSettings,
  'Clouds that hold keys': providerSettings,
  Platform: platformSettings,
  Webhooks: webhookSettings,
};

/** Parses the settings once; throws SettingsError with every mistake. */
export function parseOperatorConfig(env: Readonly<Record<string, string | undefined>>) {
  const settings = new Settings(env);
  const { podName = `operator-${process.pid}`, ...listening } = settings.read(processSettings);
  return settings.finishStrictly({
    ...listening,
    podName,
    kube: readKubeAccess(settings),
    ...settings.read(ownSettings),
    ...settings.read(fileSettings),
    platform: readPlatformDefaults(settings),
    signerEnvironment: settings.read(providerSettings),
    webhookRules: readWebhookRules(settings),
  });
}

type Grant = { readonly clusterRole: string; readonly serviceAccount: string };

function grant(name: string, what: string): Setting<Grant | undefined> {
  return {
    name,
    text: what,
    values: 'CLUSTER_ROLE/SERVICE_ACCOUNT',
    read(value, settings) {
      if (value === undefined) return undefined;
      const [clusterRole = '', serviceAccount = '', ...more] = value.split('/');
      if (clusterRole === '' || serviceAccount === '' || more.length > 0)
        settings.mistake(name, 'CLUSTER_ROLE/SERVICE_ACCOUNT', value);
      return { clusterRole, serviceAccount };
    },
  };
}
