import { afterEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import type { ResourceEvent } from '../../core/resources/kubernetes-events.js';
import { createMemoryEpochMirror, type UsageEpoch } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';
import { acceptedLossAnnotation } from '../../core/meta/meta.js';
import { aChain, aPaymaster } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

const kept: UsageEpoch = { id: 'first', since: 0 as EpochMs, sequence: 0, longestExpiryMs: 7_200_000 };
const lost: UsageEpoch = { ...kept, lostAt: 1 as EpochMs };
const anew: UsageEpoch = { ...kept, id: 'second', since: 2 as EpochMs };

let world: World;

/** As `kubectl annotate chain dev` does. */
async function annotate(loss: string): Promise<void> {
  const annotations = { [acceptedLossAnnotation]: loss };
  const { spec } = aChain();
  await world.resources.apply({
    manager: 'manifests',
    kind: 'Chain',
    key: { name: 'dev' },
    spec,
    annotations,
  });
}

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

  test('of one chain does not affect another', async () => {
    const epochs = createMemoryEpochMirror();
    await epochs.put(31337, kept, undefined);
    await epochs.put(1, lost, undefined);
    world = await startWorld({ deps: { usageEpochs: epochs } });
    await becomes('False/Kept');
    await world.settle();
    expect(await state('UsageStoreLost')).toBe('False/Kept');
  });

  test('stays while the copies cannot be read, and over a restart', async () => {
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

  test('names the command that ends it early, and the annotation reaches the servers with an event', async () => {
    const epochs = createMemoryEpochMirror();
    await epochs.put(31337, lost, undefined);
    const events: ResourceEvent[] = [];
    const record = (event: ResourceEvent) => void events.push(event);
    world = await startWorld({ deps: { usageEpochs: epochs, events: { record } } });
    await becomes('True/Lost');
    const message = async () =>
      (await world.get('Chain', 'dev')).status?.conditions?.find(({ type }) => type === 'UsageStoreLost')
        ?.message ?? '';
    expect(await message()).toContain(
      'kubectl annotate --overwrite chain dev paymasters.dev/accept-usage-loss=first.1',
    );
    await annotate('first.2');
    await world.until('it says so', async () => (await message()).includes('names another loss'));
    expect(await state('UsageStoreLost')).toBe('True/Lost');
    await annotate('first.1');
    await becomes('True/LossAccepted');
    expect(await state('Ready')).toBe('False/UsageStoreLost');
    expect((await world.configs.getChain(31337))?.config.acceptedLoss).toBe('first.1');
    expect(events.filter(({ reason }) => reason === 'LossAccepted')).toEqual([
      expect.objectContaining({ type: 'Warning', object: expect.objectContaining({ kind: 'Chain' }) }),
    ]);
    await epochs.put(31337, anew, lost);
    await becomes('False/Kept');
  });

  test('ignores an annotation that names no loss', async () => {
    world = await startWorld({ deps: { usageEpochs: createMemoryEpochMirror() } });
    await annotate('yes please');
    await world.settle();
    expect((await world.configs.getChain(31337))?.config).not.toHaveProperty('acceptedLoss');
  });

  test('is not shown where no server reports on the usage store', async () => {
    world = await startWorld();
    await world.apply(aPaymaster());
    await world.until('the chain is ready', async () => (await state('Ready')) === 'True/Ready');
    expect(await state('UsageStoreLost')).toBe('absent');
  });
});
