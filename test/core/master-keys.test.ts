import { describe, expect, test } from '@jest/globals';
import {
  createAnnouncement,
  decideKeys,
  deriveFingerprint,
  leaderKeys,
  selectKeys,
  type KeyAnnouncement,
  type KeyDecision,
  type MountedKeys,
} from '../../core/master-keys.js';

const [k0, k1, k2, w0, w1] = [10, 11, 12, 20, 21].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const mounted = (apiKeys: Uint8Array[], webhook: Uint8Array[] = [w0]): MountedKeys => ({ apiKeys, webhook });
const announced = (apiKeys: Uint8Array[], webhook: Uint8Array[] = [w0]): KeyAnnouncement =>
  createAnnouncement({ apiKeys, webhook });

test('a fingerprint names a key and holds nothing of it', () => {
  expect(deriveFingerprint(k0)).toMatch(/^[0-9a-f]{16}$/);
  expect(deriveFingerprint(k0)).not.toBe(deriveFingerprint(k1));
  expect(Buffer.from(k0).toString('hex')).not.toContain(deriveFingerprint(k0).slice(0, 4));
});

describe('what the leader does with mounted keys', () => {
  test.each<{ name: string; now: KeyAnnouncement | undefined; keys: MountedKeys; want: KeyDecision }>([
    {
      name: 'nothing was announced yet',
      now: undefined,
      keys: mounted([k1, k0]),
      want: { kind: 'announce', next: announced([k1, k0]) },
    },
    {
      name: 'they are those in force',
      now: announced([k0]),
      keys: mounted([k0]),
      want: { kind: 'in-force' },
    },
    {
      name: 'one file twice is one key',
      now: announced([k0]),
      keys: mounted([k0, k0]),
      want: { kind: 'in-force' },
    },
    {
      name: 'a new key in front of the one in force',
      now: announced([k0]),
      keys: mounted([k1, k0]),
      want: { kind: 'prepare', next: announced([k1, k0]) },
    },
    {
      name: 'a key that is accepted again',
      now: announced([k1]),
      keys: mounted([k1, k0]),
      want: { kind: 'prepare', next: announced([k1, k0]) },
    },
    {
      name: 'the way back',
      now: announced([k1, k0]),
      keys: mounted([k0, k1]),
      want: { kind: 'prepare', next: announced([k0, k1]) },
    },
    {
      name: 'the old key is taken away after the change',
      now: announced([k1, k0]),
      keys: mounted([k1]),
      want: { kind: 'announce', next: announced([k1]) },
    },
    {
      name: 'a third key: first the oldest goes, then the new one is prepared',
      now: announced([k1, k0]),
      keys: mounted([k2, k1]),
      want: { kind: 'announce', next: announced([k1]) },
    },
    {
      name: 'the key in force is gone',
      now: announced([k0]),
      keys: mounted([k1]),
      want: { kind: 'refuse', lacking: ['master-previous.key'] },
    },
    {
      name: 'the key in force is gone, though the one before is there',
      now: announced([k1, k0]),
      keys: mounted([k2, k0]),
      want: { kind: 'refuse', lacking: ['master-previous.key'] },
    },
    {
      name: 'a good change of one kind does not pass beside a bad one of the other',
      now: announced([k0]),
      keys: mounted([k1, k0], [w1]),
      want: { kind: 'refuse', lacking: ['webhook-master-previous.key'] },
    },
    {
      name: 'both keys are rotated at once',
      now: announced([k0]),
      keys: mounted([k1, k0], [w1, w0]),
      want: { kind: 'prepare', next: announced([k1, k0], [w1, w0]) },
    },
  ])('$name', ({ now, keys, want }) => {
    expect(decideKeys(now, keys)).toEqual(want);
  });
});

test('until it is announced a new key is accepted and not shown', () => {
  expect(leaderKeys(announced([k0]), mounted([k1, k0], [w1, w0]))).toEqual({
    current: k0,
    previous: k1,
    webhook: w0,
  });
  expect(leaderKeys(announced([k1, k0], [w1, w0]), mounted([k1, k0], [w1, w0]))).toEqual({
    current: k1,
    previous: k0,
    webhook: w1,
  });
  expect(leaderKeys(announced([k0]), mounted([k1]))).toBeUndefined();
});

test('of announced keys those that are not known are named by their fingerprints', () => {
  const { apiKeys } = announced([k1, k0]);
  expect(selectKeys(apiKeys, [k0, k1])).toEqual({ found: [k1, k0], lacking: [] });
  expect(selectKeys(apiKeys, [k0])).toEqual({ found: [k0], lacking: [deriveFingerprint(k1)] });
});
