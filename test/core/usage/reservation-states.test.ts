import { expect, test } from '@jest/globals';
import type { FollowerStep } from '../../../core/usage/follower-step.js';
import type { ReserveRequest } from '../../../core/usage/reserve-request.js';
import { commitMs } from '../../../core/usage/reservation.js';
import type { Turn } from '../../../core/usage/turn.js';
import { plusMs } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import {
  aDigest,
  aHash,
  aHold,
  aKey,
  aRequest,
  aSpend,
  chainId,
  seconds,
  startMs,
} from '../../conformance/usage-requests.js';
import { drawnIn, walked } from '../../support/drawn-states.js';
import { MemoryRows } from '../../support/memory-rows.js';

const key = aKey();
type Kind = NonNullable<ReserveRequest['phase']>['kind'];
const ask = (kind?: Kind) => (turn: Turn) =>
  turn.reserve(
    aRequest({
      limits: [aSpend(10)],
      holds: [aHold(10)],
      ...(kind && { phase: { kind, commitment: aHash(7) } }),
    }),
    startMs,
  );
const step = (change: Partial<FollowerStep>) => (turn: Turn) =>
  turn.advance({
    chainId,
    expected: undefined,
    next: { blockNumber: 1, blockHash: aHash(1), timestamp: seconds(1) },
    settled: [],
    released: [],
    forfeited: [],
    charges: [],
    restored: [],
    balances: [],
    ...change,
  });

function after(...events: readonly ((turn: Turn) => unknown)[]): MemoryRows {
  const rows = new MemoryRows(chainId);
  for (const event of events) rows.turn(event);
  return rows;
}

function stateOf(rows: MemoryRows): string {
  const reservation = rows.reservation(key);
  if (reservation === undefined) return 'none';
  const { commit, promises } = reservation;
  if (commit === undefined) return 'promised';
  if (commit.isSigned) return 'finalized';
  return promises.length === 0 ? 'committed' : 'both';
}

test('a reservation takes the arrows that are drawn above Entries, and no others', async () => {
  const ended = after(ask()).reservation(key)!;
  const events: Readonly<Record<string, (turn: Turn) => unknown>> = {
    reserve: ask(),
    commit: ask('commit'),
    finalize: ask('finalize'),
    takeBack: (turn) => turn.takeBack({ key, digest: aDigest(1) }),
    dropCommits: (turn) => turn.entries.dropCommits([key], plusMs(startMs, commitMs)),
    settle: step({ settled: [{ key, actualCost: gwei(5) }] }),
    release: step({ released: [{ key }] }),
    forfeit: step({ forfeited: [{ key }] }),
    restore: step({ restored: [ended] }),
  };
  const taken = await walked<MemoryRows>({
    states: {
      none: () => after(),
      committed: () => after(ask('commit')),
      promised: () => after(ask()),
      both: () => after(ask(), ask('commit')),
      finalized: () => after(ask('commit'), ask('finalize')),
    },
    events: Object.fromEntries(
      Object.entries(events).map(([name, event]) => [name, (rows: MemoryRows) => rows.turn(event)]),
    ),
    stateOf,
  });
  expect(taken).toEqual(drawnIn('core/usage/entries.ts'));
});
