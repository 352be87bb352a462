import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { depositedTopic, withdrawnTopic } from '../../../core/entry-point/deposit-event.js';
import { asEntries } from '../../../core/ledger/ledger.js';
import { pricesOf } from '../../../core/ledger/prices.js';
import { statementOf, type AccountStatement } from '../../../core/ledger/statement.js';
import { endOf } from '../../../core/ledger/steps.js';
import type { AccountId } from '../../../core/usage/reservation.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { addressTopic, type AddressKey } from '../../../core/units/address.js';
import { hexWord, type Hex } from '../../../core/units/hex.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import {
  anAddress,
  chainId,
  contract,
  entryPoint,
  funding,
  startMs,
} from '../../conformance/usage-requests.js';
import { aStepDecision } from '../../conformance/step-records.js';
import { depositOf, walletOf } from '../../fakes/chain.js';
import { createMemoryLedger, type TestedLedger } from '../../fakes/memory-ledger.js';
import { runs } from '../../support/property.js';
import {
  aChainConfig,
  aFollowed,
  anOperation,
  aPromise,
  chargeTopic,
  gweiInWei,
  signedBytes,
  type Followed,
} from './followed.js';

const gasDeposited: Hex = '0x1dbbf474736d6415d6a265fabee708fe6e988f6fd0c9d870ded36cab380898dd';
const gasWithdrawn: Hex = '0x926a144b6fffc1d73f115b81af7ec66a7c12aed0ff73197c39a683753fc1d925';
const deposit: AccountId = { contract };
const wallet: AccountId = { contract, fundingAddress: funding };
const february = endOf(startMs, 'month');
const afterMonth = february / 1_000 + 60;
const stranger = anAddress(0xbad);

let it: Followed;
let ledger: TestedLedger;
let nonce = 0n;
beforeEach(async () => {
  it = await aFollowed();
  ledger = createMemoryLedger();
  nonce = 0n;
});
afterEach(() => it.stop());

/** Follows with a ledger, which gets what steps record when they are taken. */
function recordingFollower(wallets: readonly AccountId[] = [wallet]) {
  const usage: UsageStore = {
    ...it.usage,
    advance: async (step) => {
      const result = await it.usage.advance(step);
      if (result.isTaken) await ledger.append(asEntries(step.records ?? []));
      return result;
    },
  };
  return it.create(usage, {
    ids: createRecordIds(it.clock),
    organisationOf: (id) => (id === 'pm-1' ? 'acme' : ''),
    wallets: () => wallets,
  });
}

async function statement(account: AccountId, from = startMs): Promise<AccountStatement> {
  const { contract: of, fundingAddress } = account;
  const to = endOf(from, 'month');
  const accounts = [{ chainId, contract: of, fundingAddress }];
  const [facts] = await ledger.statement({ accounts, from, to });
  const isOwn = ({ organisation }: { readonly organisation: string }) => organisation === 'acme';
  return statementOf(facts!, { to, now: to, prices: pricesOf([]), isOwn });
}

/** Wei of each line. */
function lines({
  deposits,
  withdrawals,
  burnt,
  paymasters,
  otherPaymasters,
  others,
  unreadDeposits,
}: AccountStatement) {
  const sum = (kind: 'mined' | 'losses') => paymasters.reduce((all, one) => all + one[kind].wei, 0n);
  return {
    deposits: deposits.wei,
    withdrawals: withdrawals.wei,
    burnt: burnt.wei,
    mined: sum('mined'),
    losses: sum('losses'),
    minedByOthers: otherPaymasters.mined.wei,
    others,
    unreadDeposits,
  };
}

const nothing = {
  deposits: 0n,
  withdrawals: 0n,
  burnt: 0n,
  mined: 0n,
  losses: 0n,
  minedByOthers: 0n,
  others: 0n,
  unreadDeposits: 0,
};

/** What `depositTo` of the EntryPoint does and says. The total in the event is the EntryPoint's, so the test gives a wrong one. */
function paidIn(wei: bigint, to = contract, at: AddressKey = entryPoint) {
  return {
    transfers: [[depositOf(at, to), wei]] as const,
    emitted: [{ address: at, topics: [depositedTopic, addressTopic(to)], data: hexOf(12_345n) }],
  };
}

function takenOut(wei: bigint) {
  return {
    transfers: [[depositOf(entryPoint, contract), -wei]] as const,
    emitted: [
      {
        address: entryPoint,
        topics: [withdrawnTopic, addressTopic(contract)],
        data: `${hexOf(BigInt(stranger))}${hexWord(wei)}` as Hex,
      },
    ],
  };
}

