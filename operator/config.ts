import { providerVariables } from '../adapters/signer/providers/table.js';
import { given } from '../core/units/given.js';
import { readKubeAccess } from '../adapters/kube/access.js';
import { logLevels } from '../adapters/log/pino-logger.js';
import { readWebhookRules } from '../core/policy/webhook/private-hosts.js';
import { readPlatformDefaults } from '../core/config/platform-settings.js';
import { Settings } from '../core/settings.js';

/** Settings of the operator process, from environment variables. */
export type OperatorConfig = ReturnType<typeof parseOperatorConfig>;

/** Parses the settings once; throws SettingsError with every mistake. */
export function parseOperatorConfig(env: Readonly<Record<string, string | undefined>>) {
  const settings = new Settings(env);
  const tenantAccess = readGrant(
    settings,
    'PAYMASTER_TENANT_CLUSTER_ROLE',
    'PAYMASTER_DASHBOARD_SERVICE_ACCOUNT',
  );
  const secretAccess = readGrant(
    settings,
    'PAYMASTER_SECRETS_CLUSTER_ROLE',
    'PAYMASTER_OPERATOR_SERVICE_ACCOUNT',
  );
  return settings.finish({
    /** Where health and metrics are served. */
    host: settings.text('HOST', 'the address to listen on', '0.0.0.0'),
    port: settings.integer('PORT', { min: 0, max: 65_535 }, 8080),
    logLevel: settings.oneOf('LOG_LEVEL', logLevels, 'info'),
    kube: readKubeAccess(settings),
    /** System namespace: compiled objects and the lease. */
    namespace: settings.text('POD_NAMESPACE', 'the system namespace', 'paymaster-system'),
    podName: settings.text('POD_NAME', 'the name of this process', `operator-${process.pid}`),
    leaseName: settings.text('PAYMASTER_LEASE_NAME', 'the Lease of the leader', 'paymaster-operator'),
    /** Directory of `master.key`, `webhook-master.key`, `master-previous.key` and `webhook-master-previous.key`. */
    keyDirectory: settings.text('PAYMASTER_KEY_DIR', 'the directory of the master keys'),
    /** How long every pod gets to load a Secret that has changed. */
    keySettleSeconds: settings.integer('PAYMASTER_KEY_SETTLE_SECONDS', { min: 1, max: 3_600 }, 120),
    signerDirectory: settings.text('PAYMASTER_SIGNER_DIR', 'the directory of the signing keys'),
    /** Variables of clouds that hold keys. */
    signerEnvironment: providerVariables(env),
    chainUrlDirectory: settings.text('PAYMASTER_CHAIN_URL_DIR', 'the directory of files with chain URLs'),
    ...given({
      /** The Secrets of the system namespace that are mounted in the directories, for messages. */
      keySecret: settings.optional('PAYMASTER_KEY_SECRET'),
      signerSecret: settings.optional('PAYMASTER_SIGNER_SECRET'),
      chainUrlSecret: settings.optional('PAYMASTER_CHAIN_URL_SECRET'),
      /** Header files of HTTP price sources; absent: a source that needs one has no price. */
      priceHeadersDirectory: settings.optional('PAYMASTER_PRICE_HEADERS_DIR'),
      /** The dashboard's access in each organisation's namespace; absent: no grants. */
      tenantAccess,
      /** The operator's own access there, to write connection Secrets; absent: no grants. */
      secretAccess,
    }),
    /** Origin and path before `/api/v1`, as written into connection Secrets. */
    publicRpcUrl: settings.httpUrl('PAYMASTER_PUBLIC_RPC_URL', 'where wallets reach the JSON-RPC server'),
    platform: readPlatformDefaults(settings),
    webhookRules: readWebhookRules(settings),
  });
}

type Grant = { readonly clusterRole: string; readonly serviceAccount: string };

/** A role and the account that gets it. A role without an account is a mistake. */
function readGrant(settings: Settings, role: string, account: string): Grant | undefined {
  const clusterRole = settings.optional(role);
  const serviceAccount = settings.optional(account);
  if (clusterRole === undefined) return undefined;
  if (serviceAccount === undefined) settings.mistake(account, `set together with ${role}`);
  return { clusterRole, serviceAccount: serviceAccount ?? '' };
}
