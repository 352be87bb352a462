import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { Interface } from 'ethers';
import { createChains } from '../../adapters/chain/chains.js';
import { silentLogger } from '../../core/log.js';
import { createPrices } from '../../core/ledger/prices.js';
import { createStatement } from '../../core/ledger/statement.js';
import { endOf, startOf } from '../../core/ledger/steps.js';
import { noMetrics } from '../../core/metrics.js';
import { toAddressKey } from '../../core/units/address.js';
import { systemClock, type EpochMs } from '../../core/units/time.js';
import { encodeWith } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { createNodes } from '../chain/support/nodes.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';

// Anybody may pay a wei into our deposit in every block. No event tells what came in, so its amount is read from balances before and
// after the block: a step reads few of them, and an honest operation beside them settles.

const dusty = 130;
/** Blocks with deposits of one step. */
const blocksPerStep = 50;
const abi = new Interface(['function depositTo(address account) payable']);

let devChain: DevChain;
let postgres: SharedPostgres | undefined;
let it: FollowedDevChain;
const nodes = createNodes(() => devChain.url);
const chains = createChains({
  log: silentLogger,
  clock: systemClock,
  metrics: noMetrics,
  timeoutMs: 20_000,
});
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(async () => {
  await nodes.stop();
  await chains.stop();
  await devChain.stop();
});
afterEach(() => it.stop());

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  test.each(['1.1.0', 'verifying-0.9'])(
    'profile %s: each step asks the node for few things, and the month adds up to the wei',
    async (version) => {
      it = await followDevChain(devChain, version, postgres, () => 'acme');
      let calls = 0;
      const url = await nodes.proxy(() => {
        calls += 1;
        return 'pass';
      });
      it.lie(chains.get({ chainId: devChain.chainId, rpc: { urls: [url] } }));
      await it.settle();
      const { entryPointVersion, entryPoint, sponsorship } = it.profile;
      const contract = toAddressKey(sponsorship);
      const dust = async (times: number): Promise<void> => {
        for (let i = 0; i < times; i++)
          await devChain.transactor.send('dust', {
            to: entryPoint,
            data: encodeWith(abi, 'depositTo', [contract]),
            value: 1n,
          });
      };
      const account = await it.newAccount();
      const promised = (await it.sponsor(account, await it.operation(account)))!;
      await dust(dusty / 2);
      const { event } = await handleOp(devChain, entryPointVersion, promised.signed);
      await dust(dusty / 2);

      let settled = 0;
      const counts: number[] = [];
      for (let step = 0; step < Math.ceil((dusty + 1) / blocksPerStep); step++) {
        calls = 0;
        settled += (await it.round()).settled;
        counts.push(calls);
      }
      expect(settled).toBe(1);
      expect(await it.live()).toBe(0);
      // A block and a balance for each block with deposits, and what every step asks.
      for (const count of counts) expect(count).toBeLessThan(2 * blocksPerStep + 40);

      const now = ((await devChain.time()) * 1_000) as EpochMs;
      const [from, to] = [startOf(now, 'month'), endOf(now, 'month')];
      const ledger = await it.openLedger();
      // Makes room for the records of that day, as the ledger's job does.
      const passing = to - now + 5_000;
      await ledger.prune((it.clock.now() + passing) as EpochMs);
      await it.pass(passing / 1_000);
      await it.settle();
      const accounts = [{ chainId: devChain.chainId, contract, fundingAddress: undefined }];
      const [facts] = await ledger.statement({ accounts, from, to });
      const found = createStatement(facts!, { to, now: to, prices: createPrices([]), isOwn: () => true });
      await ledger.stop();
      expect(found).toMatchObject({
        deposits: { wei: BigInt(dusty), count: dusty },
        paymasters: [{ mined: { wei: event.actualGasCost } }],
        others: 0n,
        unreadDeposits: 0,
        unreadBlocks: [],
      });
    },
  );
});
