import type { Ambient } from '../../core/ambient.js';
import { DomainError } from '../../core/errors.js';
import {
  deriveFingerprint,
  isSameAnnouncement,
  selectKeys,
  type KeyAnnouncement,
  type KeyAnnouncements,
  type MountedKeys,
} from '../../core/master-keys.js';
import type { MasterKeys } from '../../core/secrets.js';

/**
 * Time between two reads. For that long two replicas may show different keys of one rotation; both accept both keys.
 */
const everyMs = 5_000;

/** The master keys in force that are mounted here, as the leading operator has announced them. */
export type AnnouncedKeys = ReturnType<typeof createAnnouncedKeys>;

type InForce = Pick<MountedKeys, 'apiKeys' | 'webhook'>;

/**
 * Reads the files and the announcement again and again. Keys that were in force in this process stay known, so a file
 * may disappear before its removal is announced. While the announcement cannot be read, the known keys stay in use.
 * Before the first announcement those are the mounted keys: an rpc pod can start during an outage of the API server,
 * and signs for hosts as before.
 */
export function createAnnouncedKeys(
  deps: Pick<Ambient, 'log' | 'metrics'> & {
    readonly read: () => Promise<MountedKeys>;
    readonly announcements: Pick<KeyAnnouncements, 'read'>;
  },
) {
  const { log } = deps;
  const missing = deps.metrics
    .gauge({
      name: 'paymaster_master_keys_missing',
      help: '1 while this process does not have the master keys that the operator has announced',
      labels: [],
    })
    .with({});
  let mounted: MountedKeys = { apiKeys: [], webhook: [] };
  let announced: KeyAnnouncement | undefined;
  let inForce: InForce | undefined;
  let lacking: readonly string[] = [];
  let failure: string | undefined;

  function requireChosen(): InForce {
    if (inForce !== undefined) return inForce;
    const reason = { reason: 'MASTER_KEYS_MISSING', retryAfterSeconds: 10 } as const;
    throw new DomainError(
      'UNAVAILABLE',
      lacking.length === 0
        ? 'the master keys of this process are not known yet'
        : `this process does not have the master keys in force (${lacking.join(', ')}): its mounted Secret is older than that of others`,
      reason,
    );
  }

  function choose(): void {
    const known = {
      apiKeys: [...mounted.apiKeys, ...(inForce?.apiKeys ?? [])],
      webhook: [...mounted.webhook, ...(inForce?.webhook ?? [])],
    };
    if (announced === undefined) {
      inForce = mounted;
      return;
    }
    // A process that does not need apiKeys has none mounted.
    const apiKeys = mounted.apiKeys.length === 0 ? undefined : selectKeys(announced.apiKeys, known.apiKeys);
    const webhook = selectKeys(announced.webhook, known.webhook);
    const before = lacking.join();
    lacking = [...(apiKeys?.lacking ?? []), ...webhook.lacking];
    if (lacking.length > 0) {
      inForce = undefined;
      if (lacking.join() !== before) log.error('master keys in force are not mounted here', { lacking });
      return;
    }
    if (before !== '') log.info('master keys in force are mounted again');
    inForce = { apiKeys: withNext(apiKeys?.found ?? []), webhook: webhook.found };
  }

  /**
   * Accepts the key that the leader is about to announce a moment early: another replica may have read the announcement
   * already.
   */
  function withNext(found: readonly Uint8Array[]): readonly Uint8Array[] {
    const [newest] = mounted.apiKeys;
    const isNext =
      newest !== undefined &&
      found.length === 1 &&
      !found.some((key) => deriveFingerprint(key) === deriveFingerprint(newest));
    return isNext ? [...found, newest] : found;
  }

  async function readAnnouncement(): Promise<void> {
    try {
      mounted = await deps.read();
      const next = await deps.announcements.read();
      if (!isSameAnnouncement(next, announced) && next !== undefined)
        log.info('master keys announced', { apiKeys: next.apiKeys, webhook: next.webhook });
      announced = next;
      failure = undefined;
      choose();
    } catch (error) {
      const text = String(error);
      if (text !== failure) log.warn('reading the master keys failed', { error });
      failure = text;
      // A dashboard depends on the API server anyway, so it waits for it; an rpc pod does not.
      const mayStart = mounted.apiKeys.length === 0 && mounted.webhook.length > 0;
      if (mayStart && inForce === undefined && announced === undefined) choose();
    }
    missing.set(inForce === undefined ? 1 : 0);
  }

  let isStopped = false;
  let looking: Promise<void> = Promise.resolve();
  const timer = setInterval(() => {
    // One after the other: a slow API server does not get two requests at once.
    looking = looking.then(() => (isStopped ? undefined : readAnnouncement()));
  }, everyMs);
  timer.unref();

  const keys: MasterKeys = {
    get current() {
      return requireChosen().apiKeys[0] as Uint8Array;
    },
    get previous() {
      return requireChosen().apiKeys[1];
    },
    get webhook() {
      return requireChosen().webhook[0] as Uint8Array;
    },
    get webhookPrevious() {
      return requireChosen().webhook[1];
    },
  };

  return {
    /** Each read throws UNAVAILABLE (MASTER_KEYS_MISSING) while this process does not have the keys in force. */
    keys,
    /** False while this process does not have the keys in force. */
    isComplete: (): boolean => inForce !== undefined,
    /** Reads files and announcement now; never rejects. */
    look: readAnnouncement,
    stop(): void {
      isStopped = true;
      clearInterval(timer);
    },
  };
}
