import { describe, expect, test } from '@jest/globals';
import { gwei } from '../../../core/units/wei.js';
import {
  aKey,
  aLimit,
  anAddress,
  aNeed,
  aRequest,
  aSpend,
  chainId,
  contract,
  funding,
  seconds,
} from '../usage-requests.js';
import { depositUnknown, reserved, type Suite } from './suite.js';

/** Balances, and the promises on them. */
export function accountsConformance(it: Suite): void {
  describe('accounts', () => {
    const need = (nonce: bigint, amount: number) => aRequest({ key: { nonce }, accounts: [aNeed(amount)] });
    const wallet = { contract, fundingAddress: funding };

    test('live needs and the new one must fit the balance', async () => {
      await it.deposit(100);
      expect(await it.store.reserve(need(1n, 70))).toEqual(reserved);
      expect(await it.store.reserve(need(2n, 31))).toEqual({
        outcome: 'deposit',
        index: 0,
        balance: 100,
        reserved: 70,
      });
      expect(await it.store.reserve(need(3n, 30))).toEqual(reserved);
    });

    test('a balance that is too low takes nothing from limits or from other accounts', async () => {
      await it.deposit(100);
      await it.deposit(10, wallet);
      const request = aRequest({
        limits: [aLimit()],
        accounts: [aNeed(50), aNeed(50, { fundingAddress: funding })],
      });
      expect(await it.store.reserve(request)).toMatchObject({ outcome: 'deposit', index: 1, balance: 10 });
      expect(await it.stands(aLimit())).toEqual([[0, 0]]);
      expect((await it.store.peek(need(1n, 1))).accounts).toMatchObject([{ balance: 100, reserved: 0 }]);
    });

    test('a balance that was never read, or too long ago, is an outage and not a refusal', async () => {
      const request = aRequest({ accounts: [aNeed(1)], depositMaxAgeMs: 1000 });
      await expect(it.store.reserve(request)).rejects.toMatchObject(depositUnknown);
      await it.deposit(100);
      it.clock.advance(1000);
      expect(await it.store.reserve(request)).toEqual(reserved);
      it.clock.advance(1);
      await expect(it.store.reserve(request)).rejects.toMatchObject(depositUnknown);
      await expect(it.store.peek(request)).rejects.toMatchObject(depositUnknown);
      expect(await it.store.accounts(chainId)).toMatchObject([{ reserved: 1 }]);
    });

    test('a limit that is full refuses whether or not the balance is known', async () => {
      const request = aRequest({ limits: [aLimit({ threshold: 0 })], accounts: [aNeed(1)] });
      expect(await it.store.reserve(request)).toMatchObject({ outcome: 'limit' });
    });

    test('the first balance of an account counts, later ones come with the follower only', async () => {
      const first = { ...wallet, balance: gwei(100), reserved: gwei(0), readAt: it.clock.now() };
      await it.store.addBalance(chainId, first);
      await it.store.addBalance(chainId, { ...first, balance: gwei(900) });
      expect(await it.store.accounts(chainId)).toEqual([first]);
      await it.deposit(40, wallet);
      expect(await it.store.accounts(chainId)).toEqual([{ ...first, balance: 40 }]);
      expect(await it.store.accounts(chainId + 1)).toEqual([]);
    });

    test('a balance that falls below the promised sum refuses until promises end', async () => {
      await it.deposit(100);
      expect(await it.store.reserve(need(1n, 60))).toEqual(reserved);
      await it.deposit(50);
      expect(await it.store.reserve(need(1n, 60))).toMatchObject({
        outcome: 'deposit',
        balance: 50,
        reserved: 0,
      });
      await it.advance({ released: [{ key: aKey({ nonce: 1n }), validUntil: seconds(300) }] });
      expect(await it.store.reserve(need(2n, 50))).toEqual(reserved);
    });

    test('settlement and the resulting balance are one step', async () => {
      await it.deposit(100);
      await it.store.reserve(need(1n, 100));
      await it.advance({
        settled: [{ key: aKey({ nonce: 1n }), actualCost: gwei(30) }],
        balances: [{ contract, balance: gwei(70), readAt: it.clock.now() }],
      });
      expect(await it.store.reserve(need(2n, 71))).toMatchObject({
        outcome: 'deposit',
        balance: 70,
        reserved: 0,
      });
      expect(await it.store.reserve(need(2n, 70))).toEqual(reserved);
    });

    test('an account that a restored reservation names has promises and no balance', async () => {
      await it.deposit(100);
      await it.store.reserve(need(1n, 10));
      const [reservation] = await it.store.reservations(chainId);
      const elsewhere = { ...aNeed(10), contract: anAddress(0xc9) };
      await it.advance({ restored: [{ ...reservation!, key: aKey({ nonce: 5n }), accounts: [elsewhere] }] });
      const seen = (await it.store.accounts(chainId)).find((one) => one.contract === elsewhere.contract);
      expect(seen).toMatchObject({ balance: undefined, reserved: 10, readAt: undefined });
    });

    test('an account is forgotten where nothing is promised from it', async () => {
      await it.deposit(100);
      await it.deposit(100, wallet);
      await it.store.reserve(need(1n, 10));
      await it.store.forgetAccounts(chainId, [{ contract }, wallet, { contract: anAddress(0xc9) }]);
      expect(await it.store.accounts(chainId)).toMatchObject([{ contract, balance: 100, reserved: 10 }]);
      expect((await it.store.accounts(chainId))[0]).not.toHaveProperty('fundingAddress');
      await expect(
        it.store.reserve(aRequest({ accounts: [{ ...wallet, need: gwei(1) }] })),
      ).rejects.toMatchObject(depositUnknown);
      await it.store.addBalance(chainId, {
        ...wallet,
        balance: gwei(7),
        reserved: gwei(0),
        readAt: it.clock.now(),
      });
      expect(await it.store.reserve(aRequest({ accounts: [{ ...wallet, need: gwei(7) }] }))).toEqual(
        reserved,
      );
    });

    test('accounts that were forgotten stay so after a restart, and limits know nothing of it', async () => {
      await it.deposit(100, wallet);
      await it.store.reserve(aRequest({ limits: [aSpend(5)] }));
      await it.store.forgetAccounts(chainId, [wallet]);
      await it.replaced('reopen');
      expect(await it.store.accounts(chainId)).toEqual([]);
      expect(await it.stands(aSpend(0))).toEqual([[0, 5]]);
    });
  });
}
