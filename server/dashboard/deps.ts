import type { Ambient } from '../../core/ambient.js';
import type { NotificationClient } from '../../adapters/notifications/notification-client.js';
import type { Explanations } from '../../adapters/explanations/explanations.js';
import type { Passes } from '../../core/config/pass.js';
import type { Quota, Quotas } from '../../core/config/platform.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import type { ChangeLog } from '../../core/ledger/change.js';
import type { Ledger } from '../../core/ledger/ledger.js';
import type { ObjectNames } from '../../core/ledger/object-names.js';
import type { KeptTexts } from '../../core/usage/kept-texts.js';
import type { UsageReading } from '../../core/usage/usage-store.js';
import type { PolicyHosts } from '../../core/policy/policy-hosts.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { EventRecorder } from '../../core/resources/kubernetes-events.js';
import type { RateLimit } from '../../core/resources/schema-parts.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { MasterKeys, PlatformTokens } from '../../core/secrets.js';
import type { Instruments } from '../ops/instruments.js';
import type { RateLimiter } from '../http/rate-limit.js';
import type { Pace } from '../../adapters/pace.js';
import type { Turns } from '../../adapters/turns.js';
import type { MethodReading } from './methods-thread.js';
import type { EndedTokens } from './ended-tokens.js';
import type { LastSeen } from './last-seen.js';
import type { Parsers } from './parse.js';
import type { ProgrammedWait } from './programmed.js';
import type { FairLedger } from './ledger/fair-ledger.js';
import type { TokenUse } from './token-use.js';
import type { Writes } from './writes.js';

export type DashboardDeps = Pick<Ambient, 'clock' | 'log'> & {
  readonly resources: Pick<ResourceStore, 'get' | 'list' | 'page' | 'apply' | 'delete'>;
  readonly configs: Pick<ConfigStore, 'findByKey' | 'getLatest' | 'getPaymaster' | 'getChain' | 'getList'>;
  /** What the stores last said. Default: it begins empty, and only calls fill it. */
  readonly lastSeen?: LastSeen;
  readonly texts: KeptTexts;
  /** Present use of limits and balances. */
  readonly usage: UsageReading;
  /** Where decisions and their cost are kept. Default: nowhere, and its endpoints answer 501. */
  readonly ledger?: Ledger;
  /** Gets an event for each write. Default: no events. */
  readonly events?: EventRecorder;
  readonly masterKeys: MasterKeys;
  /** Seals sessions of the console; the same on every replica. Default: one of this process. */
  readonly sessionKey?: () => Uint8Array;
  /** Default: the platform has no tokens, and nobody reaches what is for it. */
  readonly platformTokens?: PlatformTokens;
  /** Asks the hosts of webhooks that their owners try. */
  readonly webhooks: Pick<PolicyHosts, 'call'>;
  readonly instruments: Pick<Instruments, 'dashboardRequests' | 'dashboardDuration'>;
  /** Which webhook URLs may be stored: the rules that the webhook caller applies. Default: public https hosts. */
  readonly webhookUrls?: WebhookUrlRules;
  /** Quotas of Organisations that set none; the operator must have the same. Default: no quotas. */
  readonly quotas?: Quotas;
  /** Limit on the calls of one authToken. Default: no limit. */
  readonly rateLimit?: RateLimit;
  /** Limit on the calls of one client address, also those without a token. Default: no limit. */
  readonly addressRateLimit?: RateLimit;
  /** Whether the console is served. Default true. */
  readonly hasConsole?: boolean;
  /** Of JSON-RPC servers. Default: nobody explains, and its endpoint answers 501. */
  readonly explanations?: Pick<Explanations, 'ask'>;
  /** Posts to receivers of notifications that their owners try. Default: nobody does. */
  readonly notifications?: Pick<NotificationClient, 'send' | 'hostOf' | 'signingKey'>;
  /** The authToken that a code of sign-in stands for; it may be asked once. Default: no code is accepted. */
  readonly consoleCode?: (code: string) => string | undefined;
  /** Proxies in front that append to X-Forwarded-For. Default 0. */
  readonly trustedProxies?: number;
  /** How long a write waits for the operator before it answers. Default 2,000 ms; set 0 if no operator runs. */
  readonly programmedTimeoutMs?: number;
  /** How long the methods of an ABI may wait to be read, and be read. Default 10 s each. */
  readonly abiPatienceMs?: number;
};

/** What handlers share. */
export type Tools = Pick<
  DashboardDeps,
  | 'configs'
  | 'texts'
  | 'masterKeys'
  | 'clock'
  | 'log'
  | 'usage'
  | 'events'
  | 'webhooks'
  | 'explanations'
  | 'notifications'
> & {
  readonly passes: Pick<Passes, 'issue'>;
  /** Of test deliveries, by organisation. */
  readonly deliveries: RateLimiter;
  /** Handlers write by `writes` alone, which are recorded. */
  readonly resources: Pick<ResourceStore, 'get' | 'list' | 'page'>;
  /** Absent: no ledger is kept. */
  readonly ledger?: FairLedger;
  /** `writes` are recorded there. */
  readonly changes?: Pick<ChangeLog, 'record'>;
  /** What they delete keeps its name. */
  readonly names?: Pick<ObjectNames, 'keep'>;
  readonly webhookUrls: WebhookUrlRules;
  readonly quotas: Quotas;
  /** Readings go on with it while the API server is away. */
  readonly lastSeen: LastSeen;
  /** For long work: names of methods are read from ABIs. */
  readonly pace: Pace;
  readonly writes: Writes;
  readonly dryWrites: Omit<Writes, 'remove'>;
  readonly endedTokens: EndedTokens;
  readonly turns: Turns;
  readonly tokenUse: TokenUse;
  readonly programmed: ProgrammedWait;
  readonly parse: Parsers;
  readonly methodsOf: MethodReading;
  /** What this organisation may create. */
  readonly quotaOf: (organisation: Organisation, name: keyof Quotas) => Quota | undefined;
};
