import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Chain, LogFilter } from '../../core/chain/chain.js';
import { DomainError } from '../../core/errors.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp, handleOps } from '../chain/support/handle-ops.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';

// More operations of ours in one block than any answer of a node holds. Each of them needs our signature, so limits and deposits bound
// their number; the chain must go on all the same.

const inOneBlock = 40;
/** As nodes limit it, only lower. */
const mostLogs = 15;

let devChain: DevChain;
let postgres: SharedPostgres | undefined;
let it: FollowedDevChain;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

async function few(filter: LogFilter): ReturnType<Chain['logs']> {
  const logs = await devChain.chain.logs(filter);
  if (logs.length <= mostLogs) return logs;
  throw new DomainError('UNAVAILABLE', `query returned more than ${mostLogs} results`);
}

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  test.each(['1.1.0', 'verifying-0.9'])(
    'profile %s: the operations are found by their senders, and the chain is settled further',
    async (version) => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
      it.lie({ logs: few }, { everywhere: true });
      const promised = [];
      for (let i = 0; i < inOneBlock; i++) {
        const account = await it.newAccount();
        promised.push((await it.sponsor(account, await it.operation(account)))!);
      }
      const { entryPointVersion } = it.profile;
      const { events } = await handleOps(
        devChain,
        entryPointVersion,
        promised.map(({ signed }) => signed),
      );
      expect(events).toHaveLength(inOneBlock);
      expect(await it.settle()).toMatchObject({ settled: inOneBlock, unattributed: 0, forfeited: 0 });
      expect(await it.live()).toBe(0);

      const account = await it.newAccount();
      const next = await it.sponsor(account, await it.operation(account));
      await handleOp(devChain, entryPointVersion, next!.signed);
      expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
      // The block is tried again, and passed over: nothing in it counts twice.
      const used = await it.used();
      expect(await it.follow(660)).toMatchObject({ settled: 0, unattributed: 0, passedOver: 1 });
      expect(await it.used()).toEqual(used);
      expect(used[0]).toBe(inOneBlock + 1);
    },
  );
});
