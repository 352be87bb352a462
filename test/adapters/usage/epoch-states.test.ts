import { expect, test } from '@jest/globals';
import { epochText } from '../../../adapters/store/kept-epochs.js';
import { UsageEpochs } from '../../../adapters/store/usage-epochs.js';
import { silentLogger } from '../../../core/log.js';
import { noMetrics } from '../../../core/metrics.js';
import {
  createMemoryEpochMirror,
  findLossId,
  type EpochMirror,
  type UsageEpoch,
} from '../../../core/usage/epoch.js';
import { hourMs } from '../../conformance/usage-requests.js';
import { drawnIn, walked } from '../../support/drawn-states.js';
import { aClock } from './clock.js';
import { aKeptStore } from './kept-store.js';

const chainId = 1;

/** A mirror whose copy can be taken away, and can come from a backup until somebody writes it. */
function aMirror() {
  let inner = createMemoryEpochMirror();
  let isRestored = false;
  const asWritten = (read: UsageEpoch): UsageEpoch => {
    const { isMoved: _, ...copy } = read;
    return copy;
  };
  const asRead = (copy: UsageEpoch): UsageEpoch => (isRestored ? { ...copy, isMoved: true } : copy);
  const mirror: EpochMirror = {
    get: async (id) => {
      const copy = await inner.get(id);
      return copy && asRead(copy);
    },
    put: async (id, next, expected) => {
      const isPut = await inner.put(id, next, expected && asWritten(expected));
      isRestored &&= !isPut;
      return isPut;
    },
    raise: async (marks) => {
      const copies = isRestored ? await inner.all() : await inner.raise(marks);
      return new Map([...copies].map(([id, copy]) => [id, asRead(copy)]));
    },
  };
  return {
    mirror,
    lose: () => {
      inner = createMemoryEpochMirror();
    },
    restore: () => {
      isRestored = true;
    },
  };
}

/** A store without data, its copy, and the data that it had at two times. */
function aWorld() {
  const clock = aClock();
  const store = aKeptStore(clock);
  const copy = aMirror();
  const aProcess = () =>
    new UsageEpochs({
      store: store.kept,
      mirror: copy.mirror,
      clock,
      log: silentLogger,
      metrics: noMetrics,
    });
  return { clock, store, copy, aProcess, older: store.copy(), latest: store.copy() };
}
type World = ReturnType<typeof aWorld>;

async function intact(): Promise<World> {
  const world = aWorld();
  const process = world.aProcess();
  await process.of(chainId);
  world.older = world.store.copy();
  process.seen(chainId, world.store.write());
  await process.stop();
  world.latest = world.store.copy();
  return world;
}

async function lost(): Promise<World> {
  const world = await intact();
  wipe(world);
  return world;
}

function wipe({ store }: World): void {
  store.putBack({ kept: '', sequence: 0, longestExpiryMs: 0 });
}

async function stateOf({ store, copy }: World): Promise<string> {
  const found = await copy.mirror.get(chainId);
  const { kept, sequence } = store.copy();
  if (found === undefined) return kept === '' ? 'none' : 'begun';
  if (found.isMoved === true) return 'lost';
  if (kept === epochText(found) && sequence >= found.sequence && found.lostAt === undefined) return 'intact';
  return found.lostAt === undefined ? 'lost' : 'waiting';
}

test('data of a chain take the arrows that are drawn above UsageEpochs, and no others', async () => {
  const refused = (): void => {};
  const taken = await walked<World>({
    states: {
      none: aWorld,
      begun: async () => {
        const world = aWorld();
        await world.store.kept.begin(chainId, '', true);
        return world;
      },
      intact,
      lost,
      waiting: async () => {
        const world = await lost();
        await world.aProcess().recover(chainId);
        return world;
      },
    },
    events: {
      of: ({ aProcess }) => aProcess().of(chainId).catch(refused),
      recover: ({ aProcess }) => aProcess().recover(chainId),
      'recover when every promise has expired': ({ aProcess, clock }) => {
        clock.advance(24 * hourMs);
        return aProcess().recover(chainId);
      },
      'recover with the loss accepted': async ({ aProcess, copy }) => {
        const found = await copy.mirror.get(chainId);
        return aProcess().recover(chainId, found && findLossId(found));
      },
      behind: async ({ aProcess, store, latest }) => {
        const process = aProcess();
        const epoch = await process.of(chainId);
        process.seen(chainId, store.write());
        store.putBack(latest);
        await process.behind(chainId, epoch).catch(refused);
      },
      'the copy is gone': ({ copy }) => copy.lose(),
      'the copy is restored': ({ copy }) => copy.restore(),
      'data are wiped': wipe,
      'data are older': ({ store, older }) => store.putBack(older),
      'the data are back': async ({ aProcess, store, latest }) => {
        store.putBack(latest);
        await aProcess().of(chainId);
      },
    },
    stateOf,
    only: {
      // Before a loss is noted these are `recover`.
      'recover when every promise has expired': ['none', 'begun', 'intact', 'waiting'],
      'recover with the loss accepted': ['none', 'begun', 'intact', 'waiting'],
      // A process that serves has found the data complete.
      behind: ['intact'],
      'the copy is gone': ['intact'],
      'the data are back': ['lost', 'waiting'],
      'data are wiped': ['intact', 'lost', 'waiting'],
      'data are older': ['intact'],
    },
  });
  expect(taken).toEqual(drawnIn('adapters/store/usage-epochs.ts'));
});

test('after a restored copy no data are good again: the wait goes on', async () => {
  const world = await intact();
  world.copy.restore();
  await world.aProcess().recover(chainId);
  expect(await stateOf(world)).toBe('waiting');
  world.store.write();
  await expect(world.aProcess().of(chainId)).rejects.toMatchObject({
    details: { reason: 'USAGE_STORE_LOST' },
  });
  expect(await stateOf(world)).toBe('waiting');
});