function ofWallet(kind: 'in' | 'out', wei: bigint, of = funding) {
  return {
    transfers: [[walletOf(contract, of), kind === 'in' ? wei : -wei]] as const,
    emitted: [
      kind === 'in'
        ? { address: contract, topics: [gasDeposited, addressTopic(of), hexOf(wei)], data: '0x' as Hex }
        : {
            address: contract,
            topics: [gasWithdrawn, addressTopic(of), addressTopic(stranger), hexOf(wei)],
            data: '0x' as Hex,
          },
    ],
  };
}

function hexOf(value: bigint): Hex {
  return `0x${hexWord(value)}`;
}

/** Promises an operation, for `cost` gwei at most, and answers it as mined. */
async function promised(cost: number, mined: number, charge?: bigint) {
  nonce += 1n;
  const request = aPromise(cost, { key: { nonce }, record: aStepDecision(nonce) });
  expect(await it.usage.reserve(request)).toMatchObject({ outcome: 'reserved' });
  const payer = { wallet: funding, topic0: chargeTopic, ...(charge === undefined ? {} : { charge }) };
  return anOperation(mined, { nonce, payer });
}

describe('movements of a month', () => {
  test('each line is what the chain says, for the deposit and for the wallet inside, and nothing is left over', async () => {
    const follower = recordingFollower();
    await follower.round();
    it.chain.mine({ operations: [await promised(100, 40, 45n * gweiInWei)] });
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
    expect(lines(await statement(deposit))).toEqual({
      ...nothing,
      deposits: 7n,
      withdrawals: 3n,
      mined: cost,
    });
    expect(lines(await statement(wallet))).toEqual({
      ...nothing,
      deposits: 11n,
      withdrawals: 5n,
      mined: cost,
      burnt: 5n * gweiInWei,
    });
    const { closing, unreadBlocks, openingReason, closingReason } = await statement(wallet);
    expect(closing?.balanceWei).toBe(1000n * gweiInWei - 45n * gweiInWei + 6n);
    expect([unreadBlocks, openingReason, closingReason]).toEqual([[], 'BEGAN_WITHIN', undefined]);
    expect((await statement(wallet, february)).opening).toEqual({ ...closing, at: february });
  });

  test('what a stranger pays in is a deposit, also within a bundle, where the event tells a wrong total', async () => {
    const follower = recordingFollower();
    await follower.round();
    it.chain.mine({ ...paidIn(9n), operations: [await promised(100, 40, 40n * gweiInWei)] });
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await statement(deposit))).toEqual({ ...nothing, deposits: 9n, mined: 40n * gweiInWei });
  });

  test('an event of the same shape from another contract, or about another deposit, is nothing', async () => {
    const follower = recordingFollower();
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
    expect(lines(await statement(deposit))).toEqual(nothing);
    expect(lines(await statement(wallet))).toEqual(nothing);
    const { transfers } = await statement({ contract, fundingAddress: stranger });
    expect(transfers).toEqual([]);
  });

  test('an operation that nobody promised is burnt, and one of another organisation is not named', async () => {
    const follower = recordingFollower();
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
    expect(lines(await statement(deposit))).toEqual({ ...nothing, burnt, minedByOthers: 20n * gweiInWei });
    expect((await statement(deposit)).paymasters).toEqual([]);
  });

  test('what a contract keeps when its postOp fails is burnt, though no event says how much', async () => {
    const follower = recordingFollower();
    await follower.round();
    const { payer, ...operation } = await promised(100, 40);
    it.chain.mine({
      operations: [{ ...operation, payer: { wallet: payer!.wallet, charge: 90n * gweiInWei } }],
    });
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const mined = 40n * gweiInWei;
    expect(lines(await statement(wallet))).toEqual({ ...nothing, mined, burnt: 50n * gweiInWei });
  });

  test('an operation in tokens that paid nothing is a loss and not mined', async () => {
    await it.stop();
    it = await aFollowed(tokenConfig());
    const follower = recordingFollower();
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
    expect(lines(await statement(deposit))).toEqual({ ...nothing, losses: 40n * gweiInWei });
    expect(lines(await statement(wallet))).toEqual({ ...nothing, losses: 40n * gweiInWei });
  });

  test('a reorganisation takes the movements of its blocks back, and those of the new ones count', async () => {
    const follower = recordingFollower();
    await follower.round();
    const operation = await promised(100, 40, 40n * gweiInWei);
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
    const found = await statement(deposit);
    expect(lines(found)).toMatchObject({ deposits: 2n, others: 0n });
    expect(found.closing?.balanceWei).toBe(it.chain.stateAt().get(depositOf(entryPoint, contract)));
  });

  test('an edge that a reorganisation removes is recorded anew', async () => {
    const follower = recordingFollower();
    await follower.round();
    const before = it.chain.height;
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect((await statement(deposit)).closing).toBeDefined();
    it.chain.reorganise(before);
    it.chain.mine(paidIn(4n));
    it.chain.mine({ time: afterMonth });
    it.pass(4);
    await follower.round();
    await follower.round();
    const { closing } = await statement(deposit);
    expect(closing?.balanceWei).toBe(1000n * gweiInWei + 4n);
  });

  test('blocks whose events no node shows are named, and what they changed is left over', async () => {
    const follower = recordingFollower();
    await follower.round();
    const hidden = it.chain.mine(paidIn(9n)).number;
    it.chain.refuses = (asked) =>
      'logs' in asked &&
      'fromBlock' in asked.logs &&
      asked.logs.fromBlock <= hidden &&
      asked.logs.toBlock >= hidden &&
      [asked.logs.topics?.[0]].flat().includes(depositedTopic);
    it.pass(3);
    await follower.round();
    it.chain.refuses = () => false;
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    const found = await statement(deposit);
    expect(found.unreadBlocks).toEqual([{ fromBlock: hidden, toBlock: hidden }]);
    expect(lines(found)).toEqual({ ...nothing, others: 9n });
  });

  test('a node that has no old state leaves the amount of a deposit open, and invents none', async () => {
    const follower = recordingFollower();
    await follower.round();
    const { hash } = it.chain.mine(paidIn(9n));
    const { words } = it.chain;
    it.chain.words = async (calls, block) => {
      if (typeof block === 'object' && block.hash === hash)
        return words.call(it.chain, calls, { hash: '0x00' });
      return words.call(it.chain, calls, block);
    };
    it.pass(3);
    await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await statement(deposit))).toEqual({ ...nothing, others: 9n, unreadDeposits: 1 });
    expect((await statement(deposit)).transfers).toMatchObject([{ kind: 'deposit', amountWei: undefined }]);
  });

  test('deposits in hundreds of blocks take several steps, and all of them count', async () => {
    const follower = recordingFollower();
    await follower.round();
    for (let i = 0; i < 120; i++) it.chain.mine(paidIn(1n));
    it.pass(2);
    for (let i = 0; i < 4; i++) await follower.round();
    it.chain.mine({ time: afterMonth });
    it.pass(2);
    await follower.round();
    expect(lines(await statement(deposit))).toEqual({ ...nothing, deposits: 120n });
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
      ),
      wei: fc.bigInt(1n, 1_000_000n),
      depth: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(event, { maxLength: 30 }), async (events) => {
        await it.stop();
        it = await aFollowed();
        ledger = createMemoryLedger();
        let follower = recordingFollower();
        await follower.round();
        const first = it.chain.height;
        for (const { kind, wei, depth } of events) {
          if (kind === 'operation')
            it.chain.mine({ operations: [await promised(3, 2, 2n * gweiInWei + wei)] });
          if (kind === 'bundle')
            it.chain.mine({ ...paidIn(wei), operations: [await promised(3, 2, 2n * gweiInWei)] });
          if (kind === 'stranger')
            it.chain.mine({
              operations: [anOperation(1, { nonce: wei, sender: stranger, payer: { wallet: stranger } })],
            });
          if (kind === 'in') it.chain.mine(paidIn(wei));
          if (kind === 'out') it.chain.mine(takenOut(wei));
          if (kind === 'wallet in') it.chain.mine(ofWallet('in', wei));
          if (kind === 'wallet out') it.chain.mine(ofWallet('out', wei));
          if (kind === 'nothing') it.pass(1);
          if (kind === 'takeover') follower = recordingFollower();
          if (kind === 'reorganisation') {
            const { height } = it.chain;
            it.chain.reorganise(Math.max(first, height - depth));
            it.pass(depth + 1);
          }
          it.clock.advance(3_000);
          if (kind === 'round' || kind === 'reorganisation') await follower.round();
        }
        it.pass(4);
        for (let i = 0; i < 3; i++) await follower.round();
        it.chain.mine({ time: afterMonth });
        it.pass(2);
        await follower.round();
        for (const account of [deposit, wallet]) {
          const found = await statement(account);
          expect(found.others).toBe(0n);
          expect(found.unreadBlocks).toEqual([]);
        }
      }),
      runs(60),
    );
  }, 120_000);
});

/** The wallet's contract takes tokens, too. */
function tokenConfig() {
  const config = aChainConfig();
  return aChainConfig({
    profiles: config.profiles.map((profile) => ({ ...profile, token: profile.sponsorship })),
  });
}
