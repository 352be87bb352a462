import { afterEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import { createMemoryEpochMirror, type UsageEpoch } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';
import { aPaymaster } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

const kept: UsageEpoch = { id: 'first', since: 0 as EpochMs, sequence: 0, longestExpiryMs: 7_200_000 };
const lost: UsageEpoch = { ...kept, lostAt: 1 as EpochMs };
const anew: UsageEpoch = { ...kept, id: 'second', since: 2 as EpochMs };

let world: World;
afterEach(() => world.close());

const state = async (type: 'UsageStoreLost' | 'Ready'): Promise<string> =>
  conditionOf(await world.get('Chain', 'dev'), type);
const becomes = (want: string) =>
  world.until(`UsageStoreLost is ${want}`, async () => (await state('UsageStoreLost')) === want);

describe('the condition UsageStoreLost of a Chain', () => {
  test('is Unknown until a server has opened the usage, True and not ready from a loss to the next epoch', async () => {
    const epochs = createMemoryEpochMirror();
    world = await startWorld({ deps: { usageEpochs: epochs } });
    await becomes('Unknown/Unknown');
    await epochs.put(31337, kept, undefined);
    await becomes('False/Kept');
    await world.until('the chain is ready', async () => (await state('Ready')) === 'True/Ready');
    await epochs.put(31337, lost, kept);
    await becomes('True/Lost');
    expect(await state('Ready')).toBe('False/UsageStoreLost');
    await epochs.put(31337, anew, lost);
    await becomes('False/Kept');
    expect(await state('Ready')).toBe('True/Ready');
  });

  test('of one chain says nothing of another', async () => {
    const epochs = createMemoryEpochMirror();
    await epochs.put(31337, kept, undefined);
    await epochs.put(1, lost, undefined);
    world = await startWorld({ deps: { usageEpochs: epochs } });
    await becomes('False/Kept');
    await world.settle();
    expect(await state('UsageStoreLost')).toBe('False/Kept');
  });

  test('stands while the copies cannot be read, and over a restart', async () => {
    const memory = createMemoryEpochMirror();
    await memory.put(31337, lost, undefined);
    let isAway = false;
    const epochs = {
      all: () => (isAway ? Promise.reject(new DomainError('UNAVAILABLE', 'away')) : memory.all()),
    };
    world = await startWorld({ deps: { usageEpochs: epochs } });
    await becomes('True/Lost');
    isAway = true;
    await world.restart();
    await world.settle();
    expect(await state('UsageStoreLost')).toBe('True/Lost');
    isAway = false;
    await memory.put(31337, anew, lost);
    await becomes('False/Kept');
  });

  test('is not shown where nobody tells of the usage store', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the chain is ready', async () => (await state('Ready')) === 'True/Ready');
    expect(await state('UsageStoreLost')).toBe('absent');
  });
});
