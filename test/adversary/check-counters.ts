import { accountLosses, contractLosses } from '../../core/usage/token-losses.js';
import type { AccountBalance } from '../../core/usage/reserve-request.js';
import { toMs, type EpochSeconds } from '../../core/units/time.js';
import { chainId } from '../conformance/usage-requests.js';
import { BrokenRule } from './broken-rule.js';
import { walletName, type ChainState } from './chain/entry-point.js';
import { isMade } from './moves.js';
import type { Scene } from './scene.js';
import { confirmations, contracts, senders } from './world.js';

/**
 * Settled equals mined: never less, and never more than signatures of the same paymaster explain. Amounts that a node
 * has hidden may be held instead, until the follower looks for them again. Throws {@link BrokenRule}.
 */
export async function checkCounters(scene: Scene, mayBeHeld: boolean): Promise<void> {
  if (scene.lostGrants.length > 0) return;
  await checkLimits(scene, mayBeHeld);
  await checkLosses(scene, { mayBeHeld, height: scene.chain.height });
}

/** After every round that has settled everything up to a height. Throws {@link BrokenRule}. */
export async function checkRound(scene: Scene, height: number): Promise<void> {
  if (scene.lostGrants.length > 0) return;
  await checkBars(scene, height);
  await checkLosses(scene, { mayBeHeld: scene.wereLogsHidden, height });
  await checkBalances(scene, height);
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

async function checkLosses(
  scene: Scene,
  { mayBeHeld, height }: { readonly mayBeHeld: boolean; readonly height: number },
): Promise<void> {
  if (!scene.isExact || mayBeHeld) return;
  const at = toMs(scene.chain.time as EpochSeconds);
  const counters = Object.values(contracts).map((contract) => contractLosses({ chainId, contract }, at));
  const states = await scene.store().counters(chainId, counters);
  for (const [i, contract] of Object.values(contracts).entries()) {
    const { used } = states[i]!;
    const lost = scene.truth.lost(contract, scene.chain.time, height);
    const most = lost + scene.truth.perhapsLost(contract, scene.chain.time, height);
    if (used < lost || used > most)
      throw new BrokenRule(
        6,
        `${contract} counts losses of ${used}, ${lost} were lost, at most ${most} perhaps`,
      );
  }
}

/** Rule 6: nobody is barred for more than they have left unpaid. */
async function checkBars(scene: Scene, height: number): Promise<void> {
  if (!isMade('bars') || scene.wasForged) return;
  const { clock, truth } = scene;
  const bars = Object.values(contracts).flatMap((contract) =>
    senders.flatMap((sender) =>
      accountLosses({ chainId, contract }, sender, clock.now()).map((counter) => ({
        contract,
        sender,
        counter,
      })),
    ),
  );
  const states = await scene.store().counters(
    chainId,
    bars.map(({ counter }) => counter),
  );
  for (const [i, { contract, sender }] of bars.entries()) {
    const { used } = states[i]!;
    if (used === 0) continue;
    const unpaid = truth
      .losses(contract)
      .filter((one) => one.sender === sender && one.height <= height)
      .reduce((sum, { cost }) => sum + cost, 0);
    if (used > unpaid)
      throw new BrokenRule(
        6,
        `${sender} is barred on ${contract} for ${used}, and has left ${unpaid} unpaid`,
      );
  }
}

/** Rule 2: the store knows the balances of the block that is settled, and of no later one. */
async function checkBalances(scene: Scene, height: number): Promise<void> {
  const { chain, configs } = scene;
  const settled = chain.state(height);
  const shown = chain.height - chain.faults.lag;
  const head = chain.state(shown);
  // A chain that is shorter than what was read before only lowers the balances.
  const isOlder = shown - confirmations < height;
  for (const account of await scene.store().accounts(chainId)) {
    const { balance, readAt, contract } = account;
    if (balance === undefined || readAt === undefined || readAt === 0 || !configs.isOffered(contract))
      continue;
    const [most, now] = [balanceIn(settled, account), balanceIn(head, account)];
    const least = now < most ? now : most;
    if (balance > most || (!isOlder && balance < least))
      throw new BrokenRule(2, `${nameOf(account)} counts ${balance}, and has ${most}, ${now} at the head`);
  }
}

/** Gwei, rounded down. */
function balanceIn(state: ChainState, { contract, fundingAddress }: AccountBalance): number {
  const wei =
    fundingAddress === undefined
      ? state.deposits.get(contract)
      : state.wallets.get(walletName(contract, fundingAddress));
  return Number((wei ?? 0n) / 1_000_000_000n);
}

function nameOf({ contract, fundingAddress }: AccountBalance): string {
  return fundingAddress === undefined ? contract : walletName(contract, fundingAddress);
}
