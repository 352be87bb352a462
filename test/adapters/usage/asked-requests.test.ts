import { expect, test } from '@jest/globals';
import { AskedRequests } from '../../../adapters/usage/embedded/asked-requests.js';
import type { ReserveRequest, ReserveResult } from '../../../core/usage/usage-store.js';
import { aRequest } from '../../conformance/usage-requests.js';

const reserved: ReserveResult = { outcome: 'reserved' };
const refused: ReserveResult = { outcome: 'barred', index: 0, used: 1 };
const one = (nonce: bigint): ReserveRequest => aRequest({ key: { nonce } });

test('requests are decided in the order in which they came, each once', () => {
  const asked = new AskedRequests();
  for (const nonce of [3n, 1n, 2n]) void asked.add(one(nonce));
  const seen: bigint[] = [];
  const decide = () =>
    asked.decide(({ key }) => {
      seen.push(key.nonce);
      return reserved;
    });
  expect(decide()).toHaveLength(3);
  expect(decide()).toEqual([]);
  expect(seen).toEqual([3n, 1n, 2n]);
});

test('a refusal and an error are answered at once, and a reservation waits for the commit', async () => {
  const asked = new AskedRequests();
  const broken = new Error('no balance');
  const answers = [1n, 2n, 3n].map((nonce) => asked.add(one(nonce)));
  const made = asked.decide(({ key }) => {
    if (key.nonce === 2n) throw broken;
    return key.nonce === 1n ? refused : { ...reserved, over: [0] };
  });
  await expect(answers[0]).resolves.toEqual(refused);
  await expect(answers[1]).rejects.toBe(broken);
  expect(made.map(({ result }) => result)).toEqual([{ ...reserved, over: [0] }]);
  made[0]?.resolve(made[0].result);
  await expect(answers[2]).resolves.toEqual({ ...reserved, over: [0] });
});
