import { expect, test } from '@jest/globals';
import { createDeadlines } from '../../../server/http/body-admission.js';

test('who is late is told so once, in the order in which they began, and who has come in time is not', async () => {
  const deadlines = createDeadlines(20);
  const late: string[] = [];
  const last = Promise.withResolvers<void>();
  deadlines.begin(() => late.push('first'));
  const arrived = deadlines.begin(() => late.push('in time'));
  deadlines.begin(() => {
    late.push('second');
    last.resolve();
  });
  arrived();
  await last.promise;
  expect(late).toEqual(['first', 'second']);
});

test('deadlines that begin after all others were over are found, too', async () => {
  const deadlines = createDeadlines(5);
  for (let round = 0; round < 3; round++) await new Promise<void>((resolve) => void deadlines.begin(resolve));
});
