import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ReplayRegister } from '../../core/ledger/replay-register.js';

/**
 * Guarantees of every register of replays. `create` gives an empty one. Each test uses a separate organisation.
 * `silence` makes the last report of an organisation's replay older than it may be; absent: its process cannot die alone.
 */
export function replayRegisterConformance(
  implementation: string,
  create: () => Promise<ReplayRegister>,
  silence?: (organisation: string) => Promise<void>,
): void {
  describe(`register of replays: ${implementation}`, () => {
    let register: ReplayRegister;
    beforeAll(async () => {
      register = await create();
    });

    test('an organisation that has not replayed has no replay', async () => {
      expect(await register.find('nobody')).toBeUndefined();
      expect(await register.report('nobody', randomUUID(), 'a', true)).toBe('lost');
      await register.cancel('nobody', randomUUID());
      expect(await register.find('nobody')).toBeUndefined();
    });

    test('of replays that begin at the same time one runs, and the others are told its id', async () => {
      const ids = [1, 2, 3, 4].map(() => randomUUID());
      const others = await Promise.all(ids.map((id) => register.begin('crowd', id, id)));
      const found = await register.find('crowd');
      expect(found).toMatchObject({ state: 'running', status: found?.id });
      expect(others).toEqual(ids.map((id) => (id === found?.id ? undefined : found?.id)));
      expect(await register.begin('alone', randomUUID(), 'a')).toBeUndefined();
    });

    test('a report replaces the status, and the last one frees the organisation', async () => {
      const [id, next] = [randomUUID(), randomUUID()];
      const result = JSON.stringify({ result: '\0 🜚' });
      await register.begin('steady', id, 'first');
      expect(await register.report('steady', id, 'second', true)).toBe('held');
      expect(await register.find('steady')).toMatchObject({ id, status: 'second', state: 'running' });
      expect(await register.report('steady', id, result, false)).toBe('held');
      expect(await register.find('steady')).toMatchObject({
        id,
        status: result,
        state: 'ended',
      });
      expect(await register.report('steady', id, 'late', true)).toBe('lost');
      expect(await register.begin('steady', next, 'next')).toBeUndefined();
      expect(await register.report('steady', id, 'later', false)).toBe('lost');
      expect(await register.find('steady')).toMatchObject({ id: next, status: 'next', state: 'running' });
    });

    test('a request to cancel arrives with the next report, and only at the replay that it names', async () => {
      const [id, other] = [randomUUID(), randomUUID()];
      await register.begin('hasty', id, 'a');
      await register.cancel('hasty', other);
      expect(await register.report('hasty', id, 'b', true)).toBe('held');
      await register.cancel('hasty', id);
      expect(await register.find('hasty')).toMatchObject({ state: 'running', status: 'b' });
      expect(await register.report('hasty', id, 'c', true)).toBe('cancel');
      await register.report('hasty', id, 'd', false);
      expect(await register.begin('hasty', other, 'e')).toBeUndefined();
      expect(await register.report('hasty', other, 'f', true)).toBe('held');
    });

    test('organisations do not see each other', async () => {
      const [id, other] = [randomUUID(), randomUUID()];
      await register.begin('here', id, 'mine');
      await register.begin('there', other, 'theirs');
      await register.cancel('there', id);
      expect(await register.report('there', id, 'mine', false)).toBe('lost');
      expect(await register.report('there', other, 'theirs', true)).toBe('held');
      expect(await register.find('here')).toMatchObject({ id, status: 'mine' });
    });

    if (silence === undefined) return;
    test('a replay without reports is abandoned for good, and another one may begin', async () => {
      const [id, next] = [randomUUID(), randomUUID()];
      await register.begin('killed', id, 'half');
      await silence('killed');
      expect(await register.find('killed')).toMatchObject({ id, status: 'half', state: 'abandoned' });
      expect(await register.report('killed', id, 'again', true)).toBe('lost');
      expect(await register.find('killed')).toMatchObject({ state: 'abandoned' });
      expect(await register.begin('killed', next, 'next')).toBeUndefined();
      expect(await register.find('killed')).toMatchObject({ id: next, state: 'running' });
    });
  });
}
