import type { Ambient } from '../core/ambient.js';
import type { Chains } from '../core/chain/chain.js';
import type { ConfigStore } from '../core/config/config-store.js';
import type { PlatformDefaults } from '../core/config/platform.js';
import type { PaymasterConfig } from '../core/config/paymaster-config.js';
import type { EventRecorder } from '../core/resources/kubernetes-events.js';
import type { Signers } from '../core/paymaster/signer.js';
import type { EpochCopies } from '../core/usage/epoch.js';
import type { Reports } from '../core/reports/reports.js';
import type { WebhookUrlRules } from '../core/policy/webhook/webhook-url.js';
import type { ForeignChanges } from '../core/resources/foreign-change.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import type { ConnectionSecrets, MasterKeys } from '../core/secrets.js';
import type { TenantAccess } from '../core/tenant-access.js';
import type { Pace } from '../adapters/pace.js';
import type { KeySource } from './key-rotation.js';
import type { Leader } from './runtime/leader.js';
import type { Timers } from '../adapters/timers.js';

export type OperatorDeps = Ambient & {
  readonly resources: Pick<ResourceStore, 'watch' | 'applyStatus'>;
  readonly configs: ConfigStore;
  readonly chains: Pick<Chains, 'get'>;
  readonly signers: Pick<Signers, 'get' | 'place' | 'problem'>;
  /** The master keys, or their source if they may change while the operator runs. */
  readonly masterKeys: MasterKeys | KeySource;
  readonly connectionSecrets: ConnectionSecrets;
  /** The JSON-RPC URL that is written into connection secrets. */
  readonly rpcUrlOf: (config: PaymasterConfig, apiKey: string) => string;
  /** Which webhook URLs are allowed besides public https hosts. Default: none. */
  readonly webhookRules?: WebhookUrlRules;
  /** Defaults for Organisations that do not set a value. Default: no quotas, and Allow. */
  readonly platform?: PlatformDefaults;
  /** The source of the mounted chain URL files, as a condition names it. Default: a file of that name. */
  readonly urlPlace?: string;
  /** Gets an event for each condition that changes. Default: no events. */
  readonly events?: EventRecorder;
  /** The dashboard's access in each organisation's namespace. Default: it needs no grants. */
  readonly tenantAccess?: TenantAccess;
  /** Reports what others delete and change of what the operator has written. Default: it finds it after ten minutes. */
  readonly foreignChanges?: ForeignChanges;
  /** Directory of the header files that HTTP price sources name. */
  readonly priceHeadersDirectory?: string;
  /** Where servers report token modes that have stopped, full limits and failing webhooks. Default: no condition shows them. */
  readonly reports?: Pick<Reports, 'all'>;
  /** Calls a handler when reports or copies of epochs have changed. Default: they are read again every 15 seconds. */
  readonly onReports?: (handler: () => void) => void;
  /** Copies of the usage store's epochs, which show that it has lost its data. Default: no condition shows it. */
  readonly usageEpochs?: EpochCopies;
  /** Default: this process runs alone. */
  readonly leader?: Leader;
  /** Called once when leadership is lost: writing has stopped, and the process should end. */
  readonly onLost?: () => void;
  readonly timers?: Timers;
  /** How long reconciles hold the event loop at a time. Default: a few milliseconds. */
  readonly pace?: Pace;
};
