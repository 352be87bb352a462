import { unreachable } from '../../core/errors.js';
import type { EpochMs } from '../../core/units/time.js';
import { aClock } from '../adapters/usage/clock.js';
import { chainId } from '../conformance/usage-requests.js';
import { Asking } from './asking.js';
import { Balances } from './balances.js';
import { BrokenRule } from './broken-rule.js';
import { checkCounters } from './check-counters.js';
import { Committing } from './committing.js';
import { Following } from './following.js';
import { modelGround, type Ground } from './ground.js';
import { LosingData } from './losing-data.js';
import { Mining } from './mining.js';
import { Operating } from './operating.js';
import { Reorganising } from './reorganising.js';
import { Scene, type Switches } from './scene.js';
import type { Step } from './steps.js';
import type { OpenStores } from './stores.js';
import { prices } from './limit-kinds.js';
import { milli, wallets } from './wallets.js';
import { toAddressKey } from '../../core/units/address.js';
import { confirmations, secondsOf, senders, specOf, specs } from './world.js';

const manyTokens = 10n ** 40n;

/** Takes the steps, and checks the rules after each. Throws {@link BrokenRule}. */
export async function runAdversary(
  steps: readonly Step[],
  open: OpenStores,
  switches: Switches = {},
  {
    from,
    groundOf = modelGround,
  }: { readonly from?: EpochMs; readonly groundOf?: (time: number) => Promise<Ground> } = {},
): Promise<Run> {
  const clock = aClock(from);
  const ground = await groundOf(secondsOf(clock.now()));
  const run = new Run(new Scene(clock, await open(clock), switches, ground));
  try {
    await run.begin();
    for (const step of steps) await run.take(step);
    await run.finish();
    return run;
  } finally {
    await run.stop();
  }
}

export class Run {
  readonly #scene: Scene;
  readonly #mining: Mining;
  readonly #following: Following;
  readonly #operating: Operating;
  readonly #balances: Balances;
  readonly #losing: LosingData;
  readonly #reorganising: Reorganising;
  readonly #asking: Asking;
  readonly #committing: Committing;

  constructor(scene: Scene) {
    const mining = new Mining(scene);
    const following = new Following(scene, mining);
    const operating = new Operating(scene, mining);
    const losing = new LosingData(scene, { following, operating });
    this.#scene = scene;
    this.#mining = mining;
    this.#following = following;
    this.#operating = operating;
    this.#losing = losing;
    this.#balances = new Balances(scene, mining, following);
    this.#reorganising = new Reorganising(scene, { mining, following, losing });
    const asking = new Asking(scene, { mining, operating, losing });
    this.#asking = asking;
    this.#committing = new Committing(scene, { asking, operating, losing });
  }

  /** How often each thing happened. */
  get seen(): ReadonlyMap<string, number> {
    return this.#scene.seen;
  }

  async begin(): Promise<void> {
    const mining = this.#mining;
    for (const account of wallets) await this.#balances.fund(account);
    for (const sender of senders) await mining.mine({ do: 'mint', sender, amount: manyTokens });
    // Half of the accounts have allowed everything, the others nothing.
    for (const sender of senders.slice(0, 2))
      for (const { address } of specs)
        await mining.mine({ do: 'tokens', sender, call: mining.call('approve', sender, address) });
    for (let i = 0; i <= confirmations; i++) await mining.mineEmpty(2);
    await this.#operating.look();
    this.#following.begin(0);
    await this.#following.round();
    await mining.mineEmpty(2);
    await this.#following.round();
    this.#reorganising.begunAt = this.#scene.chain.height;
  }

  async stop(): Promise<void> {
    await this.#scene.stores.stop();
    await this.#scene.ground.stop();
  }

  async take(step: Step): Promise<void> {
    this.#scene.count(step.do);
    await this.#take(step);
    this.#scene.truth.check();
  }

