import { expect, test } from '@jest/globals';
import { inTime, withinDeadline } from '../../adapters/within-deadline.js';

const never = new Promise<never>(() => {});
const late = () => new Error('too slow');

test('work that ends in time is answered as it ends', async () => {
  await expect(inTime(600_000, Promise.resolve('done'), late)).resolves.toBe('done');
  await expect(inTime(600_000, Promise.reject(new Error('broken')), late)).rejects.toThrow('broken');
});

test('work that does not end rejects with the error of the deadline', async () => {
  await expect(inTime(1, never, late)).rejects.toThrow('too slow');
});

test('a signal that aborts ends the wait with its reason, also when it has aborted before', async () => {
  const deadline = new AbortController();
  const waiting = withinDeadline(deadline.signal, never);
  deadline.abort(new Error('cancelled'));
  await expect(waiting).rejects.toThrow('cancelled');
  await expect(withinDeadline(deadline.signal, never)).rejects.toThrow('cancelled');
});
