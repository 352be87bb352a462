import { afterEach, expect, test } from '@jest/globals';
import { findCondition } from '../../core/meta/conditions.js';
import { silentLogger } from '../../core/log.js';
import { createMemoryReports, type Reports } from '../../core/reports/reports.js';
import type { FollowingTrouble } from '../../core/reports/serving-reports.js';
import type { EpochMs } from '../../core/units/time.js';
import { aChain } from '../build/resources.js';
import { conditionOf, startWorld, type World } from './world.js';

let world: World;
afterEach(() => world.close());

const state = async (): Promise<string> => conditionOf(await world.get('Chain', 'dev'), 'Following');
const becomes = (want: string) => world.until(`Following is ${want}`, async () => (await state()) === want);

test('the condition Following of a Chain is False while servers report it, says why, and leaves Ready unchanged', async () => {
  const reportsAt = (now: () => EpochMs) => createMemoryReports({ clock: { now }, log: silentLogger });
  let reports = reportsAt(() => 0 as EpochMs);
  const told: Pick<Reports, 'all'> = { all: (subject) => reports.all(subject) };
  world = await startWorld({ isEmpty: true, deps: { reports: told } });
  reports = reportsAt(() => world.time.clock.now());
  const tell = (trouble: FollowingTrouble) =>
    reports.merge(
      'serving',
      new Map([['chain.31337', { trouble, until: (world.time.clock.now() + 300_000) as EpochMs }]]),
    );
  await world.apply(aChain());
  await becomes('True/Following');
  const ready = conditionOf(await world.get('Chain', 'dev'), 'Ready');
  await tell('Failing');
  await becomes('False/Failing');
  expect(conditionOf(await world.get('Chain', 'dev'), 'Ready')).toBe(ready);
  const condition = findCondition((await world.get('Chain', 'dev')).status?.conditions, 'Following');
  expect(condition?.message).toContain('limits and deposits fill early');
  // The last server that reports a trouble decides how long it stands.
  world.time.advance(301_000);
  await world.settle();
  await becomes('True/Following');
  await tell('Waiting');
  await becomes('False/Waiting');
  world.time.advance(301_000);
  await world.settle();
  await tell('NoFinality');
  await becomes('False/NoFinality');
});
