import { beforeEach, expect, test } from '@jest/globals';
import { plusMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { AccountBalance } from '../../../core/usage/reserve-request.js';
import { AccountsInUse, followedForMs } from '../../../server/follower/balances.js';
import { anAddress, contract, funding, startMs } from '../../conformance/usage-requests.js';

const wallet = anAddress(0xf2);
const gone = anAddress(0xc9);
const known = (reserved: number, change: Partial<AccountBalance> = {}): AccountBalance => ({
  contract,
  fundingAddress: wallet,
  balance: gwei(9),
  reserved: gwei(reserved),
  readAt: startMs,
  ...change,
});

let inUse: AccountsInUse;
beforeEach(() => {
  inUse = new AccountsInUse();
});
const select = (accounts: readonly AccountBalance[], afterMs: number) =>
  inUse.select(
    accounts,
    [{ contract, fundingAddress: funding }],
    new Set([contract]),
    plusMs(startMs, afterMs),
  );
const always = [{ contract }, { contract, fundingAddress: funding }];
const used = { contract, fundingAddress: wallet };

test('deposits of contracts and wallets of the platform are followed always', () => {
  expect(select([], 0)).toEqual({ followed: always, forgotten: [] });
  const stale = [known(0, { fundingAddress: funding })];
  expect(select(stale, 0).forgotten).toEqual([]);
  expect(select(stale, followedForMs)).toEqual({ followed: always, forgotten: [] });
});

test('a wallet is followed once it is first seen, then forgotten, and followed again at the next request', () => {
  expect(select([known(0)], 0).followed).toEqual([...always, used]);
  expect(select([known(0)], followedForMs - 1).followed).toEqual([...always, used]);
  expect(select([known(0)], followedForMs)).toEqual({ followed: always, forgotten: [used] });
  expect(select([], followedForMs + 1)).toEqual({ followed: always, forgotten: [] });
  expect(select([known(0)], followedForMs + 2).followed).toEqual([...always, used]);
});

test('a wallet is followed while something is promised from it, and a while longer', () => {
  select([known(5)], 0);
  expect(select([known(5)], 5 * followedForMs).followed).toEqual([...always, used]);
  expect(select([known(0)], 6 * followedForMs - 1).followed).toEqual([...always, used]);
  expect(select([known(0)], 6 * followedForMs).forgotten).toEqual([used]);
});

test('a wallet in a contract that no profile names is followed while something is promised from it, and no longer', () => {
  const account = { contract: gone, fundingAddress: wallet };
  expect(select([known(5, { contract: gone })], 0)).toEqual({
    followed: [...always, account],
    forgotten: [],
  });
  expect(select([known(0, { contract: gone })], 1)).toEqual({ followed: always, forgotten: [account] });
});
