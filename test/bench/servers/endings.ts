import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Cursor, FollowerStep } from '../../../core/usage/follower-step.js';
import { toSeconds, systemClock, type EpochSeconds } from '../../../core/units/time.js';
import type { Gwei } from '../../../core/units/wei.js';
import { chainId } from '../fixture.js';
import { openPostgresUsage } from './usage.js';

// A follower without a chain: on each message `{seconds}` it settles live reservations for so long, some in each step, and answers
// `{ended, seconds}`; on `{live: true}` it answers how many are live.

const { values } = parseArgs({ options: { postgres: { type: 'string', default: '' } } });
const usage = await openPostgresUsage(values.postgres, { identity: `follower-${randomUUID()}` });
const perStep = 200;
/** After every promise: those that expire first are read first. */
const expiredBefore = (2 ** 40) as EpochSeconds;

async function end(seconds: number): Promise<{ readonly ended: number; readonly seconds: number }> {
  const begun = performance.now();
  let cursor: Cursor | undefined = await usage.cursor(chainId);
  let ended = 0;
  while (performance.now() - begun < 1000 * seconds) {
    const live = await usage.reservations(chainId, { operations: [], expiredBefore, limit: perStep });
    const settled = live.map(({ key }) => ({ key, actualCost: 1 as Gwei }));
    const next = {
      blockNumber: (cursor?.blockNumber ?? 0) + 1,
      blockHash: '0x' as const,
      timestamp: toSeconds(systemClock.now()),
    };
    const nothing = { released: [], forfeited: [], charges: [], restored: [], balances: [] };
    const step: FollowerStep = { ...nothing, chainId, expected: cursor, next, settled };
    const result = await usage.advance(step);
    if (!result.isTaken) throw new Error('a step of the only follower was not taken');
    cursor = next;
    ended += settled.length;
  }
  return { ended, seconds: (performance.now() - begun) / 1000 };
}

process.on('message', (message: { readonly seconds?: number; readonly live?: boolean }) => {
  const answer = message.live === true ? usage.liveCount(chainId) : end(message.seconds ?? 1);
  answer.then(
    (said) => process.send?.(said),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => void usage.stop().finally(() => process.exit(0)));
process.send?.({ isReady: true });
