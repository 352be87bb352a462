import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { findOutcome } from '../../../core/ledger/outcome.js';
import type { Reversal, Settlement } from '../../../core/ledger/record.js';
import { paidGasInTokens } from '../../../core/paymaster/token-charge.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { aStepDecision } from '../../conformance/step-records.js';
import { anAddress, chainId, contract, funding, seconds, sender } from '../../conformance/usage-requests.js';
import { walletOf } from '../../fakes/chain.js';
import {
  accountsOf,
  aFollowed,
  anOperation,
  aPromise,
  followFor,
  gweiInWei,
  lossesOf,
  otherFunding,
  signedBytes,
  usedOf,
  type Followed,
} from './followed.js';

// Anyone may mine our operation, in a transaction that no node can show.

let it: Followed;
const [ours, theirs] = [signedBytes('SPONSORED', 1), signedBytes('SPONSORED', 2, { wallet: otherFunding })];
const passedOver = {
  level: 'error',
  message: 'operation cannot be read: settled for every promise that it may carry',
};

beforeEach(async () => {
  it = await aFollowed();
  it.watch([
    { contract, fundingAddress: funding },
    { contract, fundingAddress: otherFunding },
  ]);
  it.chain.mine({ transfers: [[walletOf(contract, otherFunding), 1000n * gweiInWei]] });
  it.pass(2);
  await it.follower.round();
});
afterEach(() => it.stop());

/** Two paymasters have promised one operation, so only its bytes tell which of them pays. */
async function promiseTwice(): Promise<void> {
  const second = { digest: theirs.digest, fundingAddress: otherFunding };
  await it.usage.reserve(
    aPromise(100, {
      promise: { digest: ours.digest, validUntil: seconds(900) },
      record: aStepDecision(1),
    }),
  );
  await it.usage.reserve(
    aPromise(60, {
      key: { paymasterId: 'pm-2' },
      promise: { ...second, validUntil: seconds(900) },
      record: aStepDecision(2),
    }),
  );
}

/** Mines it, and lets it be confirmed. */
function mine(cost = 40): void {
  it.chain.mine({ operations: [anOperation(cost, { input: theirs.input })] });
  it.pass(2);
}

const follow = (passing: number, of = it.follower) => followFor(it, passing, of);

const noTransactions = () => (it.chain.refuses = (asked) => 'transaction' in asked);
const reads = () => it.chain.requests.get('eth_getTransactionByHash') ?? 0;

