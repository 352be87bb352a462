import { chainId } from '../conformance/usage-requests.js';
import { BrokenRule } from './broken-rule.js';
import type { Following } from './following.js';
import type { Operating } from './operating.js';
import type { Scene } from './scene.js';
import { operationOf } from './grant.js';

/** Kills, backups and failovers, and what the service may forget by them. */
export class LosingData {
  readonly #scene: Scene;
  readonly #following: Following;
  readonly #operating: Operating;
  /** Whether the copy that would take over is detached, and the number of grants that it knows. */
  isDetached = false;
  #detachedAt = 0;
  /** Number of grants when the backup was taken. */
  #backedUp = 0;
  /** Whether the backup is of the current branch. */
  isBackupUsable = false;

  constructor(
    scene: Scene,
    { following, operating }: { readonly following: Following; readonly operating: Operating },
  ) {
    this.#scene = scene;
    this.#following = following;
    this.#operating = operating;
  }

  async kill(): Promise<void> {
    if (!(await this.#following.hasNoticed())) return;
    await this.#scene.stores.kill();
    this.#scene.commits.survived();
    this.#following.begin(0);
  }

  async detach(): Promise<void> {
    if (this.#following.isReorganised || !(await this.#scene.stores.detach())) return;
    this.isDetached = true;
    this.#detachedAt = this.#scene.truth.grants.length;
  }

  async failover(): Promise<void> {
    if (!(await this.#following.hasNoticed())) return;
    const found = await this.#scene.stores.failover();
    this.isDetached = false;
    if (found === undefined) return;
    this.#scene.commits.survived();
    this.#scene.count(`failover to ${found} data`);
    if (found === 'older') await this.#dataAreOlder(this.#detachedAt);
  }

  async backup(): Promise<void> {
    if (this.#following.isReorganised) return;
    await this.#scene.stores.backup();
    this.#backedUp = this.#scene.truth.grants.length;
    this.isBackupUsable = true;
  }

  async restore(): Promise<void> {
    if (!this.isBackupUsable || !(await this.#following.hasNoticed()) || !this.isBackupUsable) return;
    if (!(await this.#scene.stores.restore())) return;
    await this.#dataAreOlder(this.#backedUp);
    this.#following.begin(0);
  }

  /** Rule 11: nothing is signed while a promise may be alive that the data have forgotten. Throws {@link BrokenRule}. */
  checkSigned(): void {
    const { lostGrants } = this.#scene;
    const forgotten = lostGrants.find(({ terms }) => terms.validUntil >= this.#scene.now());
    if (forgotten !== undefined)
      throw new BrokenRule(
        11,
        `something was signed while ${operationOf(forgotten)} was forgotten and alive`,
      );
  }

  /** The data do not contain signatures from this one on. */
  async #dataAreOlder(from: number): Promise<void> {
    const { forgeries, stores, truth } = this.#scene;
    const forgotten = truth.grants.slice(from);
    this.#scene.wereOlder = true;
    this.#scene.lostGrants = [...this.#scene.lostGrants, ...forgotten];
    if (forgotten.length > 0) truth.forgetLosses(this.#scene.now());
    this.#operating.forgetNoted();
    this.#scene.isExact = false;
    // The process whose confirmed write was lost notices it at its next call; the others cannot know before that.
    for (const i of stores.replicas.keys())
      await this.#scene.unlessUnavailable(() => this.#scene.store(i).cursor(chainId));
    const settled = await this.#following.settledHeight();
    // New data after a loss contain nothing about earlier blocks.
    if (settled === undefined) forgeries.mayBeHidden();
    forgeries.goBack(settled ?? 0);
    // The follower's memory no longer matches the data.
    this.#following.remembersFrom = undefined;
  }
}
