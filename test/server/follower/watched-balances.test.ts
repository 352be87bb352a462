import { beforeEach, describe, expect, test } from '@jest/globals';
import { anAddress, chainId, contract, entryPoint, funding } from '../../conformance/usage-requests.js';
import { depositOf, walletOf } from '../../fakes/chain.js';
import {
  accountsOf,
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  gweiInWei,
  otherFunding,
  type Followed,
} from './followed.js';

let it: Followed;
beforeEach(async () => {
  it = await aFollowed();
});

const reserved = { outcome: 'reserved' };

describe('balances', () => {
  test('a withdrawal that the head shows counts at once, a deposit when it is confirmed', async () => {
    it.chain.mine({ transfers: [[walletOf(contract, funding), -300n * gweiInWei]] });
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [1000, 0],
      [700, 0],
    ]);
    it.chain.mine({ transfers: [[depositOf(entryPoint, contract), 500n * gweiInWei]] });
    await it.follower.round();
    expect(await accountsOf(it)).toMatchObject([
      [1000, 0],
      [700, 0],
    ]);
    it.pass(2);
    await it.follower.round();
    expect(await accountsOf(it)).toMatchObject([
      [1500, 0],
      [700, 0],
    ]);
  });

  test('a charge that is not settled yet is not taken from the deposit twice', async () => {
    await it.usage.reserve(aPromise(600));
    it.chain.mine({ operations: [anOperation(590)] });
    await it.follower.round();
    const [deposit] = await accountsOf(it);
    expect(deposit).toEqual([1000, 600]);
    expect(
      await it.usage.reserve(
        aPromise(400, { key: { nonce: 1n }, accounts: aPromise(400).accounts.slice(0, 1) }),
      ),
    ).toEqual(reserved);
  });

  test('an operation that nobody reserved is taken from the deposit as soon as the head shows it', async () => {
    it.chain.mine({ operations: [anOperation(250)] });
    await it.follower.round();
    expect(await accountsOf(it)).toEqual([
      [750, 0],
      [750, 0],
    ]);
  });

  test('balances of an idle chain stay fresh', async () => {
    it.clock.advance(61_000);
    expect((await it.follower.round()).cursor).toBeDefined();
    const request = aPromise(1, { depositMaxAgeMs: 1000 });
    expect(await it.usage.reserve(request)).toEqual(reserved);
  });

  test('a new funding wallet is read at once, and the round does not overwrite what it finds later', async () => {
    const wallet = otherFunding;
    it.chain.mine({ transfers: [[walletOf(contract, wallet), 70n * gweiInWei]] });
    it.pass(2);
    const request = aPromise(50, { promise: { fundingAddress: wallet } });
    await expect(it.usage.reserve(request)).rejects.toMatchObject({ details: { reason: 'DEPOSIT_UNKNOWN' } });
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    expect(await it.usage.reserve(request)).toEqual(reserved);
    it.chain.mine({ transfers: [[walletOf(contract, wallet), -70n * gweiInWei]] });
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    await it.follower.round();
    expect(
      await it.usage.reserve(aPromise(1, { promise: { fundingAddress: wallet }, key: { nonce: 1n } })),
    ).toMatchObject({
      outcome: 'deposit',
      balance: 0,
      reserved: 50,
    });
  });

  test('a contract that can no longer be read makes only its own balances unknown', async () => {
    it.chain.broken.add(funding);
    it.pass(1);
    await it.follower.round();
    const aged = { depositMaxAgeMs: 900_000 };
    await expect(it.usage.reserve(aPromise(1, aged))).rejects.toMatchObject({
      details: { reason: 'DEPOSIT_UNKNOWN' },
    });
    expect(
      await it.usage.reserve(aPromise(1, { ...aged, accounts: aPromise(1).accounts.slice(0, 1) })),
    ).toEqual(reserved);
    it.chain.broken.clear();
    it.pass(1);
    await it.follower.round();
    expect(await it.usage.reserve(aPromise(1, { ...aged, key: { nonce: 1n } }))).toEqual(reserved);
  });

  test('an account that was never readable stays unknown', async () => {
    const wallet = otherFunding;
    it.chain.broken.add(wallet);
    it.watch([{ contract, fundingAddress: wallet }]);
    it.pass(1);
    await it.follower.round();
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    const accounts = await it.usage.accounts(chainId);
    expect(accounts.map(({ fundingAddress }) => fundingAddress)).toEqual([undefined, funding]);
  });
});

