import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { approval, mint } from '../chain/support/tokens.js';
import { sharedPostgres, type SharedPostgres } from '../support/postgres.js';
import { followDevChain, type FollowedDevChain, type Promised } from './support/followed-dev-chain.js';
import { mineRelayed } from './support/relayed.js';
import { onOneProcess } from './support/stores.js';
import { sendAs } from '../chain/support/send-as.js';
import { aDeployedAccount } from './support/wallet.js';

// EntryPoints 0.6 and 0.7 take bundles from contracts, so nothing in the input of a transaction has to show what it mines. A sponsorship
// that a contract relayed counted as the unpaid token payment of its nonce, and its honest account was barred.

let devChain: DevChain;
let it: FollowedDevChain;
let postgres: SharedPostgres | undefined;
beforeAll(async () => {
  devChain = await startDevChain();
});
afterAll(() => devChain.stop());
afterEach(() => it.stop());

const relayed = ({ signed }: Promised) => mineRelayed(devChain, it.profile.entryPointVersion, signed);

describe.each(onOneProcess)('on %s', (store) => {
  beforeAll(async () => {
    postgres = store === 'the embedded store' ? undefined : await sharedPostgres();
  });
  afterAll(() => postgres?.stop());

  describe.each(['1.1.0', '2.0.0', 'singleton-0.6', 'singleton-0.7'])('profile %s', (version) => {
    beforeEach(async () => {
      it = await followDevChain(devChain, version, postgres);
      await it.settle();
    });

    test('a sponsorship counts as a sponsorship, although a token payment was promised for its nonce', async () => {
      const account = await aDeployedAccount(devChain, version);
      const sponsored = await it.sponsor(account, await it.operation(account));
      await it.promiseTokens(account, await it.operation(account));
      const cost = await relayed(sponsored!);
      // The contract's own event shows the mode, or the wallet.
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.losses(account)).toEqual([0, 0]);
      expect(await it.used()).toEqual([1, cost]);
    });

    test('a token payment that was paid takes nothing of a limit, although a sponsorship was promised for its nonce', async () => {
      const token = devChain.deployments.feeToken.address;
      const account = await aDeployedAccount(devChain, version);
      await mint(devChain, token, account.address, 10n ** 12n);
      await sendAs(devChain, account.address, approval(token, it.profile, 10n ** 12n));
      await it.sponsor(account, await it.operation(account));
      const paid = await it.promiseTokens(account, await it.operation(account));
      await relayed(paid!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 0, unattributed: 0 });
      expect(await it.losses(account)).toEqual([0, 0]);
      expect(await it.used()).toEqual([0, 0]);
    });
  });

  // Where the contract collects after the call and reports nothing when it cannot.
  describe('profile singleton-0.7', () => {
    beforeEach(async () => {
      it = await followDevChain(devChain, 'singleton-0.7', postgres);
      await it.settle();
    });

    test('an operation that may be either counts once as each, and bars nobody', async () => {
      const account = await it.newAccount();
      await it.sponsor(account, await it.operation(account));
      const attack = await it.promiseTokens(account, await it.operation(account));
      const cost = await relayed(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([cost, 0]);
      expect(await it.used()).toEqual([1, cost]);
      expect(await it.live()).toBe(0);
    });

    test('an unpaid token payment bars its account where nothing else was promised', async () => {
      const account = await it.newAccount();
      const attack = await it.promiseTokens(account, await it.operation(account));
      const cost = await relayed(attack!);
      expect(await it.settle()).toMatchObject({ settled: 1, unpaid: 1, unattributed: 0 });
      expect(await it.losses(account)).toEqual([cost, cost]);
    });
  });
});
