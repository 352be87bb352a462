import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { contract, entryPoint } from '../../conformance/usage-requests.js';
import { depositOf } from '../../fakes/chain.js';
import { runs } from '../../support/property.js';
import { anOperation, gweiInWei } from './followed.js';
import {
  refusesBalances,
  afterMonth,
  aRecorded,
  deposit,
  lines,
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

describe('movements after a reorganisation', () => {
  test('a reorganisation takes the movements of its blocks back, and those of the new ones count', async () => {
    const follower = it.recording();
    await follower.round();
    const operation = await it.promised(100, 40, 40n * gweiInWei);
    it.pass(1);
    await follower.round();
    const before = it.chain.height;
    it.chain.mine({ ...paidIn(9n), operations: [operation] });
    it.pass(2);
    await follower.round();
    it.chain.reorganise(before);
    it.chain.mine(paidIn(2n));
    it.chain.mine({ operations: [anOperation(30, { nonce: operation.nonce, payer: operation.payer! })] });
    it.pass(4);
    await follower.round();
    await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const found = await it.statement(deposit);
    expect(lines(found)).toMatchObject({ deposits: 2n, others: 0n });
    expect(found.closing?.balanceWei).toBe(it.chain.stateAt().get(depositOf(entryPoint, contract)));
  });

  test('an edge that a reorganisation removes is recorded anew', async () => {
    const follower = it.recording();
    await follower.round();
    const before = it.chain.height;
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect((await it.statement(deposit)).closing).toBeDefined();
    it.chain.reorganise(before);
    it.chain.mine(paidIn(4n));
    it.chain.mine({ time: afterMonth });
    it.pass(4);
    await follower.round();
    await follower.round();
    const { closing } = await it.statement(deposit);
    expect(closing?.balanceWei).toBe(1000n * gweiInWei + 4n);
  });

  test('any month adds up to the wei, whatever happens, and after every reorganisation', async () => {
    const event = fc.record({
      kind: fc.constantFrom(
        'operation',
        'stranger',
        'in',
        'out',
        'wallet in',
        'wallet out',
        'bundle',
        'nothing',
        'round',
        'reorganisation',
        'takeover',
        'refusal',
        'answers',
      ),
      wei: fc.bigInt(1n, 1_000_000n),
      depth: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (events) => {
        await it.stop();
        it = await aRecorded();
        let follower = it.recording();
        await follower.round();
        const first = it.chain.height;
        for (const { kind, wei, depth } of events) {
          if (kind === 'operation')
            it.chain.mine({ operations: [await it.promised(3, 2, 2n * gweiInWei + wei)] });
          if (kind === 'bundle')
            it.chain.mine({ ...paidIn(wei), operations: [await it.promised(3, 2, 2n * gweiInWei)] });
          if (kind === 'stranger')
            it.chain.mine({
              operations: [anOperation(1, { nonce: wei, sender: stranger, payer: { wallet: stranger } })],
            });
          if (kind === 'in') it.chain.mine(paidIn(wei));
          if (kind === 'out') it.chain.mine(takenOut(wei));
          if (kind === 'wallet in') it.chain.mine(ofWallet('in', wei));
          if (kind === 'wallet out') it.chain.mine(ofWallet('out', wei));
          if (kind === 'refusal') it.chain.refuses = refusesBalances;
          if (kind === 'answers') it.chain.refuses = () => false;
          if (kind === 'nothing') it.pass(1);
          if (kind === 'takeover') follower = it.recording();
          if (kind === 'reorganisation') {
            const { height } = it.chain;
            it.chain.reorganise(Math.max(first, height - depth));
            it.pass(depth + 1);
          }
          it.clock.advance(3_000);
          if (kind === 'round' || kind === 'reorganisation') await follower.round();
        }
        it.chain.refuses = () => false;
        // Longer than the longest pause before a node is asked again.
        for (let i = 0; i < 12; i++) {
          it.pass(4);
          await follower.round();
        }
        it.chain.mine({ time: afterMonth });
        it.pass(2);
        await follower.round();
        for (const account of [deposit, wallet]) {
          const found = await it.statement(account);
          // What a follower had not read when another one took over stays open, and is said.
          const isTakenOver = events.some(({ kind }) => kind === 'takeover');
          if (!isTakenOver || found.unreadBlocks.length === 0) expect(found.others).toBe(0n);
          if (!isTakenOver) expect(found.unreadBlocks).toEqual([]);
        }
      }),
      runs(60),
    );
  });
});
