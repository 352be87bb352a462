import { expect, test } from '@jest/globals';
import { createMemoryRegister } from '../../../server/replay/memory-register.js';
import { systemClock } from '../../../core/units/time.js';
import { replayRegisterConformance } from '../../conformance/replay-register.js';

replayRegisterConformance('memory', async () => createMemoryRegister(systemClock));

test('the last replays of a hundred organisations are kept, and every one that runs', async () => {
  const register = createMemoryRegister(systemClock);
  await register.begin('runs', 'first', '');
  for (let each = 0; each < 200; each += 1) {
    await register.begin(`organisation-${each}`, 'id', '');
    await register.report(`organisation-${each}`, 'id', '', false);
  }
  expect(await register.find('runs')).toMatchObject({ state: 'running' });
  expect(await register.find('organisation-0')).toBeUndefined();
  expect(await register.find('organisation-101')).toMatchObject({ state: 'ended' });
});
