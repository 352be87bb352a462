import { given } from './units/given.js';
import { createHmac } from 'node:crypto';
import type { MasterKeys } from './secrets.js';

/**
 * Which master keys are in force, for processes that load them at different times.
 *
 * - Derived keys work only while every process derives and accepts the same ones. So the leading operator announces
 *   the keys in force by their fingerprints, and every process uses the announced keys that it has mounted, whatever
 *   the newest file contains.
 * - The leader announces a new key only when every paymaster accepts it and every pod has had time to load it. Nobody
 *   gets to see a key before that.
 * - If a key in force disappears before its successor is announced, the leader refuses: otherwise every apiKey would
 *   stop working immediately.
 */

/**
 * The mounted keys, of each kind the newest first; one or two. A process that does not need a kind has no keys of it.
 */
export type MountedKeys = {
  readonly apiKeys: readonly Uint8Array[];
  readonly webhook: readonly Uint8Array[];
};

/** Fingerprints, for each kind: of the key in force, and of the key that is still accepted. */
export type KeyAnnouncement = { readonly apiKeys: readonly string[]; readonly webhook: readonly string[] };

/** Port: where the announcement is stored. */
export type KeyAnnouncements = {
  /**
   * Undefined when nothing has been announced yet. Throws UNAVAILABLE, and INVALID_INPUT for content that is not an
   * announcement.
   */
  read(): Promise<KeyAnnouncement | undefined>;
  /**
   * Replaces the announcement that was read last; false when someone else has written since then. Throws UNAVAILABLE.
   */
  write(next: KeyAnnouncement): Promise<boolean>;
};

/**
 * 16 hex digits that name a key. They are a keyed hash of a random 256-bit key, so they reveal nothing about the key.
 */
export function deriveFingerprint(key: Uint8Array): string {
  return createHmac('sha256', key).update('fingerprint of a paymaster master key').digest('hex').slice(0, 16);
}

export function createAnnouncement({ apiKeys, webhook }: MountedKeys): KeyAnnouncement {
  return { apiKeys: deriveFingerprints(apiKeys), webhook: deriveFingerprints(webhook) };
}

export function isSameAnnouncement(a: KeyAnnouncement | undefined, b: KeyAnnouncement | undefined): boolean {
  return JSON.stringify(a && [a.apiKeys, a.webhook]) === JSON.stringify(b && [b.apiKeys, b.webhook]);
}

/** What the leader decides about the mounted keys. */
export type KeyDecision =
  | { readonly kind: 'in-force' }
  /** Announce immediately: no process has to load a key first. */
  | { readonly kind: 'announce'; readonly next: KeyAnnouncement }
  /** Announce when every paymaster accepts the new keys and every pod has had time to load them. */
  | { readonly kind: 'prepare'; readonly next: KeyAnnouncement }
  /** The files that must contain the keys in force, which are missing. */
  | { readonly kind: 'refuse'; readonly lacking: readonly string[] };

const previousFiles = { apiKeys: 'master-previous.key', webhook: 'webhook-master-previous.key' } as const;
const kinds = ['apiKeys', 'webhook'] as const;

export function decideKeys(announced: KeyAnnouncement | undefined, mounted: MountedKeys): KeyDecision {
  const next = createAnnouncement(mounted);
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

/** The announced keys, as far as `known` contains them. */
export function selectKeys(
  announced: readonly string[],
  known: readonly Uint8Array[],
): { readonly found: readonly Uint8Array[]; readonly lacking: readonly string[] } {
  const byFingerprint = new Map(known.map((key) => [deriveFingerprint(key), key]));
  const found = announced.flatMap((each) => byFingerprint.get(each) ?? []);
  return { found, lacking: announced.filter((each) => !byFingerprint.has(each)) };
}

/** The keys of files, for a process that runs alone. */
export function keysOfFiles({ apiKeys, webhook }: MountedKeys): MasterKeys {
  const [current, previous] = apiKeys as [Uint8Array, Uint8Array?];
  const [first, webhookPrevious] = webhook as [Uint8Array, Uint8Array?];
  return { current, webhook: first, ...given({ previous, webhookPrevious }) };
}

/**
 * The leader's keys while this announcement is valid and these files are mounted; undefined when a key in force is
 * missing. A key that is being prepared is already accepted: paymasters are compiled with it before anyone gets to
 * see it.
 */
export function leaderKeys(announced: KeyAnnouncement, mounted: MountedKeys): MasterKeys | undefined {
  const [current, previous] = inFront(announced.apiKeys[0], mounted.apiKeys);
  const [webhook] = inFront(announced.webhook[0], mounted.webhook);
  if (current === undefined || webhook === undefined) return undefined;
  return { current, ...given({ previous }), webhook };
}

/** The key in force, then the other one; nothing when the key in force is missing. */
function inFront(fingerprint: string | undefined, keys: readonly Uint8Array[]): readonly Uint8Array[] {
  const first = keys.find((key) => deriveFingerprint(key) === fingerprint);
  return first === undefined ? [] : [first, ...keys.filter((key) => deriveFingerprint(key) !== fingerprint)];
}

function deriveFingerprints(keys: readonly Uint8Array[]): readonly string[] {
  return [...new Set(keys.map(deriveFingerprint))];
}
