import { expect, test } from '@jest/globals';
import { createSpending } from '../../../server/dashboard/costs.js';

// An answer stays open until its client has read it: who reads slowly, on purpose, with a token that may only read.

test('readings of one token, however many stay open, leave room for those of its owner and of other organisations', async () => {
  const spend = createSpending();
  const { promise: closed, resolve: close } = Promise.withResolvers<void>();
  const open: string[] = [];
  const read = (organisation: string, tokenName: string): Promise<unknown> =>
    spend('reading', { tenant: organisation, tokenName }, () => {
      open.push(`${organisation} ${tokenName}`);
      return closed;
    }).catch((error: unknown) => error);
  const all = Array.from({ length: 40 }, () => read('acme', 'reader'));
  all.push(read('acme', 'owner'), read('other', 'owner'));
  await new Promise(setImmediate);
  expect(open.toSorted()).toEqual([
    'acme owner',
    ...Array.from({ length: 4 }, () => 'acme reader'),
    'other owner',
  ]);
  close();
  await Promise.all(all);
  expect(open).toHaveLength(42);
});