/** Balance of the funding wallet, undefined when it is not known. */
async function walletBalance(): Promise<number | undefined> {
  const accounts = await it.usage.accounts(chainId);
  return accounts.find(({ fundingAddress }) => fundingAddress === funding)?.balance;
}

describe('a node that lags behind a withdrawal that was read', () => {
  beforeEach(async () => {
    await it.usage.reserve(aPromise(10));
    it.chain.mine({ transfers: [[walletOf(contract, funding), -300n * gweiInWei]] });
    await it.follower.round();
    expect(await walletBalance()).toBe(700);
    it.chain.shown = it.chain.height - 1;
    it.clock.advance(61_000);
  });

  test.each([
    { name: 'does not raise the balance again', follower: () => it.follower },
    { name: 'nor does it where another process follows the chain', follower: () => it.create() },
  ])('$name', async ({ follower }) => {
    await follower().round();
    expect(await walletBalance()).toBe(700);
    it.chain.shown = undefined;
    it.pass(2);
    it.chain.mine({ transfers: [[walletOf(contract, funding), 100n * gweiInWei]] });
    it.pass(2);
    await follower().round();
    expect(await walletBalance()).toBe(800);
  });

  test('still lowers it', async () => {
    it.chain.reorganise(it.chain.height - 2);
    it.chain.mine({ transfers: [[walletOf(contract, funding), -400n * gweiInWei]] });
    await it.follower.round();
    expect(await walletBalance()).toBe(600);
  });

  test('gives no first balance of another wallet', async () => {
    const wallet = otherFunding;
    await expect(it.follower.ensureAccount({ contract, fundingAddress: wallet })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      details: { reason: 'DEPOSIT_UNKNOWN' },
    });
    it.chain.shown = undefined;
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    expect((await it.usage.accounts(chainId)).length).toBe(3);
  });

  test('gives no balance of a wallet that could not be read for a while', async () => {
    it.chain.shown = undefined;
    it.chain.broken.add(funding);
    it.pass(1);
    await it.follower.round();
    it.chain.broken.clear();
    it.chain.shown = it.chain.height - 1;
    it.clock.advance(61_000);
    await it.follower.round();
    await expect(
      it.usage.reserve(aPromise(1, { key: { nonce: 1n }, depositMaxAgeMs: 900_000 })),
    ).rejects.toMatchObject({ details: { reason: 'DEPOSIT_UNKNOWN' } });
  });
});

test('a shorter chain that replaced the old one counts as soon as it is as long', async () => {
  const before = it.chain.height;
  it.chain.mine({ transfers: [[walletOf(contract, funding), -300n * gweiInWei]] });
  it.chain.mineEmpty(1);
  await it.follower.round();
  it.chain.reorganise(before);
  it.chain.mine();
  await it.follower.round();
  expect(await walletBalance()).toBe(700);
  it.chain.mine();
  await it.follower.round();
  expect(await walletBalance()).toBe(1000);
});

