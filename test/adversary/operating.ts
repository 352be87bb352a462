import { chainFence } from '../../core/usage/reserve-request.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import { chainId } from '../conformance/usage-requests.js';
import { BrokenRule } from './broken-rule.js';
import { keysOf } from './chain/entry-point.js';
import { changedKeys } from './chain/signing-keys.js';
import type { Mining } from './mining.js';
import type { Scene } from './scene.js';
import type { Behind } from './service.js';
import type { AskStep, Step } from './steps.js';
import { paymasters, specs } from './world.js';

type StepOf<Name extends Step['do']> = Extract<Step, { readonly do: Name }>;

/** What platform and tenants write, and what the operator sees and stores. */
export class Operating {
  readonly #scene: Scene;
  readonly #mining: Mining;
  /** The store refuses generations below these: of paymasters, and of the chain. */
  #noted: readonly number[] = [];
  #notedChain = 1;

  constructor(scene: Scene, mining: Mining) {
    this.#scene = scene;
    this.#mining = mining;
  }

  /** The operator asks every offered contract which keys it accepts, and stores which key signs. */
  async look(): Promise<void> {
    const { chain, configs, ground, keyRule, watch } = this.#scene;
    const { port } = ground;
    const head = await this.#scene.unlessUnavailable(() => port.block('latest'));
    if (head === undefined) return;
    const config = configs.chainConfig();
    await watch.look(port, config);
    const height = await ground.heightOf({ blockNumber: head.number, blockHash: head.hash });
    const state = chain.state(height);
    const offered = config.profiles.map(({ sponsorship }) => toAddressKey(sponsorship));
    keyRule.looked(offered, (contract) => keysOf(state, contract), this.#scene.now());
    if (!configs.storeSeen()) return;
    this.#scene.count('key or stop stored');
    await this.#noteGenerations();
  }

  /** Another operator leads: it knows the stored config alone. */
  restart(): void {
    this.#scene.watch.restart();
    this.#scene.keyRule.restart();
  }

  async changeLimit({ paymaster, limit, threshold, isActive, isNew }: StepOf<'limit'>): Promise<void> {
    const { clock, configs } = this.#scene;
    const startMs = isNew ? clock.now() : configs.limits[paymaster]![limit]!.startMs;
    configs.changeLimit(paymaster, limit, { threshold, isActive, startMs }, clock.now());
    await this.#noteGenerations();
  }

  async toggleProfile({ profile }: StepOf<'profile'>): Promise<void> {
    this.#scene.configs.toggleProfile(profile);
    this.#scene.keyRule.forget(specs[profile]!.address);
    await this.#noteGenerations();
    // The operator asks about a new profile at once.
    await this.look();
  }

  async changeBudget({ profile, part }: StepOf<'budget'>): Promise<void> {
    this.#scene.configs.changeBudget(profile, part);
    await this.#noteGenerations();
  }

  /** The owner of a contract lets it accept a key, or refuse it. */
  async changeSigner(step: StepOf<'signer'>): Promise<void> {
    const { address: contract, keys } = specs[step.contract]!;
    const accepted = keysOf(this.#scene.chain.state(), contract);
    if (changedKeys(keys, accepted, step) === accepted) return;
    await this.#mining.mine({ do: 'signer', contract, key: step.key, isAccepted: step.isAccepted });
  }

  async rotateKey(paymaster: number): Promise<void> {
    this.#scene.configs.rotateKey(paymaster, this.#scene.clock.now());
    this.#scene.keyGenerations[paymaster]! += 1;
    await this.#noteGenerations();
  }

  async proveWallet(paymaster: number, wallet: AddressKey): Promise<void> {
    this.#scene.configs.prove(paymaster, wallet, this.#scene.clock.now());
    await this.#noteGenerations();
  }

  /** The owner deletes the object and recreates it as it was written first. */
  async makeAgain(paymaster: number): Promise<void> {
    const forgotten = this.#scene.configs.makeAgain(paymaster, this.#scene.clock.now());
    if (forgotten.length > 0) throw new BrokenRule(14, `limits ${forgotten.join(', ')} start over`);
    await this.#noteGenerations();
  }

  /** What the asked replica does not know: only generations that the store was told, since a replica that was not told cannot know. */
  behind({
    paymaster,
    isBehind,
    isChainBehind,
  }: Pick<AskStep, 'paymaster' | 'isBehind' | 'isChainBehind'>): Behind {
    const generation = this.#scene.configs.generations[paymaster]!;
    const { chainGeneration } = this.#scene.configs;
    return {
      generations: isBehind && generation > 1 && this.#noted[paymaster] === generation ? 1 : 0,
      isChain: isChainBehind && chainGeneration > 1 && this.#notedChain === chainGeneration,
    };
  }

  /** The store's data are older: it may not know the last generations. */
  forgetNoted(): void {
    this.#noted = [];
    this.#notedChain = 1;
  }

  async #noteGenerations(): Promise<void> {
    const { configs } = this.#scene;
    const fences = [
      { id: chainFence, generation: configs.chainGeneration },
      ...paymasters.map(({ paymasterId: id }, i) => ({ id, generation: configs.generations[i]! })),
    ];
    const done = await this.#scene.unlessUnavailable(async () => {
      await this.#scene.store().noteGenerations(chainId, fences);
      return true;
    });
    if (done !== true) return;
    this.#noted = [...configs.generations];
    this.#notedChain = configs.chainGeneration;
  }
}
