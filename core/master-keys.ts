import { createHmac } from 'node:crypto';
import type { MasterKeys } from './secrets.js';

/**
 * Which master keys are in force, for processes that load them at different times.
 *
 * - Derived keys are worth something only while every process derives and accepts the same. So the operator that leads announces the
 *   keys in force by their fingerprints, and every process uses those out of what it has, whatever the newest of its files says.
 * - A new key is announced when every paymaster accepts it and every pod has had time to load it. Nobody is shown a key before.
 * - A key in force that disappears without its successor being announced is refused: every apiKey would end at once.
 */

/** As mounted, of each kind the newest first; one or two. A process that needs none of a kind has none. */
export type MountedKeys = {
  readonly apiKeys: readonly Uint8Array[];
  readonly webhook: readonly Uint8Array[];
};

/** Fingerprints, of each kind: the key in force, and the one that is still accepted. */
export type KeyAnnouncement = { readonly apiKeys: readonly string[]; readonly webhook: readonly string[] };

/** Port: where the announcement stands. */
export type KeyAnnouncements = {
  /** Undefined when nobody has announced anything yet. Throws UNAVAILABLE, and INVALID_INPUT for what is not an announcement. */
  read(): Promise<KeyAnnouncement | undefined>;
  /** Replaces what was read last; false when somebody else has written meanwhile. Throws UNAVAILABLE. */
  write(next: KeyAnnouncement): Promise<boolean>;
};

/** 16 hex digits by which a key is named. A keyed hash of a random key of 256 bits: it says nothing of the key. */
export function fingerprintOf(key: Uint8Array): string {
  return createHmac('sha256', key).update('fingerprint of a paymaster master key').digest('hex').slice(0, 16);
}

export function announcementOf({ apiKeys, webhook }: MountedKeys): KeyAnnouncement {
  return { apiKeys: fingerprintsOf(apiKeys), webhook: fingerprintsOf(webhook) };
}

export function isSameAnnouncement(a: KeyAnnouncement | undefined, b: KeyAnnouncement | undefined): boolean {
  return JSON.stringify(a && [a.apiKeys, a.webhook]) === JSON.stringify(b && [b.apiKeys, b.webhook]);
}

/** What the leader makes of the mounted keys. */
export type KeyDecision =
  | { readonly kind: 'in-force' }
  /** At once: nobody has to have loaded anything for it. */
  | { readonly kind: 'announce'; readonly next: KeyAnnouncement }
  /** When every paymaster accepts the new keys and every pod has had time to load them. */
  | { readonly kind: 'prepare'; readonly next: KeyAnnouncement }
  /** Files that must hold the keys in force, which are gone. */
  | { readonly kind: 'refuse'; readonly lacking: readonly string[] };

const previousFiles = { apiKeys: 'master-previous.key', webhook: 'webhook-master-previous.key' } as const;
const kinds = ['apiKeys', 'webhook'] as const;

export function decideKeys(announced: KeyAnnouncement | undefined, mounted: MountedKeys): KeyDecision {
  const next = announcementOf(mounted);
  if (announced === undefined) return { kind: 'announce', next };
  const lacking = kinds.filter((kind) => !next[kind].includes(announced[kind][0] ?? ''));
  if (lacking.length > 0) return { kind: 'refuse', lacking: lacking.map((kind) => previousFiles[kind]) };
  const kept: KeyAnnouncement = {
    apiKeys: announced.apiKeys.filter((each) => next.apiKeys.includes(each)),
    webhook: announced.webhook.filter((each) => next.webhook.includes(each)),
  };
  if (!isSameAnnouncement(kept, announced)) return { kind: 'announce', next: kept };
  return isSameAnnouncement(next, announced) ? { kind: 'in-force' } : { kind: 'prepare', next };
}

/** The announced keys, as far as they are among `known`. */
export function selectKeys(
  announced: readonly string[],
  known: readonly Uint8Array[],
): { readonly found: readonly Uint8Array[]; readonly lacking: readonly string[] } {
  const byFingerprint = new Map(known.map((key) => [fingerprintOf(key), key]));
  const found = announced.flatMap((each) => byFingerprint.get(each) ?? []);
  return { found, lacking: announced.filter((each) => !byFingerprint.has(each)) };
}

/**
 * The leader's keys while the announcement stands and these are mounted; undefined when one in force is not. A key that is
 * prepared is accepted already: paymasters are compiled with it before anybody is shown it.
 */
export function leaderKeys(announced: KeyAnnouncement, mounted: MountedKeys): MasterKeys | undefined {
  const [current, previous] = inFront(announced.apiKeys[0], mounted.apiKeys);
  const [webhook] = inFront(announced.webhook[0], mounted.webhook);
  if (current === undefined || webhook === undefined) return undefined;
  return { current, ...(previous === undefined ? {} : { previous }), webhook };
}

/** The key in force, then the other one; nothing when the key in force is missing. */
export function inFront(fingerprint: string | undefined, keys: readonly Uint8Array[]): readonly Uint8Array[] {
  const first = keys.find((key) => fingerprintOf(key) === fingerprint);
  return first === undefined ? [] : [first, ...keys.filter((key) => fingerprintOf(key) !== fingerprint)];
}

function fingerprintsOf(keys: readonly Uint8Array[]): readonly string[] {
  return [...new Set(keys.map(fingerprintOf))];
}
