import { startReplayThread } from '../../server/replay/thread.js';
import { recordRounds, type Round } from '../server/replay/recorded-world.js';
import { limitedPaymasters } from '../server/replay/paymasters.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Goal } from './goals.js';

export type ReplayBench = {
  readonly recorded: number;
  readonly goals: readonly Goal[];
};

const rounds = 2_200;
const perRound = 48;
const pageSize = 1_000;

/**
 * Decides recorded operations again in the thread of a replay: both modes, in one and two phases, with limits that fill,
 * cycles that turn, and requests that ran at the same time over the embedded usage store.
 */
export async function measureReplay(): Promise<ReplayBench> {
  const all = Array.from({ length: rounds }, (_, round) => roundOf(round));
  const { records, ...config } = await recordRounds(limitedPaymasters.map(withMoreRoom), all);
  const thread = startReplayThread();
  try {
    // The thread has loaded when it answers.
    await thread.begin(config);
    const started = performance.now();
    const cpuBefore = process.cpuUsage();
    for (let from = 0; from < records.length; from += pageSize)
      await thread.take(records.slice(from, from + pageSize));
    const { replayed, unchanged, newlyRefused, newlySponsored, notReplayed } = await thread.result();
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(cpuBefore);
    const others = notReplayed.reduce((sum, { count }) => sum + count, 0);
    const changed = newlyRefused.count + newlySponsored.count + unchanged.otherReason + others;
    return {
      recorded: replayed,
      goals: [
        {
          name: 'replay: recorded operations',
          value: replayed,
          unit: 'count',
          required: { atLeast: 100_000 },
        },
        {
          name: 'replay: decisions per second',
          value: Math.round(replayed / seconds),
          unit: 'count',
          required: { atLeast: 5_000 },
        },
        {
          name: 'replay: decisions per second of processor time',
          value: Math.round((replayed * 1e6) / (user + system)),
          unit: 'count',
        },
        { name: 'replay: verdicts that differ', value: changed, unit: 'count', required: { atMost: 0 } },
        {
          name: 'replay: sponsored of 100',
          value: Math.round((100 * unchanged.sponsored) / replayed),
          unit: 'count',
        },
      ],
    };
  } finally {
    await thread.stop();
  }
}

/** About half of the requests find room. */
function withMoreRoom(config: PaymasterConfig): PaymasterConfig {
  const thresholds = ['250', '0.1', '20'];
  const limits = config.limits.map((limit, i) => ({ ...limit, threshold: thresholds[i] ?? limit.threshold }));
  return { ...config, limits };
}

/** The same in every run. */
function roundOf(round: number): Round {
  const random = generator(round + 1);
  const asked = Array.from({ length: perRound }, () => ({
    paymaster: random(3),
    mode: random(4) === 0 ? ('ERC20' as const) : ('SPONSORED' as const),
    phases: random(3) === 0,
    sender: random(40),
    nonce: random(500),
    target: random(12) === 0 ? 0xdead : 0x7a,
    maxFeePerGas: random(20) === 0 ? 51_000_000_000 : 2_000_000_000,
    givesLimits: random(2) === 0,
    estimate: random(15) === 0 ? 10_000_001 : 90_000,
    reverts: random(20) === 0,
    webhook: random(10) === 0 ? ('refused' as const) : ('verified' as const),
    pays: random(8) > 0,
  }));
  const endings = Array.from({ length: 6 }, () => ({
    which: random(1_000) / 1_000,
    how: (['settled', 'settled', 'settled', 'released', 'forfeited'] as const)[random(5)]!,
    actualCost: random(600_000),
  }));
  return { asked, endings, passes: 15_000 };
}

/** Whole numbers below a bound, from a linear congruence. */
function generator(seed: number): (bound: number) => number {
  let state = (seed * 2_654_435_761) % 4_294_967_296;
  return (bound) => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return Math.floor((state / 4_294_967_296) * bound);
  };
}
