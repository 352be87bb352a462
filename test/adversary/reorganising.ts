import type { Following } from './following.js';
import type { LosingData } from './losing-data.js';
import type { Mining } from './mining.js';
import type { Scene } from './scene.js';
import { confirmations } from './world.js';

/** Blocks that are removed, and replaced by others. */
export class Reorganising {
  readonly #scene: Scene;
  readonly #mining: Mining;
  readonly #following: Following;
  readonly #losing: LosingData;
  /** Blocks up to this height are never removed. */
  begunAt: number;
  /** Blocks up to this height were settled once, also where a deep reorganisation has taken the follower back below it. */
  #onceSettled = 0;

  constructor(
    scene: Scene,
    { mining, following, losing }: { mining: Mining; following: Following; losing: LosingData },
  ) {
    this.#scene = scene;
    this.#mining = mining;
    this.#following = following;
    this.#losing = losing;
    this.begunAt = scene.chain.height;
  }

  /**
   * Never deeper than the confirmations allow, counted from the highest block that a follower has seen. After a deep one fewer
   * blocks than that are on top of the settled block.
   */
  async reorganise(depth: number): Promise<void> {
    const { height } = this.#scene.chain;
    const { seenHeight, remembersFrom } = this.#following;
    const settled = (await this.#following.settledHeight()) ?? 0;
    const to = Math.max(
      seenHeight - confirmations,
      height - depth,
      this.begunAt,
      remembersFrom ?? 0,
      settled,
    );
    if (to < height) await this.#removeAbove(to, settled);
  }

  /**
   * Removes blocks that were settled. The follower cannot undo blocks that it no longer remembers: that the counters then show too
   * much is a known limitation.
   */
  async reorganiseDeeply(depth: number): Promise<void> {
    const { chain, lostGrants, truth } = this.#scene;
    const { remembersFrom } = this.#following;
    if (remembersFrom === undefined || lostGrants.length > 0 || this.#losing.isDetached) return;
    const to = Math.max(chain.height - depth, this.begunAt, remembersFrom);
    const settled = await this.#following.settledHeight();
    if (settled === undefined || to >= chain.height) return;
    await this.#removeAbove(to, settled);
    if (settled <= to) return;
    this.#following.reorganisedTo(to);
    this.#scene.count('reorganised below the settled block');
    this.#losing.isBackupUsable = false;
    truth.excess.mayGrow = true;
  }

  /**
   * Two reorganisations can together be as deep as one: the first takes the follower back, and the second removes blocks that were
   * settled before it. Then nobody can take back what was promised against them, and the service need not notice anything: it
   * already counts by the block that is settled now. So only the removal itself may exceed a bound, and no signature after it.
   */
  async #removeAbove(height: number, settled: number): Promise<void> {
    const { ground, truth } = this.#scene;
    const onceSettled = Math.max(this.#onceSettled, settled);
    this.#onceSettled = Math.min(onceSettled, height);
    await ground.reorganise(height);
    truth.excess.reorganised(height);
    await this.#mining.mineEmpty(1);
    if (height < onceSettled) truth.allowExcess();
  }
}
