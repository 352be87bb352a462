import type { ChainConfig } from '../../../core/config/chain-config.js';
import { toAddressKey, type AddressKey } from '../../../core/units/address.js';
import type { Clock, EpochSeconds } from '../../../core/units/time.js';
import { toSeconds } from '../../../core/units/time.js';
import { gwei } from '../../../core/units/wei.js';
import type { Cursor, FollowerStep, StepResult } from '../../../core/usage/follower-step.js';
import type { Reservation } from '../../../core/usage/reservation.js';
import { endedIn } from '../../../server/follower/history.js';
import { BrokenRule } from '../broken-rule.js';
import { operationNameOf } from './names.js';
import type { Ended, How, Oracle } from './oracle.js';
import type { RuleStore } from './rule-stores.js';
import type { EndStep } from './steps.js';

type FollowerDeps = {
  readonly clock: Clock;
  readonly store: RuleStore;
  readonly oracle: Oracle;
  readonly chain: ChainConfig;
  readonly funding: AddressKey;
};

/** Ends promises as the follower does, and takes that back in a reorganisation. */
export class Follower {
  readonly #deps: FollowerDeps;
  #block = 0;
  /** By the block of the step. */
  readonly #ended = new Map<number, readonly Ended[]>();

  constructor(deps: FollowerDeps) {
    this.#deps = deps;
  }

  /** Reads the balances, which are always enough. */
  async read(): Promise<void> {
    const { chain, clock, funding } = this.#deps;
    const contract = toAddressKey(chain.profiles[0]!.sponsorship);
    const known = { contract, balance: gwei(1e15), readAt: clock.now() };
    await this.#step({ balances: [known, { ...known, fundingAddress: funding }] });
  }

  async end(steps: readonly EndStep[]): Promise<readonly { readonly how: How; readonly ended: number }[]> {
    const { store, oracle, chain } = this.#deps;
    const reservations = new Map(
      (await store.usage.reservations(chain.chainId)).map((one): [string, Reservation] => [
        operationNameOf(one.key),
        one,
      ]),
    );
    const live = oracle.live();
    if (reservations.size !== live.length || live.some((name) => !reservations.has(name)))
      throw new BrokenRule(
        7,
        `the store has the promises ${[...reservations.keys()].join(', ')} instead of ${live.join(', ')}`,
      );
    const chosen = new Map<string, { readonly how: How; readonly gwei: bigint }>();
    for (const { pick, how, used } of steps) {
      const name = live[pick % Math.max(1, live.length)];
      if (name === undefined || chosen.has(name)) continue;
      const most = reservations
        .get(name)!
        .promises.reduce((top, { prefundWei }) => (prefundWei > top ? prefundWei : top), 0n);
      chosen.set(name, { how, gwei: (most * BigInt(used)) / 1_000n / 10n ** 9n });
    }
    const of = (how: How) =>
      [...chosen]
        .filter(([, end]) => end.how === how)
        .map(([name, end]) => ({ key: reservations.get(name)!.key, gwei: end.gwei }));
    const step = {
      settled: [
        ...of('settled').map(({ key, gwei: cost }) => ({ key, actualCost: gwei(Number(cost)) })),
        ...of('paid').map(({ key }) => ({ key, actualCost: undefined })),
      ],
      released: of('released').map(({ key }) => ({ key })),
      forfeited: of('forfeited').map(({ key }) => ({ key })),
    };
    const { ended } = await this.#step(step);
    if (ended.length !== chosen.size)
      throw new BrokenRule(7, `a step ends ${ended.length} of ${chosen.size} promises`);
    this.#ended.set(
      this.#block,
      [...chosen].map(([name, end]) => oracle.end(name, end.how, end.gwei)),
    );
    return [...chosen.values()].map(({ how }) => ({ how, ended: 1 }));
  }

  /** Removes the blocks of the last steps. Answers how many promises live again. */
  async reorganise(steps: number): Promise<number> {
    const { store, oracle, chain } = this.#deps;
    const taken = await store.usage.takenSteps(chain.chainId);
    const removed = taken.slice(-steps);
    const common = removed[0]?.from;
    if (common === undefined) return 0;
    const ended = removed.flatMap((step) => endedIn(step.ended));
    await this.#step({
      next: common,
      takesBackAfter: common.blockNumber,
      restored: ended.map(({ reservation }) => reservation),
      charges: ended.flatMap(({ undo }) => undo),
    });
    const revived = [...this.#ended]
      .filter(([block]) => block > common.blockNumber)
      .toSorted(([a], [b]) => b - a);
    for (const [block, list] of revived) {
      this.#ended.delete(block);
      for (const one of list) oracle.revive(one);
    }
    return ended.length;
  }

  lose(): void {
    this.#ended.clear();
  }

  async #step(change: Partial<FollowerStep>): Promise<Extract<StepResult, { isTaken: true }>> {
    const { clock, store, chain } = this.#deps;
    const { chainId } = chain;
    const expected = await store.usage.cursor(chainId);
    if (change.next === undefined) this.#block += 1;
    const next: Cursor = {
      blockNumber: this.#block,
      blockHash: `0x${this.#block.toString(16).padStart(64, '0')}`,
      timestamp: toSeconds(clock.now()) as EpochSeconds,
    };
    const nothing = { settled: [], released: [], forfeited: [], charges: [], restored: [], balances: [] };
    const result = await store.usage.advance({ ...nothing, chainId, expected, next, ...change });
    if (!result.isTaken) throw new BrokenRule(7, 'a step of the only follower was not taken');
    return result;
  }
}
