import { expect, test } from '@jest/globals';
import { plusMs } from '../../../core/units/time.js';
import { ReadAllowance, readsPerSecond } from '../../../server/follower/new-account.js';
import { startMs } from '../../conformance/usage-requests.js';

test('each organisation may cause a limited number of reads of new balances per second', () => {
  const reads = new ReadAllowance();
  const take = (organisation: string, afterMs: number) => reads.take(organisation, plusMs(startMs, afterMs));
  for (let n = 0; n < readsPerSecond; n++) take('acme', n);
  expect(() => take('acme', 999)).toThrow('acme asked for 5 new balances in a second');
  expect(() => take('globex', 999)).not.toThrow();
  expect(() => take('acme', 1_000)).not.toThrow();
});