describe('the balance of a contract whose profile was removed', () => {
  const offered = aChainConfig();
  const asked = { depositMaxAgeMs: 900_000, key: { nonce: 1n } };
  const taken = [walletOf(contract, funding), -950n * gweiInWei] as const;

  test('is forgotten at once, and read at the first request when the profile is offered again', async () => {
    it.reconfigure(aChainConfig({ profiles: [] }));
    await it.follower.round();
    expect(await it.usage.accounts(chainId)).toEqual([]);
    it.chain.mine({ transfers: [taken] });
    it.pass(2);
    await it.follower.round();
    it.reconfigure(offered);
    await expect(it.usage.reserve(aPromise(100, asked))).rejects.toMatchObject({
      details: { reason: 'DEPOSIT_UNKNOWN' },
    });
    await it.follower.ensureAccount({ contract });
    await it.follower.ensureAccount({ contract, fundingAddress: funding });
    expect(await it.usage.reserve(aPromise(100, asked))).toMatchObject({ outcome: 'deposit', balance: 50 });
  });

  test('is still read while something is promised from it', async () => {
    await it.usage.reserve(aPromise(40));
    it.reconfigure(aChainConfig({ profiles: [] }));
    await it.follower.round();
    it.chain.mine({ transfers: [taken] });
    await it.follower.round();
    it.reconfigure(offered);
    expect(await it.usage.reserve(aPromise(100, asked))).toMatchObject({ outcome: 'deposit', balance: 50 });
  });

  test('is not trusted in a new process that does not know how to read it', async () => {
    await it.usage.reserve(aPromise(40));
    it.reconfigure(aChainConfig({ profiles: [] }));
    const restarted = it.create();
    await restarted.round();
    it.reconfigure(offered);
    await expect(it.usage.reserve(aPromise(100, asked))).rejects.toMatchObject({
      details: { reason: 'DEPOSIT_UNKNOWN' },
    });
    await restarted.round();
    expect(await it.usage.reserve(aPromise(100, asked))).toEqual(reserved);
  });
});

describe('wallets of paymasters', () => {
  const wallets = Array.from({ length: 100 }, (_, n) => anAddress(0x5000 + n));
  /** Calls that a node would bill: head, tip, settled block and its proof, and events and balances of both kinds of blocks. */
  const mostPerBlock = 9;
  const calls = () => [...it.chain.requests.values()].reduce((sum, count) => sum + count, 0);

  /** Requests of the rounds of so many blocks. */
  async function callsPerBlock(blocks: number): Promise<number> {
    const before = calls();
    for (let n = 0; n < blocks; n++) {
      it.pass(1);
      await it.follower.round();
    }
    return (calls() - before) / blocks;
  }

  test('a hundred that were requested once add no calls per block, and are forgotten', async () => {
    expect(await callsPerBlock(5)).toBe(mostPerBlock);
    for (const wallet of wallets) await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    expect((await it.usage.accounts(chainId)).length).toBe(102);
    expect(await callsPerBlock(5)).toBe(mostPerBlock);
    it.pass(50);
    await it.follower.round();
    expect((await it.usage.accounts(chainId)).length).toBe(2);
  });

  test('one is followed while something is promised from it, and read again at the first request after a pause', async () => {
    const wallet = wallets[0]!;
    const request = (nonce: bigint) => aPromise(10, { key: { nonce }, promise: { fundingAddress: wallet } });
    it.chain.mine({ transfers: [[walletOf(contract, wallet), 50n * gweiInWei]] });
    it.pass(2);
    await it.follower.round();
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    expect(await it.usage.reserve(request(0n))).toEqual(reserved);
    it.pass(70);
    await it.follower.round();
    expect((await it.usage.accounts(chainId)).length).toBe(3);
    it.chain.mine({ operations: [anOperation(10, { payer: { wallet } })] });
    it.pass(2);
    await it.follower.round();
    expect((await it.usage.accounts(chainId)).length).toBe(3);
    it.pass(50);
    await it.follower.round();
    expect((await it.usage.accounts(chainId)).length).toBe(2);

    await expect(it.usage.reserve(request(1n))).rejects.toMatchObject({
      details: { reason: 'DEPOSIT_UNKNOWN' },
    });
    await it.follower.ensureAccount({ contract, fundingAddress: wallet });
    expect(await it.usage.reserve(request(1n))).toEqual(reserved);
  });
});
