import { contractLosses } from '../../core/usage/token-losses.js';
import { toMs, type EpochSeconds } from '../../core/units/time.js';
import { chainId } from '../conformance/usage-requests.js';
import { BrokenRule } from './broken-rule.js';
import type { Scene } from './scene.js';
import { contracts } from './world.js';

/**
 * Settled equals mined: never less, and never more than signatures of the same paymaster explain. Amounts that a node
 * has hidden may be held instead, until the follower looks for them again. Throws {@link BrokenRule}.
 */
export async function checkCounters(scene: Scene, mayBeHeld: boolean): Promise<void> {
  if (scene.lostGrants.length > 0) return;
  await checkLimits(scene, mayBeHeld);
  await checkLosses(scene, mayBeHeld);
}

async function checkLimits(scene: Scene, mayBeHeld: boolean): Promise<void> {
  const { truth } = scene;
  const least = truth.spent();
  const most = truth.spentAtMost();
  const now = scene.clock.now();
  const open = new Map(
    truth.grants
      .flatMap(({ limits }) => limits)
      .filter(({ until }) => until > now)
      .map((one) => [one.name, one]),
  );
  const names = [...open.values()].map(({ name, unit }) => ({ counter: name, unit }));
  const states = await scene.store().counters(chainId, names);
  for (const [i, { counter }] of names.entries()) {
    const { reserved } = states[i]!;
    const used = states[i]!.used + (mayBeHeld ? reserved : 0);
    if (used < (least.get(counter) ?? 0))
      throw new BrokenRule(6, `limit ${counter} counts ${used}, ${least.get(counter)} was spent`);
    if (scene.isExact && !mayBeHeld && used > (most.get(counter) ?? 0))
      throw new BrokenRule(1, `limit ${counter} counts ${used}, ${most.get(counter) ?? 0} was spent at most`);
  }
}

async function checkLosses(scene: Scene, mayBeHeld: boolean): Promise<void> {
  for (const contract of Object.values(contracts)) {
    const at = toMs(scene.chain.time as EpochSeconds);
    const [state] = await scene.store().counters(chainId, [contractLosses({ chainId, contract }, at)]);
    const lost = scene.truth.lost(contract, scene.chain.time);
    if (scene.isExact && !mayBeHeld && state!.used !== lost)
      throw new BrokenRule(6, `${contract} counts losses of ${state!.used}, ${lost} were lost`);
  }
}
