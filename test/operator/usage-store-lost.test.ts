import { afterEach, describe, expect, test } from '@jest/globals';
import { DomainError } from '../../core/errors.js';
import type { ResourceEvent } from '../../core/resources/kubernetes-events.js';
import { createMemoryEpochMirror, type UsageEpoch } from '../../core/usage/epoch.js';
import type { EpochMs } from '../../core/units/time.js';
import { acceptedLossAnnotation } from '../../core/meta/meta.js';
import { problemsAmong } from '../../core/problems/problems.js';
import { aChain, aPaymaster, aPolicy } from '../build/resources.js';
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
    // A loss that was noticed at 1, two hours of promises, and two minutes by which clocks may differ.
    expect(await message()).toContain('Nothing is signed before 1970-01-01T02:02:00');
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

describe('after a loss, when data are signed again', () => {
  const policy = (name: string) => world.get('PaymasterPolicy', name);
  const stateOf = async (name: string): Promise<string> => conditionOf(await policy(name), 'Exhausted');
  const serving = async (): Promise<string> => conditionOf(await world.get('Paymaster', 'shop'), 'Serving');
  const messageOf = async (name: string): Promise<string> =>
    (await policy(name)).status?.conditions?.find(({ type }) => type === 'Exhausted')?.message ?? '';
  const daily = aPolicy({ meta: { name: 'daily' }, name: 'Daily' });
  const endless = aPolicy({
    meta: { name: 'endless' },
    name: 'Endless',
    spendingLimit: { scope: 'PAYMASTER', never: {}, threshold: '1000', thresholdType: 'COUNT' } as never,
  });
  const shadow = aPolicy({ meta: { name: 'shadow' }, name: 'Shadow', enforcement: 'Shadow' });

  async function startLost(): Promise<void> {
    const epochs = createMemoryEpochMirror();
    await epochs.put(31337, kept, undefined);
    world = await startWorld({ deps: { usageEpochs: epochs } });
    await world.apply(aPaymaster(), daily, endless, shadow);
    await world.until('it serves', async () => (await serving()) === 'True/Serving');
    await epochs.put(31337, { ...anew, since: (world.time.clock.now() + 1) as EpochMs }, kept);
    await world.until('the loss is shown', async () => (await serving()) === 'False/UsageLost');
  }

  test('each limit whose usage is unknown says how to end that, its paymaster does not serve, and doctor names it', async () => {
    await startLost();
    expect(await stateOf('daily')).toBe('True/UsageLost');
    expect(await stateOf('endless')).toBe('True/UsageLost');
    expect(await stateOf('shadow')).toBe('absent');
    expect(await messageOf('daily')).toMatch(
      /^The usage store lost what was used of "Daily": .* until \d{4}-.*Z, or until somebody changes its threshold/,
    );
    expect(await messageOf('endless')).toMatch(/until somebody sets its restartedAt to a time after \d{4}-/);
    const found = problemsAmong(
      [await policy('daily'), await policy('endless'), await policy('shadow')],
      world.time.clock.now(),
    );
    expect(found.map(({ check, severity, name }) => [check, severity, name])).toEqual([
      ['usage-lost', 'critical', 'daily'],
      ['usage-lost', 'critical', 'endless'],
    ]);
  });

  test('it stays over a restart without a word in between, and ends when a person begins the count anew or the window turns', async () => {
    await startLost();
    const { resourceVersion } = (await policy('daily')).metadata;
    await world.restart();
    await world.settle();
    expect((await policy('daily')).metadata.resourceVersion).toBe(resourceVersion);
    expect(await serving()).toBe('False/UsageLost');
    const restartedAt = new Date(world.time.clock.now()).toISOString();
    await world.apply({
      ...endless,
      spec: { ...endless.spec, spendingLimit: { ...endless.spec.spendingLimit!, restartedAt } },
    } as never);
    await world.until('the endless one counts', async () => (await stateOf('endless')) === 'absent');
    expect(await serving()).toBe('False/UsageLost');
    world.time.advance(86_400_000);
    await world.until('the daily one counts', async () => (await stateOf('daily')) === 'absent');
    expect(await serving()).toBe('True/Serving');
  });
});
