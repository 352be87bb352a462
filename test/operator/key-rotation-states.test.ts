import { expect, test } from '@jest/globals';
import { invalidInput } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { createAnnouncement, type MountedKeys } from '../../core/master-keys.js';
import { noMetrics } from '../../core/metrics.js';
import { createKeyRotation } from '../../operator/key-rotation.js';
import { createFakeAnnouncements } from '../fakes/key-announcements.js';
import { drawnIn, walked } from '../support/drawn-states.js';
import { createVirtualTime, turn } from './virtual-time.js';

const [k0, k1, w0] = [10, 11, 20].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];
const settleMs = 120_000;
const lookMs = 10_000;
const inForce: MountedKeys = { apiKeys: [k0], webhook: [w0] };

/** An operator that has begun while nothing could be read, of an installation whose first key is in force. */
async function aWorld() {
  const time = createVirtualTime();
  const announcements = createFakeAnnouncements();
  announcements.stored = createAnnouncement(inForce);
  announcements.isAway = true;
  let mounted: MountedKeys | Error = inForce;
  const rotation = createKeyRotation({
    clock: time.clock,
    timers: time.timers,
    log: silentLogger,
    metrics: noMetrics,
    source: {
      read: async () => {
        if (mounted instanceof Error) throw mounted;
        return mounted;
      },
      announcements,
      place: 'Secret master-keys',
      settleMs,
    },
    compileAll: async () => {},
    onChange: () => {},
  });
  await rotation.start();
  const pass = async (ms: number): Promise<void> => {
    for (let left = ms; left > 0; left -= lookMs) {
      time.advance(lookMs);
      await turn();
    }
  };
  return {
    rotation,
    announcements,
    pass,
    mount: async (next: MountedKeys | Error): Promise<void> => {
      announcements.isAway = false;
      mounted = next;
      await pass(lookMs);
    },
  };
}
type World = Awaited<ReturnType<typeof aWorld>>;

const events: Readonly<Record<string, (world: World) => Promise<void>>> = {
  'in-force': ({ mount }) => mount(inForce),
  prepare: ({ mount }) => mount({ apiKeys: [k1, k0], webhook: [w0] }),
  'prepare once compiled and settled': ({ pass }) => pass(settleMs),
  refuse: ({ mount }) => mount({ apiKeys: [k1], webhook: [w0] }),
  'a file without a key': ({ mount }) =>
    mount(invalidInput([{ field: 'master.key', expected: '64 hex digits' }])),
  'an outage': async ({ announcements, pass }) => {
    announcements.isAway = true;
    await pass(settleMs);
  },
};
const after = (name: string) => async (): Promise<World> => {
  const world = await aWorld();
  await events[name]?.(world);
  return world;
};

test('the master keys take the arrows that are drawn above createKeyRotation, and no others', async () => {
  const taken = await walked<World>({
    states: {
      Unknown: aWorld,
      InForce: after('in-force'),
      Switching: after('prepare'),
      Refused: after('refuse'),
    },
    events,
    stateOf: ({ rotation }) => rotation.finding().reason,
  });
  expect(taken).toEqual(drawnIn('operator/key-rotation.ts'));
});
