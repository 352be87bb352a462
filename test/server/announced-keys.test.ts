import { afterEach, describe, expect, test } from '@jest/globals';
import { createAnnouncedKeys, type AnnouncedKeys } from '../../adapters/secrets/announced-keys.js';
import { createMetrics } from '../../adapters/metrics/prometheus.js';
import { silentLogger } from '../../core/log.js';
import { createAnnouncement, type MountedKeys } from '../../core/master-keys.js';
import { createFakeAnnouncements, type FakeAnnouncements } from '../fakes/key-announcements.js';

const [k0, k1, w0, w1] = [10, 11, 20, 21].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const refused = expect.objectContaining({
  code: 'UNAVAILABLE',
  details: expect.objectContaining({ reason: 'MASTER_KEYS_MISSING' }),
});

let announcements: FakeAnnouncements;
const pods: AnnouncedKeys[] = [];
afterEach(() => {
  for (const pod of pods.splice(0)) pod.stop();
});

/** A dashboard pod whose mounted Secret the test replaces. */
async function aPod(mounted: MountedKeys, metrics = createMetrics({ process: false })) {
  const pod = { mounted, metrics, keys: undefined as unknown as AnnouncedKeys };
  pod.keys = createAnnouncedKeys({
    read: async () => pod.mounted,
    announcements,
    log: silentLogger,
    metrics,
  });
  pods.push(pod.keys);
  await pod.keys.look();
  return pod;
}

function announce(apiKeys: Uint8Array[], webhook: Uint8Array[] = [w0]): void {
  announcements.stored = createAnnouncement({ apiKeys, webhook });
}

const old: MountedKeys = { apiKeys: [k0], webhook: [w0] };
const both: MountedKeys = { apiKeys: [k1, k0], webhook: [w1, w0] };

describe('a replica', () => {
  test('uses the announced key, not the newest of its files, and accepts the next key', async () => {
    announcements = createFakeAnnouncements();
    announce([k0]);
    const pod = await aPod(both);
    expect(pod.keys.keys).toMatchObject({ current: k0, previous: k1, webhook: w0 });
    expect(pod.keys.keys.webhookPrevious).toBeUndefined();
    announce([k1, k0], [w1, w0]);
    await pod.keys.look();
    expect(pod.keys.keys).toMatchObject({ current: k1, previous: k0, webhook: w1, webhookPrevious: w0 });
  });

  test('refuses with the reason while its files are older than the announcement, and recovers by itself', async () => {
    announcements = createFakeAnnouncements();
    announce([k1, k0]);
    const pod = await aPod(old);
    expect(pod.keys.isComplete()).toBe(false);
    for (const read of [
      () => pod.keys.keys.current,
      () => pod.keys.keys.previous,
      () => pod.keys.keys.webhook,
    ])
      expect(read).toThrow(refused);
    expect((await pod.metrics.render()).body).toContain('paymaster_master_keys_missing 1');
    pod.mounted = both;
    await pod.keys.look();
    expect(pod.keys.keys).toMatchObject({ current: k1, previous: k0 });
    expect((await pod.metrics.render()).body).toContain('paymaster_master_keys_missing 0');
  });

  test('keeps a key that was removed from its files until the removal is announced, and not longer', async () => {
    announcements = createFakeAnnouncements();
    announce([k1, k0]);
    const pod = await aPod(both);
    pod.mounted = { apiKeys: [k1], webhook: [w0] };
    await pod.keys.look();
    expect(pod.keys.keys).toMatchObject({ current: k1, previous: k0 });
    announce([k1]);
    await pod.keys.look();
    expect(pod.keys.keys.current).toEqual(k1);
    expect(pod.keys.keys.previous).toBeUndefined();
  });

  test('whose files still have a removed key does not accept it', async () => {
    announcements = createFakeAnnouncements();
    announce([k1]);
    const pod = await aPod(both);
    expect(pod.keys.keys.current).toEqual(k1);
    expect(pod.keys.keys.previous).toBeUndefined();
  });

  test('keeps its keys while the announcement cannot be read', async () => {
    announcements = createFakeAnnouncements();
    announce([k0]);
    const pod = await aPod(old);
    announcements.isAway = true;
    pod.mounted = both;
    await pod.keys.look();
    expect(pod.keys.keys).toMatchObject({ current: k0, webhook: w0 });
  });

  test('without an announcement uses its files: an operator of an earlier release leads', async () => {
    announcements = createFakeAnnouncements();
    expect((await aPod(both)).keys.keys).toMatchObject({ current: k1, previous: k0, webhook: w1 });
  });

  test('of the dashboard that cannot read the announcement at its start waits; a replica of the rpc role signs for hosts', async () => {
    announcements = createFakeAnnouncements();
    announcements.isAway = true;
    const dashboard = await aPod(both);
    expect(() => dashboard.keys.keys.current).toThrow(refused);
    const rpc = await aPod({ apiKeys: [], webhook: [w1, w0] });
    expect(rpc.keys.keys).toMatchObject({ webhook: w1, webhookPrevious: w0 });
  });
});
