import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { toAddressKey } from '../../core/units/address.js';
import { gweiCeil, parseEther } from '../../core/units/wei.js';
import { encodeWith } from '../chain/support/account.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { handleOp } from '../chain/support/handle-ops.js';
import { hybridAbi } from '../chain/support/hybrid.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain } from './support/followed-dev-chain.js';
import { onOneProcess } from './support/stores.js';
import { aDeployedAccount } from './support/wallet.js';

// A wallet that begins with 0x01 was read as data of a mode that needs no signature: what it sponsored counted nowhere, and a limit of
// four operations let seven be mined.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

/** First bytes that are modes or flags of some layout, and others. */
const firstBytes = ['00', '01', '02', '03', '07', '7f', 'ff'] as const;
const most = 4;

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  // The layouts that keep balances per wallet.
  describe.each(['1.1.0', '2.0.0', 'hybrid-0.9'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test.each(firstBytes)('a wallet 0x%s… sponsors as many operations as its limit says', async (first) => {
      const wallet = toAddressKey(`0x${first}${'a5'.repeat(19)}`);
      await devChain.transactor.send('deposit', {
        to: devChain.profile(version).sponsorship,
        data: encodeWith(hybridAbi, 'depositFor', [wallet]),
        value: parseEther('1'),
      });
      const account = await aDeployedAccount(devChain, version);
      const terms = { fundingAddress: wallet, count: most };
      let cost = 0;
      let mined = 0;
      for (let tries = 0; tries < most + 2; tries++) {
        const asked = await it.sponsor(account, await it.operation(account), terms);
        if (asked === undefined) break;
        // A second promise for the nonce: the bytes have to tell which of them was mined.
        await it.sponsor(account, await it.operation(account, { callGasLimit: 70_000n }), terms);
        const { event } = await handleOp(devChain, it.profile.entryPointVersion, asked.signed);
        cost += gweiCeil(event.actualGasCost);
        mined += 1;
        expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
      }
      expect(mined).toBe(most);
      expect(await it.used()).toEqual([most, cost]);
    });
  });
});
