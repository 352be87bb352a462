import { readFileSync, writeSync } from 'node:fs';
import { createFileEpochMirror } from '../../../adapters/store/file-epoch-mirror.js';
import { DomainError } from '../../../core/errors.js';
import type { Reversal, Settlement } from '../../../core/ledger/record.js';
import type { Cursor, FollowerStep } from '../../../core/usage/follower-step.js';
import type { Reservation } from '../../../core/usage/reservation.js';
import { gwei } from '../../../core/units/wei.js';
import type { EpochMs, EpochSeconds } from '../../../core/units/time.js';
import { History } from '../../../server/follower/history.js';
import { createRecordIds } from '../../../server/ledger/record-ids.js';
import { reservationId } from '../../../server/follower/mined.js';
import { aHash, chainId } from '../../conformance/usage-requests.js';
import { openStore } from './postgres-usage.js';
import {
  anAsk,
  commitOf,
  dice,
  isOften,
  paymasterIdOf,
  requestOf,
  walletBalance,
  wallets,
  type Turmoil,
} from './turmoil.js';

/**
 * One process of the turmoil: two workers that reserve, commit, follow, take back and delete at random, until it is told to end
 * by SIGTERM. Arguments: file with the turmoil, number of this process. Its log: `+id` a promise was answered, `!id` the end of one
 * was, `?reason` no answer, `~outcome` what else was answered. Standard output is a file: written lines are there even if the
 * process is killed right then.
 */
const [path = '', number = '0'] = process.argv.slice(2);
const turmoil: Turmoil = JSON.parse(readFileSync(path, 'utf8'));
const store = await openStore(turmoil.url, {
  identity: number,
  epochMirror: createFileEpochMirror(turmoil.mirror),
});
const now = () => Date.now() as EpochMs;
const ids = createRecordIds({ now });
const roll = dice(turmoil.seed + Number(number) * 7_919);
let asked = 0;
let isOver = false;
process.on('SIGTERM', () => {
  isOver = true;
});

/** In the order of how often they are taken, of a hundred. */
const actions: readonly (readonly [number, () => Promise<void>])[] = [
  [66, ask],
  [8, commit],
  [12, follow],
  [1, takeBack],
  [
    4,
    () =>
      store.addBalance(chainId, {
        ...aWallet(),
        balance: gwei(walletBalance),
        reserved: gwei(0),
        readAt: now(),
      }),
  ],
  [4, () => store.forgetAccounts(chainId, [aWallet(), aWallet()])],
  [2, async () => void (await store.dropCommits(chainId))],
  [1, () => store.setSuspended(chainId, paymasterIdOf(2), roll(3) === 0)],
  [
    2,
    () =>
      store.noteGenerations(chainId, [{ id: paymasterIdOf(roll(3)), generation: Math.floor(now() / 5_000) }]),
  ],
];
say('~started');
await Promise.all(Array.from({ length: 2 }, worker));
await store.stop();

