import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { aStepDecision } from '../../conformance/step-records.js';
import { anAddress, contract, entryPoint, funding } from '../../conformance/usage-requests.js';
import { aChainConfig, anOperation, aPromise, chargeTopic, gweiInWei, signedBytes } from './followed.js';
import {
  afterMonth,
  aRecorded,
  deposit,
  february,
  lines,
  nothing,
  ofWallet,
  paidIn,
  stranger,
  takenOut,
  wallet,
  type Recorded,
} from './movements.js';

let it: Recorded;
beforeEach(async () => {
  it = await aRecorded();
});
afterEach(() => it.stop());

describe('movements of a month', () => {
  test('each line is what the chain says, for the deposit and for the wallet inside, and nothing is left over', async () => {
    const follower = it.recording();
    await follower.round();
    it.chain.mine({ operations: [await it.promised(100, 40, 45n * gweiInWei)] });
    it.chain.mine(paidIn(7n));
    it.chain.mine(takenOut(3n));
    it.chain.mine(ofWallet('in', 11n));
    it.chain.mine(ofWallet('out', 5n));
    it.pass(2);
    await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const cost = 40n * gweiInWei;
    expect(lines(await it.statement(deposit))).toEqual({
      ...nothing,
      deposits: 7n,
      withdrawals: 3n,
      mined: cost,
    });
    expect(lines(await it.statement(wallet))).toEqual({
      ...nothing,
      deposits: 11n,
      withdrawals: 5n,
      mined: cost,
      burnt: 5n * gweiInWei,
    });
    const { closing, unreadBlocks, openingReason, closingReason } = await it.statement(wallet);
    expect(closing?.balanceWei).toBe(1000n * gweiInWei - 45n * gweiInWei + 6n);
    expect([unreadBlocks, openingReason, closingReason]).toEqual([[], 'BEGAN_WITHIN', undefined]);
    expect((await it.statement(wallet, february)).opening).toEqual({ ...closing, at: february });
  });

  test('what a stranger pays in is a deposit, also within a bundle, where the event tells a wrong total', async () => {
    const follower = it.recording();
    await follower.round();
    it.chain.mine({ ...paidIn(9n), operations: [await it.promised(100, 40, 40n * gweiInWei)] });
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, deposits: 9n, mined: 40n * gweiInWei });
  });

  test('an event of the same shape from another contract, or about another deposit, is nothing', async () => {
    const follower = it.recording();
    await follower.round();
    const [forged] = paidIn(0n).emitted;
    const [inContract] = ofWallet('in', 10n ** 18n).emitted;
    const otherEntryPoint = anAddress(0x99);
    it.chain.mine({
      emitted: [
        { ...forged!, address: stranger },
        { ...takenOut(10n ** 18n).emitted[0]!, address: stranger },
        { ...inContract!, address: stranger },
        { ...inContract!, address: entryPoint },
        { ...forged!, address: contract },
      ],
    });
    it.chain.mine(paidIn(5n, contract, otherEntryPoint));
    it.chain.mine(paidIn(5n, stranger));
    it.chain.mine(ofWallet('in', 5n, stranger));
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await it.statement(deposit))).toEqual(nothing);
    expect(lines(await it.statement(wallet))).toEqual(nothing);
    const { transfers } = await it.statement({ contract, fundingAddress: stranger });
    expect(transfers).toEqual([]);
  });

  test('an operation that nobody promised is burnt, and one of another organisation is not named', async () => {
    const follower = it.recording();
    await follower.round();
    const other = aPromise(100, { key: { nonce: 50n, paymasterId: 'pm-9' }, record: aStepDecision(50) });
    await it.usage.reserve(other);
    it.chain.mine({
      operations: [
        anOperation(30, { nonce: 77n, sender: stranger, payer: { wallet: stranger } }),
        anOperation(20, { nonce: 50n, payer: { wallet: funding, topic0: chargeTopic } }),
      ],
    });
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const burnt = 30n * gweiInWei;
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, burnt, minedByOthers: 20n * gweiInWei });
    expect((await it.statement(deposit)).paymasters).toEqual([]);
  });

  test('what a contract keeps when its postOp fails is burnt, though no event says how much', async () => {
    const follower = it.recording();
    await follower.round();
    const { payer, ...operation } = await it.promised(100, 40);
    it.chain.mine({
      operations: [{ ...operation, payer: { wallet: payer!.wallet, charge: 90n * gweiInWei } }],
    });
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const mined = 40n * gweiInWei;
    expect(lines(await it.statement(wallet))).toEqual({ ...nothing, mined, burnt: 50n * gweiInWei });
  });

  test('an operation in tokens that paid nothing is a loss and not mined', async () => {
    await it.stop();
    it = await aRecorded(tokenConfig());
    const follower = it.recording();
    await follower.round();
    const { digest, input } = signedBytes('ERC20', 1, { nonce: 1n });
    const request = aPromise(100, {
      key: { nonce: 1n },
      record: aStepDecision(1),
      promise: { mode: 'ERC20', digest, token: anAddress(0x70) },
    });
    expect(await it.usage.reserve(request)).toMatchObject({ outcome: 'reserved' });
    it.chain.mine({
      operations: [anOperation(40, { nonce: 1n, input, payer: { wallet: funding, topic0: chargeTopic } })],
    });
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await it.statement(deposit))).toEqual({ ...nothing, losses: 40n * gweiInWei });
    expect(lines(await it.statement(wallet))).toEqual({ ...nothing, losses: 40n * gweiInWei });
  });
});

/** The wallet's contract takes tokens, too. */
function tokenConfig() {
  const config = aChainConfig();
  return aChainConfig({
    profiles: config.profiles.map((profile) => ({ ...profile, token: profile.sponsorship })),
  });
}