  /** Lets everything be confirmed and expire: then counters hold what was spent, and nothing is promised. */
  async finish(): Promise<void> {
    const scene = this.#scene;
    scene.chain.heal();
    for (let i = 0; i <= confirmations; i++) await this.#mining.mineEmpty(2);
    if (!(await this.#following.settle())) return;
    await checkCounters(scene, scene.wereLogsHidden || scene.wasUnreadable);
    if (!scene.ground.hasCheapBlocks) return;
    scene.clock.advance(700_000);
    if (!(await this.#following.settle())) return;
    // A nonce that was used without an event is given up this many blocks after the follower noticed it.
    for (let i = 0; i < 66; i++) await this.#mining.mineEmpty(1);
    if (!(await this.#following.settle())) return;
    // What no node shows is tried for longer.
    for (let i = 0; i < 40 && scene.wasUnreadable && (await scene.store().liveCount(chainId)) > 0; i++) {
      scene.clock.advance(330_000);
      if (!(await this.#following.settle())) return;
    }
    await checkCounters(scene, false);
    const live = await scene.store().liveCount(chainId);
    if (live > 0) throw new BrokenRule(7, `${live} reservations are left when every signature has expired`);
  }

  async #take(step: Step): Promise<void> {
    switch (step.do) {
      case 'ask':
        return this.#asking.askAll(step.asks);
      case 'crash':
        return this.#scene.crash(async () => {
          await Promise.all([this.#asking.askAll(step.asks), this.#committing.finalizeAll(step.finals)]);
        });
      case 'two-phases':
        return this.#committing.take(step);
      case 'forge':
        return this.#asking.forge(step);
      case 'mine':
        return this.#mining.mineGrants(step.picks, step.delivery);
      case 'spend-nonce':
        return this.#spendNonce(step);
      case 'tokens':
        return this.#moveTokens(step);
      case 'pass':
        for (let i = 0; i < step.blocks; i++) await this.#mining.mineEmpty(step.seconds / step.blocks);
        return;
      case 'reorganise':
        return step.isDeep
          ? this.#reorganising.reorganiseDeeply(step.depth)
          : this.#reorganising.reorganise(step.depth);
      case 'round':
        await this.#following.round();
        return;
      case 'resume':
        await this.#scene.unlessUnavailable(() => this.#following.resume());
        return;
      case 'new-follower':
        this.#operating.restart();
        this.#following.begin(this.#following.seenHeight);
        return;
      case 'fault':
        return this.#fault(step);
      case 'heal':
        return this.#scene.chain.heal();
      case 'deposit':
        return this.#balances.deposit(step.account, step.amount);
      case 'withdraw':
        return this.#balances.withdraw(step.account, step.amount);
      case 'kill':
        return this.#losing.kill();
      case 'backup':
        return this.#losing.backup();
      case 'restore':
        return this.#losing.restore();
      case 'detach':
        return this.#losing.detach();
      case 'failover':
        return this.#losing.failover();
      case 'limit':
        return this.#operating.changeLimit(step);
      case 'price':
        this.#scene.configs.price = prices[step.price];
        return;
      case 'profile':
        return this.#operating.toggleProfile(step);
      case 'budget':
        return this.#operating.changeBudget(step);
      case 'signer':
        return this.#operating.changeSigner(step);
      case 'look':
        return this.#operating.look();
      case 'rotate-key':
        return this.#operating.rotateKey(step.paymaster);
      case 'make-again':
        return this.#operating.makeAgain(step.paymaster);
      case 'wallet':
        return this.#proveWallet(step);
      default:
        return unreachable(step);
    }
  }

  async #proveWallet({ paymaster, wallet, amount }: Extract<Step, { do: 'wallet' }>): Promise<void> {
    const account = { contract: specOf(paymaster).address, wallet: toAddressKey(wallet) };
    await this.#operating.proveWallet(paymaster, account.wallet);
    await this.#mining.mine({ do: 'deposit', ...account, amount: BigInt(amount) * milli });
    await this.#following.ensure({ contract: account.contract, fundingAddress: account.wallet });
  }

  async #spendNonce(step: Extract<Step, { do: 'spend-nonce' }>): Promise<void> {
    const { entryPoint } = specs[step.contract]!;
    const [sender, key] = [senders[step.sender]!, BigInt(step.key)];
    await this.#mining.mine({ do: 'spend-nonce', entryPoint, sender, key });
    this.#scene.isExact = false;
  }

  async #moveTokens(step: Extract<Step, { do: 'tokens' }>): Promise<void> {
    const sender = senders[step.sender]!;
    if (step.how === 'mint') {
      await this.#mining.mine({ do: 'mint', sender, amount: manyTokens });
      return;
    }
    const call = this.#mining.call(step.how, sender, specs[step.contract]!.address);
    await this.#mining.mine({ do: 'tokens', sender, call });
  }

  #fault({ fault, amount }: Extract<Step, { do: 'fault' }>): void {
    const { faults } = this.#scene.chain;
    switch (fault) {
      case 'lag':
        faults.lag = amount;
        return;
      case 'empty-logs':
        faults.emptyLogs = amount;
        this.#scene.wereLogsHidden = true;
        return;
      case 'no-transactions':
        faults.hasNoTransactions = true;
        this.#scene.isExact = false;
        this.#scene.wasUnreadable = true;
        return;
      case 'down':
        faults.isDown = true;
        return;
      default:
        return unreachable(fault);
    }
  }
}