async function worker(): Promise<void> {
  while (!isOver) {
    let left = roll(100);
    const [, act] = actions.find(([often]) => (left -= often) < 0)!;
    try {
      await act();
    } catch (error) {
      if (!(error instanceof DomainError) || error.code !== 'UNAVAILABLE') throw error;
      say(`?${error.details.reason ?? error.code}`);
      // All processes wait for the store to answer again.
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
}

/** Standard output is a file: the line is there when this returns. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

function aWallet() {
  return wallets[roll(wallets.length)]!;
}

async function ask(): Promise<void> {
  const one = anAsk(roll, ids.next().id, Number(number), (asked += 1));
  const { outcome } = await store.reserve(requestOf(one));
  say(outcome === 'reserved' ? `+${one.id}` : `~${outcome}`);
}

async function commit(): Promise<void> {
  const { outcome } = await store.reserve(commitOf(anAsk(roll, ids.next().id, Number(number), (asked += 1))));
  say(`~commit ${outcome}`);
}

async function follow(): Promise<void> {
  const expected = await store.cursor(chainId);
  const limit = roll(10) === 0 ? 150 : 20;
  const query = { operations: [], expiredBefore: Number.MAX_SAFE_INTEGER as EpochSeconds, limit };
  const found = await store.reservations(chainId, query);
  const often = roll(2) === 0;
  const ending = found.filter(({ key }) => isOften(key) === often && roll(3) > 0);
  const records = new Map<string, Settlement>();
  const step: FollowerStep = { ...aStep(expected, (expected?.blockNumber ?? 0) + 1), ...endings() };
  const result = await store.advance(step);
  if (!result.isTaken) return;
  for (const { key } of result.ended) say(`!${records.get(reservationId(key))?.id}`);

  function endings(): Partial<FollowerStep> {
    const {
      settled = [],
      forfeited = [],
      released = [],
    } = Object.groupBy(
      ending.map((one) => ({ one, cost: often ? roll(60) : 97 })),
      // What is taken back leaves the limits as they are, so that none of them can be passed by it.
      () =>
        (['settled', 'forfeited', ...(often ? (['released'] as const) : [])] as const)[roll(often ? 3 : 2)]!,
    );
    return {
      settled: settled.map(({ one, cost }) => ({
        key: one.key,
        actualCost: gwei(cost),
        record: ended(one, 'mined', cost),
      })),
      released: released.map(({ one }) => ({ key: one.key, record: ended(one, 'spent-elsewhere') })),
      forfeited: forfeited.map(({ one }) => ({ key: one.key, record: ended(one, 'expired') })),
    };
  }

  function ended({ key }: Reservation, outcome: Settlement['outcome'], cost?: number): Settlement {
    const mined = cost === undefined ? undefined : minedFor(cost);
    const record: Settlement = { kind: 'settlement', ...ids.next(), ...of(key.paymasterId), outcome, mined };
    records.set(reservationId(key), record);
    return record;
  }
}

/** Some of the last steps, as after a reorganisation, no matter who took them. */
async function takeBack(): Promise<void> {
  const history = new History();
  const steps = await store.takenSteps(chainId);
  const mayGo = steps
    .toReversed()
    .findIndex(({ ended }) => ended.some(({ reservation }) => isOften(reservation.key)));
  const most = mayGo === -1 ? steps.length - 1 : mayGo;
  if (most < 1) return;
  history.load(steps);
  const expected = history.points()[0];
  const common = history.points()[1 + roll(Math.min(most, 3))];
  if (common === undefined) return;
  const { restored, charges } = history.after(common);
  const restoredRecords = restored.flatMap(({ key, recordId }) => {
    const record: Reversal = { kind: 'reversal', ...ids.next(), ...of(key.paymasterId) };
    return recordId === undefined ? [] : [{ reservation: recordId, record }];
  });
  const step: FollowerStep = {
    ...aStep(expected, common.blockNumber),
    next: common,
    restored,
    charges,
    records: restoredRecords,
  };
  const { isTaken } = await store.advance({ ...step, balances: [], takesBackAfter: common.blockNumber });
  if (isTaken) for (const { record } of restoredRecords) say(`!${record.id}`);
}

function aStep(expected: Cursor | undefined, blockNumber: number): FollowerStep {
  return {
    chainId,
    expected,
    // Blocks that two processes find are not the same ones.
    next: {
      blockNumber,
      blockHash: `0x${ids.next().id.replaceAll('-', '').padStart(64, '0')}`,
      timestamp: blockNumber as EpochSeconds,
    },
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [
      ...wallets.map(({ contract }) => ({ contract, balance: gwei(1e9), readAt: now() })),
      { ...aWallet(), balance: gwei(walletBalance), readAt: now() },
    ],
  };
}

function of(paymasterId: string) {
  return { organisation: 'acme', paymasterId, chainId };
}

function minedFor(cost: number): NonNullable<Settlement['mined']> {
  return {
    digest: undefined,
    userOpHash: aHash(1),
    transactionHash: aHash(2),
    blockNumber: 1,
    blockHash: aHash(3),
    logIndex: 0,
    success: true,
    actualGasCostWei: BigInt(cost),
    actualGasUsed: 1n,
    token: undefined,
  };
}
