import { expect, test } from '@jest/globals';
import { createBundlers } from '../../../server/rpc/bundlers.js';

// Look-ups in the store of what a bundler is asked for take the share of the key, as the calls to the bundler do.

type Deps = Parameters<typeof createBundlers>[0];
type Paymaster = Parameters<ReturnType<typeof createBundlers>['inTurn']>[0];

const paymaster = (paymasterId: string) => ({ chainId: 1, paymasterId }) as Paymaster;
const onChain = (config: object): Deps => ({ view: { chain: () => ({ config }) } }) as unknown as Deps;
const method = 'eth_sendUserOperation';

test('what one key leaves open in the store stops no other key', async () => {
  const { inTurn } = createBundlers(onChain({ bundlers: { urls: ['https://bundler.example.org'] } }));
  const open = Promise.withResolvers<void>();
  let running = 0;
  const lookUp = () =>
    inTurn(paymaster('greedy'), method, () => {
      running += 1;
      return open.promise;
    });
  const asked = Array.from({ length: 139 }, lookUp);
  await expect(Promise.race(asked)).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    details: { reason: 'BUNDLERS_BUSY' },
  });
  expect(running).toBe(10);
  expect(await inTurn(paymaster('other'), method, () => Promise.resolve('served'))).toBe('served');
  open.resolve();
  await Promise.allSettled(asked);
});

test('nothing is looked up for a chain without bundlers', async () => {
  const { inTurn } = createBundlers(onChain({}));
  const lookUp = () => Promise.reject(new Error('the store was asked'));
  await expect(inTurn(paymaster('any'), method, lookUp)).rejects.toMatchObject({
    code: 'RPC_METHOD_NOT_FOUND',
  });
});