describe('a transaction that the node cannot show', () => {
  beforeEach(async () => {
    await promiseTwice();
    noTransactions();
    mine();
  });

  test('stops nothing else: later operations settle, and balances are read', async () => {
    expect(await it.follower.round()).toMatchObject({ settled: 0 });
    const other = anAddress(0xab);
    await it.usage.reserve(aPromise(50, { key: { sender: other } }));
    it.chain.mine({ operations: [anOperation(20, { sender: other })] });
    it.pass(2);
    expect(await it.follower.round()).toMatchObject({ settled: 1 });
    expect((await it.usage.cursor(chainId))?.blockNumber).toBe(it.chain.height - 2);
    // Its promises are held in full.
    expect(await usedOf(it)).toEqual([3, 180]);
    expect(await accountsOf(it)).toMatchObject([
      [940, 160],
      [940, 100],
    ]);
  });

  test('settles what it carries, once a node shows it', async () => {
    await follow(60);
    it.chain.refuses = () => false;
    expect(await follow(90)).toMatchObject({ settled: 1, released: 1, passedOver: 0 });
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await it.usage.liveCount(chainId)).toBe(0);
  });

  test('is passed over after eight tries and ten minutes, and then counts for everybody who promised it', async () => {
    expect(await follow(600)).toMatchObject({ settled: 0, passedOver: 0 });
    expect(await usedOf(it)).toEqual([2, 160]);
    expect(await follow(60)).toMatchObject({ settled: 2, released: 0, passedOver: 1 });
    expect(await usedOf(it)).toEqual([2, 80]);
    // Once by hash on each of three connections, in each of nine tries.
    expect(reads()).toBeLessThanOrEqual(27);
    expect(it.lines.filter(({ level }) => level === 'error')).toEqual([passedOver]);
  });

  test('is not read by a node that does not have its block: such a try does not count', async () => {
    const behind = it.chain.twin();
    behind.reorganise(it.chain.height - 3);
    it.elsewhere.push(behind);
    expect(await follow(1_200)).toMatchObject({ settled: 0, passedOver: 0 });
    behind.follow(it.chain);
    expect(await follow(20)).toMatchObject({ settled: 1, released: 1 });
  });

  test('is shown by any of sixteen URLs', async () => {
    const [last, ...others] = Array.from({ length: 16 }, () => it.chain.twin());
    for (const twin of others) twin.refuses = (asked) => 'transaction' in asked;
    it.elsewhere.push(...others, last!);
    expect(await follow(660)).toMatchObject({ settled: 1, released: 1, passedOver: 0 });
  });

  test('that is found later corrects what was counted, once', async () => {
    await follow(660);
    expect(await usedOf(it)).toEqual([2, 80]);
    it.chain.refuses = () => false;
    await follow(1_400);
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(await it.usage.liveCount(chainId)).toBe(0);
    const asked = reads();
    await follow(3_000);
    expect(await usedOf(it)).toEqual([1, 40]);
    expect(reads()).toBe(asked);
  });

  test('that is found later replaces the records of both promises', async () => {
    const records = new Map<string, (Settlement | Reversal)[]>();
    const usage: UsageStore = {
      ...it.usage,
      advance: async (step) => {
        const names = new Map(
          (await it.usage.reservations(chainId)).map(({ key, recordId }) => [key.paymasterId, recordId]),
        );
        const result = await it.usage.advance(step);
        const back = (step.records ?? []).filter(({ reservation }) => reservation !== undefined);
        for (const [i, { key }] of step.restored.entries()) names.set(key.paymasterId, back[i]?.reservation);
        const ends = [...step.settled, ...step.released].flatMap(({ key, record }) =>
          record === undefined ? [] : [{ reservation: names.get(key.paymasterId), record }],
        );
        for (const { reservation, record } of [...ends, ...back])
          records.set(reservation!, [
            ...(records.get(reservation!) ?? []),
            record as unknown as Settlement | Reversal,
          ]);
        return result;
      },
    };
    const follower = it.create(usage, {
      ids: createRecordIds(it.clock),
      organisationOf: () => 'acme',
    });
    await follow(660, follower);
    it.chain.refuses = () => false;
    await follow(1_400, follower);
    const of = (number: number) => findOutcome(records.get(aStepDecision(number).id) ?? []);
    expect(of(1)).toMatchObject({ takenBack: 1, settlement: { outcome: 'spent-elsewhere' } });
    expect(of(2)).toMatchObject({
      takenBack: 1,
      settlement: { outcome: 'mined', mined: { actualGasCostWei: 40n * gweiInWei } },
    });
    const ids = [...records.values()].flat().map(({ id }) => id);
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(6);
  });

  test('is waited for by the next follower too', async () => {
    await it.follower.round();
    const next = it.create();
    expect(await follow(100, next)).toMatchObject({ settled: 0, forfeited: 0 });
    it.chain.refuses = () => false;
    expect(await follow(120, next)).toMatchObject({ settled: 1, released: 1 });
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('is not mistaken for one that nobody promised when another follower has settled it', async () => {
    await it.follower.round();
    const next = it.create();
    await next.round();
    it.chain.refuses = () => false;
    await follow(20, next);
    expect(await it.usage.liveCount(chainId)).toBe(0);
    await follow(700);
    expect(await it.usage.suspended(chainId)).toEqual([]);
    expect(await usedOf(it)).toEqual([1, 40]);
  });

  test('that a reorganisation removes is forgotten', async () => {
    await it.follower.round();
    it.chain.reorganise(it.chain.height - 3);
    it.chain.mineEmpty(8);
    await follow(700);
    expect(await usedOf(it)).toEqual([2, 160]);
  });
});

test('a transaction that every node answers null for is waited for as well', async () => {
  await promiseTwice();
  it.chain.hidesTransactions = true;
  mine();
  expect(await follow(600)).toMatchObject({ settled: 0 });
  expect(await follow(60)).toMatchObject({ settled: 2, passedOver: 1 });
});

test('a node that fails in everything does not count as a try', async () => {
  await promiseTwice();
  noTransactions();
  mine();
  await it.follower.round();
  it.chain.isDown = true;
  for (let minute = 0; minute < 60; minute++) {
    it.clock.advance(60_000);
    await expect(it.follower.round()).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  }
  it.chain.isDown = false;
  expect(await follow(200)).toMatchObject({ settled: 0, passedOver: 0 });
});

describe('a token operation whose logs no node shows', () => {
  const paid = signedBytes('ERC20', 1);
  beforeEach(async () => {
    await it.usage.reserve(
      aPromise(100, { promise: { mode: 'ERC20', digest: paid.digest, validUntil: seconds(900) } }),
    );
    it.chain.hidesBlockLogs = true;
    it.chain.mine({
      operations: [anOperation(40, { input: paid.input, tokenCharge: { topic0: paidGasInTokens.topic0 } })],
    });
    it.pass(2);
  });

  test('is a loss of its contract after eight tries and ten minutes, and bars nobody', async () => {
    expect(await follow(600)).toMatchObject({ settled: 0 });
    expect(await follow(60)).toMatchObject({ settled: 1, passedOver: 1 });
    expect(await lossesOf(it)).toEqual([100, 0]);
  });

  test('that is found later to have paid is not a loss', async () => {
    await follow(660);
    it.chain.hidesBlockLogs = false;
    await follow(1_400);
    expect(await lossesOf(it)).toEqual([0, 0]);
  });

  test('that is found later to have paid nothing is a loss, and bars its account', async () => {
    it.chain.reorganise(it.chain.height - 3);
    it.chain.mine({ operations: [anOperation(40, { input: paid.input })] });
    it.pass(2);
    await follow(660);
    expect(await lossesOf(it)).toEqual([100, 0]);
    it.chain.hidesBlockLogs = false;
    await follow(1_400);
    expect(await lossesOf(it, sender)).toEqual([100, 100]);
  });
});

test('a thousand unreadable operations of one block are tried a few at a time, and stop nothing', async () => {
  const senders = Array.from({ length: 1_000 }, (_, i) => anAddress(0x1000 + i));
  for (const account of senders)
    for (const paymasterId of ['pm-1', 'pm-2'])
      await it.usage.reserve(
        aPromise(1, { key: { paymasterId, sender: account }, promise: { digest: ours.digest } }),
      );
  noTransactions();
  it.chain.mine({ operations: senders.map((account) => anOperation(1, { sender: account })) });
  it.pass(2);
  await it.follower.round();
  // Sixteen that failed on three connections.
  expect(reads()).toBeLessThanOrEqual(100);
  expect((await it.usage.cursor(chainId))?.blockNumber).toBe(it.chain.height - 2);
});
