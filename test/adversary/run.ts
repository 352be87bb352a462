import { DomainError } from '../../core/errors.js';
import { silentLogger, type Logger } from '../../core/log.js';
import { contractFence } from '../../core/usage/counter-names.js';
import { chainFence, type Cursor, type UsageStore } from '../../core/usage/usage-store.js';
import { contractLosses } from '../../core/usage/token-losses.js';
import { toAddressKey, type AddressKey } from '../../core/units/address.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { Chain } from '../../core/chain/chain.js';
import { ChainFollower } from '../../server/follower/chain-follower.js';
import { chainId } from '../conformance/usage-requests.js';
import { aClock } from '../adapters/usage/clock.js';
import { prefundOf } from './chain/operations.js';
import { keysOf, walletName, type Nature } from './chain/entry-point.js';
import { callDataOf } from './chain/real-chain.js';
import { ModelChain } from './chain/model-chain.js';
import type {
  AccountCall,
  ActionResult,
  BundledOperation,
  ChainAction,
  ContractSpec,
} from './chain/operations.js';
import { BrokenRule } from './broken-rule.js';
import { accepts, changedKeys, signingKeys } from './chain/signing-keys.js';
import { Forgeries } from './forgeries.js';
import { KeyRule, KeyWatch, type KeyFacts } from './key-watch.js';
import { ask, forge, rate, signNothing, type Answer, type Asked, type Behind, type Sign } from './service.js';
import type { AskStep, MineStep, Step } from './steps.js';
import type { OpenStores, Stores } from './stores.js';
import { ceilGwei, needsOf, operationOf, Truth, type Grant } from './truth.js';
import {
  boundsOf,
  callTargets,
  Configs,
  confirmations,
  contracts,
  defaultWallet,
  feeToken,
  ownWallet,
  paymasters,
  secondsOf,
  senders,
  specs,
  treasury,
} from './world.js';

/** Seams at which a test turns a rule off. An absent one leaves the code as it is. */
export type Switches = {
  /** Wraps the store that replicas and follower get. */
  readonly usage?: (store: UsageStore) => UsageStore;
  /** Wraps the chain that the follower reads. */
  readonly chain?: (chain: Chain) => Chain;
  /** Whether a recreated paymaster counts as a new one. */
  readonly forgetsNames?: boolean;
  /** Wraps what the operator knows of the contracts' signers. */
  readonly keyFacts?: (facts: KeyFacts) => KeyFacts;
};

/** Where operations are mined: the model, or a real chain beside it. */
export type Ground = {
  /** The model that the rules are checked against. */
  readonly model: ModelChain;
  /** The chain that the service reads. */
  readonly port: Chain;
  readonly sign: Sign;
  /** Whether accounts can execute something else than their callData. */
  readonly hasFickleAccounts: boolean;
  /** Whether empty blocks are so cheap that a run can end by letting everything expire. */
  readonly hasCheapBlocks: boolean;
  mine(action: ChainAction, time: number, nature: Nature): Promise<ActionResult>;
  mineEmpty(time: number): Promise<void>;
  /** The model's height of a block that the follower has settled; undefined where the block was removed. */
  heightOf(settled: Pick<Cursor, 'blockNumber' | 'blockHash'>): Promise<number | undefined>;
  /** Removes the blocks above this height of the model. */
  reorganise(height: number): Promise<void>;
  stop(): Promise<void>;
};

/** Only the model. */
export async function modelGround(time: number): Promise<Ground> {
  const model = new ModelChain({ chainId, contracts: specs, token: feeToken, time });
  return {
    model,
    port: model,
    sign: signNothing,
    hasFickleAccounts: true,
    hasCheapBlocks: true,
    mine: async (...action) => model.mine(...action),
    mineEmpty: async (at) => model.mineEmpty(at),
    heightOf: async ({ blockNumber, blockHash }) =>
      model.hashAt(blockNumber) === blockHash ? blockNumber : undefined,
    reorganise: async (height) => model.reorganise(height),
    stop: async () => {},
  };
}

const milli = 10n ** 15n;
const unlimited = (1n << 256n) - 1n;
const manyTokens = 10n ** 40n;
const wallets: readonly {
  readonly contract: AddressKey;
  readonly wallet?: AddressKey;
  readonly amount: bigint;
}[] = [
  { contract: contracts.hybrid07, wallet: defaultWallet, amount: 120n * milli },
  { contract: contracts.hybrid07, wallet: ownWallet, amount: 30n * milli },
  { contract: contracts.hybrid07, wallet: treasury, amount: 80n * milli },
  { contract: contracts.plain07, amount: 120n * milli },
  { contract: contracts.plain08, amount: 120n * milli },
  { contract: contracts.hybrid06, wallet: defaultWallet, amount: 80n * milli },
  { contract: contracts.hybrid06, wallet: treasury, amount: 60n * milli },
];

/** Takes the steps, and checks the rules after each. Throws {@link BrokenRule}. Answers how many steps were taken. */
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
  const run = new Run(clock, await open(clock), switches, await groundOf(secondsOf(clock.now())));
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
  readonly truth: Truth;
  /** How often each thing happened, so that a test can check that the run was meaningful. */
  readonly seen = new Map<string, number>();
  readonly #clock: ReturnType<typeof aClock>;
  readonly #stores: Stores;
  readonly #switches: Switches;
  readonly #ground: Ground;
  readonly #chain: ModelChain;
  /** Blocks up to this height are never removed. */
  #begunAt: number;
  readonly #configs: Configs;
  /** The highest key that each paymaster has ever had. */
  readonly #keyGenerations = paymasters.map(() => 1);
  #follower!: ChainFollower;
  /** The replica that follows the chain. */
  #followedBy = 0;
  /** Highest block that a follower has seen. */
  #seenHeight = 0;
  /** Whether the copy that would take over is detached, and the number of grants that it knows. */
  #isDetached = false;
  #detachedAt = 0;
  /** Number of grants when the backup was taken. */
  #backedUp = 0;
  /** Signatures that the current data do not contain. */
  #lostGrants: readonly Grant[] = [];
  /** False once data were lost or attribution became impossible: counters may then hold more than was spent. */
  #isExact = true;
  #wereLogsHidden = false;
  /** The store refuses generations below these: of paymasters, and of the chain. */
  #noted: readonly number[] = [];
  #notedChain = 1;
  readonly #forgeries: Forgeries;
  /** The operator. */
  readonly #watch: KeyWatch;
  readonly #keyRule = new KeyRule();
  /** The first block that the current follower remembers, once it has taken a step. */
  #remembersFrom: number | undefined;
  /** A reorganisation below the settled block that the follower has not noticed yet. */
  #isReorganised = false;
  /** Errors that the follower has reported since then. */
  #reports: string[] = [];
  /** When the owner of each account has last withdrawn. */
  readonly #withdrawnAt = new Map<number, number>();
  /** Whether the backup is of the current branch. */
  #isBackupUsable = false;

  constructor(clock: ReturnType<typeof aClock>, stores: Stores, switches: Switches, ground: Ground) {
    this.#clock = clock;
    this.#stores = stores;
    this.#switches = switches;
    this.#ground = ground;
    this.#chain = ground.model;
    this.#begunAt = ground.model.height;
    this.#watch = new KeyWatch(clock, switches.keyFacts);
    this.#configs = new Configs(this.#watch, switches.forgetsNames);
    this.truth = new Truth(this.#chain);
    this.#forgeries = new Forgeries(this.#chain);
  }

  async begin(): Promise<void> {
    for (const account of wallets) await this.#fund(account);
    for (const sender of senders) await this.#mine({ do: 'mint', sender, amount: manyTokens });
    // Half of the accounts have allowed everything, the others nothing.
    for (const sender of senders.slice(0, 2))
      for (const { address } of specs)
        await this.#mine({ do: 'tokens', sender, call: this.#call('approve', sender, address) });
    for (let i = 0; i <= confirmations; i++) await this.#mineEmpty(2);
    await this.#look();
    this.#newFollower(0);
    await this.#round();
    await this.#mineEmpty(2);
    await this.#round();
    this.#begunAt = this.#chain.height;
  }

  async stop(): Promise<void> {
    await this.#stores.stop();
    await this.#ground.stop();
  }

  async take(step: Step): Promise<void> {
    await this.#take(step);
    this.truth.check();
  }

  /** Lets everything be confirmed and expire: then counters hold what was spent, and nothing is promised. */
  async finish(): Promise<void> {
    this.#heal();
    for (let i = 0; i <= confirmations; i++) await this.#mineEmpty(2);
    if (!(await this.#settled())) return;
    await this.#checkCounters(this.#wereLogsHidden);
    if (!this.#ground.hasCheapBlocks) return;
    this.#clock.advance(700_000);
    if (!(await this.#settled())) return;
    // A nonce that was used without an event is given up this many blocks after the follower noticed it.
    for (let i = 0; i < 66; i++) await this.#mineEmpty(1);
    if (!(await this.#settled())) return;
    await this.#checkCounters(false);
    const live = await this.#store(this.#followedBy).liveCount(chainId);
    if (live > 0) throw new BrokenRule(7, `${live} reservations are left when every signature has expired`);
  }

  async #take(step: Step): Promise<void> {
    this.#count(step.do);
    switch (step.do) {
      case 'ask':
        await Promise.all(step.asks.map((one) => this.#ask(one)));
        return;
      case 'mine':
        return this.#mineGrants(step.picks);
      case 'spend-nonce': {
        const { entryPoint } = specs[step.contract]!;
        await this.#mine({
          do: 'spend-nonce',
          entryPoint,
          sender: senders[step.sender]!,
          key: BigInt(step.key),
        });
        this.#isExact = false;
        return;
      }
      case 'tokens': {
        const sender = senders[step.sender]!;
        const { address } = specs[step.contract]!;
        if (step.how === 'mint') await this.#mine({ do: 'mint', sender, amount: manyTokens });
        else await this.#mine({ do: 'tokens', sender, call: this.#call(step.how, sender, address) });
        return;
      }
      case 'pass':
        for (let i = 0; i < step.blocks; i++) await this.#mineEmpty(step.seconds / step.blocks);
        return;
      case 'reorganise': {
        if (step.isDeep) return this.#reorganiseDeeply(step.depth);
        // Never deeper than the confirmations allow, counted from the highest block that a follower has seen. After a deep one fewer
        // blocks than that are on top of the settled block.
        const to = Math.max(
          this.#seenHeight - confirmations,
          this.#chain.height - step.depth,
          this.#begunAt,
          this.#remembersFrom ?? 0,
          (await this.#settledHeight()) ?? 0,
        );
        if (to >= this.#chain.height) return;
        await this.#ground.reorganise(to);
        this.truth.excess.reorganised(to);
        await this.#mineEmpty(1);
        return;
      }
      case 'round':
        await this.#round();
        return;
      case 'fault':
        return this.#fault(step.fault, step.amount);
      case 'heal':
        return this.#heal();
      case 'deposit':
        // Nobody reads the lowest balance between the settled block and the head. If an owner puts back what he has just withdrawn,
        // a reorganisation could remove that deposit, and the service would have promised operations that can no longer be mined.
        if ((this.#withdrawnAt.get(step.account) ?? 0) > this.truth.knownFrom) return;
        await this.#mine({ do: 'deposit', ...wallets[step.account]!, amount: BigInt(step.amount) * milli });
        return;
      case 'withdraw':
        return this.#withdraw(step.account, step.amount);
      case 'crash':
        await this.#stores.crash(async () => {
          await Promise.all(step.asks.map((one) => this.#ask(one)));
        });
        return;
      case 'detach':
        if (this.#isReorganised || !(await this.#stores.detach())) return;
        this.#isDetached = true;
        this.#detachedAt = this.truth.grants.length;
        return;
      case 'failover': {
        if (!(await this.#hasNoticed())) return;
        const found = await this.#stores.failover();
        this.#isDetached = false;
        if (found === undefined) return;
        this.#count(`failover to ${found} data`);
        if (found === 'older') await this.#dataAreOlder(this.#detachedAt);
        return;
      }
      case 'forge':
        return this.#forge(step.ask, step.used);
      case 'resume':
        await unlessUnavailable(() => this.#resume());
        return;
      case 'new-follower':
        this.#watch.restart();
        this.#keyRule.restart();
        if (await this.#hasNoticed()) this.#newFollower(this.#seenHeight);
        return;
      case 'kill':
        if (!(await this.#hasNoticed())) return;
        await this.#stores.kill();
        return this.#newFollower(0);
      case 'backup':
        if (this.#isReorganised) return;
        await this.#stores.backup();
        this.#backedUp = this.truth.grants.length;
        this.#isBackupUsable = true;
        return;
      case 'restore':
        return this.#restore();
      case 'limit': {
        const { threshold, isActive, isNew } = step;
        const startMs = isNew
          ? this.#clock.now()
          : this.#configs.limits[step.paymaster]![step.limit]!.startMs;
        const change = { threshold, isActive, startMs };
        this.#configs.changeLimit(step.paymaster, step.limit, change, this.#clock.now());
        return this.#noteGenerations();
      }
      case 'profile':
        this.#configs.toggleProfile(step.profile);
        this.#keyRule.forget(specs[step.profile]!.address);
        await this.#noteGenerations();
        // The operator asks about a new profile at once.
        return this.#look();
      case 'signer': {
        const { address: contract, kind } = specs[step.contract]!;
        const accepted = keysOf(this.#chain.state(), contract);
        if (changedKeys(kind, accepted, step) === accepted) return;
        await this.#mine({ do: 'signer', contract, key: step.key, isAccepted: step.isAccepted });
        return;
      }
      case 'look':
        return this.#look();
      case 'rotate-key':
        this.#configs.rotateKey(step.paymaster, this.#clock.now());
        this.#keyGenerations[step.paymaster]! += 1;
        return this.#noteGenerations();
      case 'make-again': {
        const forgotten = this.#configs.makeAgain(step.paymaster, this.#clock.now());
        if (forgotten.length > 0) throw new BrokenRule(14, `limits ${forgotten.join(', ')} start over`);
        return this.#noteGenerations();
      }
    }
  }

  /** The operation of an ask, and the contract that would pay for it. */
  #askedBy(step: AskStep): {
    readonly asked: Asked;
    readonly spec: ContractSpec;
    readonly call: AccountCall;
  } {
    const { version } = paymasters[step.paymaster]!;
    const spec = specs.find(({ version: of, kind }) => `${of}${kind}` === kindOf(version))!;
    const sender = senders[step.sender]!;
    const next = this.#chain.state().nonces.get(`${spec.entryPoint}/${sender}/${step.key}`) ?? 0n;
    const call = this.#call(step.call, sender, spec.address);
    const op: FinalUserOperation = {
      sender,
      nonce: (BigInt(step.key) << 64n) | (next + BigInt(step.ahead)),
      initCode: '0x',
      callData: callDataOf(call, callTargets),
      callGasLimit: BigInt(step.gas),
      verificationGasLimit: 100_000n,
      preVerificationGas: 50_000n,
      maxFeePerGas: BigInt(step.feeGwei) * 10n ** 9n,
      maxPriorityFeePerGas: BigInt(step.feeGwei) * 10n ** 9n,
      signature: '0x',
    };
    const mode = step.isToken ? 'ERC20' : 'SPONSORED';
    const keyGeneration = this.#configs.keyGeneration(step.paymaster);
    const former = step.hasFormerKey ? Math.max(1, this.#keyGenerations[step.paymaster]! - 1) : keyGeneration;
    return {
      asked: { ...step, keyGeneration: former, mode, op, inAdvance: step.inAdvance && takesInAdvance(spec) },
      spec,
      call,
    };
  }

  async #ask(step: AskStep): Promise<void> {
    const { paymasterId } = paymasters[step.paymaster]!;
    const { asked, spec, call } = this.#askedBy(step);
    const { op, mode } = asked;
    const behind = this.#behind(step);
    const bounds = boundsOf(this.#configs, step.paymaster, op.sender, this.#clock.now());
    const answer = await unlessUnavailable(() =>
      ask(this.#store(step.replica), this.#configs, asked, {
        chainTime: this.#chain.time,
        sign: this.#ground.sign,
        behind,
      }),
    );
    if (answer === undefined) return;
    this.#count(`${mode} ${answer.result.outcome}`);
    if (answer.result.outcome !== 'reserved') return;
    if (behind.generations > 0 || behind.isChain)
      throw new BrokenRule(12, `${paymasterId} was served by a config that is known to be old`);
    if (asked.keyGeneration < this.#keyGenerations[step.paymaster]!)
      throw new BrokenRule(14, `${paymasterId} was served by a key that was rotated`);
    this.#forgeries.checkSigned(spec.address);
    this.#keyRule.checkSigned(spec.address, answer.signedBy);
    const bundled = signedOperation(step.paymaster, { asked, spec, call }, answer);
    const needs = needsOf(bundled);
    const cost = ceilGwei(needs[0]!.amount);
    const grant: Grant = {
      ...bundled,
      paymaster: step.paymaster,
      needs,
      cost,
      limits: mode === 'SPONSORED' ? bounds : [],
      unsecured: mode === 'ERC20' ? unsecuredOf(bundled, cost) : 0,
      at: this.#now(),
    };
    this.#checkLoss();
    this.truth.add(grant);
    this.truth.checkShare(grant);
    this.truth.checkParts(grant);
  }

  /** Signed with the contract's own key and mined at once, without the service. */
  async #forge(step: AskStep, used: number): Promise<void> {
    const found = this.#askedBy({ ...step, ahead: 0 });
    const accepted = keysOf(this.#chain.state(), found.spec.address);
    const signedBy = signingKeys.findIndex((_, key) => accepts(accepted, key));
    if (signedBy === -1) return;
    const now = this.#clock.now();
    const context = { chainTime: this.#chain.time, sign: this.#ground.sign, now, signedBy };
    const answer = forge(this.#configs, found.asked, context);
    if (answer === undefined) return;
    const operation = signedOperation(step.paymaster, found, answer);
    const { address: contract, entryPoint } = found.spec;
    const isKnown = this.truth.grants.some((one) => operationOf(one) === operationOf(operation));
    const result = await this.#mine({ do: 'bundle', entryPoint, operations: [operation] }, () => used);
    if (result.outcome === 'failed') return;
    this.#count(`forged for ${contract}`);
    // The follower may take it for one of our promises for the same nonce.
    if (isKnown) this.#isExact = false;
    this.#forgeries.add({ operation, mustBeNoticed: !isKnown });
    this.truth.excess.mayGrow = true;
  }

  /**
   * Removes blocks that were settled. The follower cannot undo blocks that it no longer remembers: that the counters then show too
   * much is a known limitation.
   */
  async #reorganiseDeeply(depth: number): Promise<void> {
    if (this.#remembersFrom === undefined || this.#lostGrants.length > 0 || this.#isDetached) return;
    const to = Math.max(this.#chain.height - depth, this.#begunAt, this.#remembersFrom);
    const settled = await this.#settledHeight();
    if (settled === undefined || to >= this.#chain.height) return;
    await this.#ground.reorganise(to);
    this.truth.excess.reorganised(to);
    await this.#mineEmpty(1);
    if (settled <= to) return;
    this.#seenHeight = to;
    this.#count('reorganised below the settled block');
    this.#isReorganised = true;
    this.#isBackupUsable = false;
    this.#reports = [];
    this.truth.excess.mayGrow = true;
  }

  /** The model's height of the block that is settled; undefined where the store does not answer, or the block was removed. */
  async #settledHeight(): Promise<number | undefined> {
    const cursor = await unlessUnavailable(() => this.#store(this.#followedBy).cursor(chainId));
    return cursor && this.#ground.heightOf(cursor);
  }

  /** True once the follower knows the last reorganisation: a follower that takes over before that cannot know what was removed. */
  async #hasNoticed(): Promise<boolean> {
    for (let i = 0; i < 5 && this.#isReorganised; i++) {
      this.#heal();
      await this.#mineEmpty(5);
      await this.#round();
    }
    return !this.#isReorganised;
  }

  /** Only generations that the store was told: a replica that was not told cannot know. */
  #behind({ paymaster, isBehind, isChainBehind }: AskStep): Behind {
    const generation = this.#configs.generations[paymaster]!;
    const chainGeneration = this.#configs.chainGeneration;
    return {
      generations: isBehind && generation > 1 && this.#noted[paymaster] === generation ? 1 : 0,
      isChain: isChainBehind && chainGeneration > 1 && this.#notedChain === chainGeneration,
    };
  }

  /** Rule 11: nothing is signed while a promise may be alive that the data have forgotten. */
  #checkLoss(): void {
    const forgotten = this.#lostGrants.find(({ terms }) => terms.validUntil >= this.#now());
    if (forgotten !== undefined)
      throw new BrokenRule(
        11,
        `something was signed while ${operationOf(forgotten)} was forgotten and alive`,
      );
  }

  async #mineGrants(picks: readonly MineStep[]): Promise<void> {
    const time = this.#now() + 1;
    const state = this.#chain.state();
    const ready = this.truth.mineable().filter(({ op, contract, terms }) => {
      const { entryPoint } = specs.find(({ address }) => address === contract)!;
      const next = state.nonces.get(`${entryPoint}/${op.sender}/${op.nonce >> 64n}`) ?? 0n;
      return next === (op.nonce & 0xffff_ffff_ffff_ffffn) && terms.validUntil >= time;
    });
    if (ready.length === 0) return;
    const chosen = new Map<string, { readonly grant: Grant; readonly how: MineStep }>();
    for (const how of picks) {
      const grant = ready[how.pick % ready.length]!;
      const [first] = chosen.values();
      if (first !== undefined && !sameEntryPoint(first.grant, grant)) continue;
      if (!chosen.has(operationOf(grant))) chosen.set(operationOf(grant), { grant, how });
    }
    const operations = [...chosen.values()].map(({ grant, how }) => ({
      ...grant,
      call: this.#ground.hasFickleAccounts
        ? this.#call(how.call, grant.op.sender, grant.contract)
        : grant.call,
    }));
    const used = new Map(operations.map((operation, i) => [operation, [...chosen.values()][i]!.how.used]));
    const { entryPoint } = specs.find(({ address }) => address === operations[0]!.contract)!;
    await this.#mine(
      { do: 'bundle', entryPoint, operations },
      (operation) => used.get(operation as never) ?? 1_000,
    );
  }

  async #withdraw(account: number, amount: number): Promise<void> {
    const { contract, wallet } = wallets[account]!;
    if (wallet === undefined || this.#lostGrants.length > 0) return;
    // The owner withdraws the unpromised part; the store learns this before it promises more.
    this.#heal();
    if (!(await this.#round())) return;
    const free = await this.#free(contract, wallet, amount);
    if (free <= 0) return;
    await this.#mine({ do: 'withdraw', contract, wallet, amount: BigInt(free) * 10n ** 9n });
    this.#withdrawnAt.set(account, this.#chain.height);
    await this.#round();
  }

  /** Gwei that the owner of a wallet may withdraw. */
  async #free(contract: AddressKey, wallet: AddressKey, wanted: number): Promise<number> {
    // The store need not know the balance of a contract that no profile names.
    if (!this.#configs.isOffered(contract))
      return Math.min(this.truth.freeOf(walletName(contract, wallet)), wanted * 1_000_000);
    const known = await unlessUnavailable(() => this.#store(this.#followedBy).accounts(chainId));
    const of = known?.find((one) => one.contract === contract && one.fundingAddress === wallet);
    return of?.balance === undefined ? 0 : Math.min(of.balance - of.reserved, wanted * 1_000_000);
  }

  async #restore(): Promise<void> {
    if (!this.#isBackupUsable || !(await this.#hasNoticed()) || !this.#isBackupUsable) return;
    if (!(await this.#stores.restore())) return;
    await this.#dataAreOlder(this.#backedUp);
    this.#newFollower(0);
  }

  /** The data do not contain signatures from this one on. */
  async #dataAreOlder(from: number): Promise<void> {
    const forgotten = this.truth.grants.slice(from);
    this.#lostGrants = [...this.#lostGrants, ...forgotten];
    if (forgotten.length > 0) this.truth.forgetLosses(this.#now());
    this.#noted = [];
    this.#notedChain = 1;
    this.#isExact = false;
    // The process whose confirmed write was lost notices it at its next call; the others cannot know before that.
    for (const i of this.#stores.replicas.keys())
      await unlessUnavailable(() => this.#store(i).cursor(chainId));
    const settled = await this.#settledHeight();
    // New data after a loss contain nothing about earlier blocks.
    if (settled === undefined) this.#forgeries.mayBeHidden();
    this.#forgeries.goBack(settled ?? 0);
    // The follower's memory no longer matches the data.
    this.#remembersFrom = undefined;
  }

  /** The operator asks every offered contract which keys it accepts, and stores which key signs. */
  async #look(): Promise<void> {
    const { port } = this.#ground;
    const head = await unlessUnavailable(() => port.block('latest'));
    if (head === undefined) return;
    const config = this.#configs.chainConfig();
    await this.#watch.look(port, config);
    const height = await this.#ground.heightOf({ blockNumber: head.number, blockHash: head.hash });
    const state = this.#chain.state(height);
    const offered = config.profiles.map(({ sponsorship }) => toAddressKey(sponsorship));
    this.#keyRule.looked(offered, (contract) => keysOf(state, contract), this.#now());
    if (!this.#configs.storeSeen()) return;
    this.#count('key or stop stored');
    await this.#noteGenerations();
  }

  async #noteGenerations(): Promise<void> {
    const fences = [
      { id: chainFence, generation: this.#configs.chainGeneration },
      ...paymasters.map(({ paymasterId: id }, i) => ({ id, generation: this.#configs.generations[i]! })),
    ];
    const done = await unlessUnavailable(async () => {
      await this.#store(this.#followedBy).noteGenerations(chainId, fences);
      return true;
    });
    if (done !== true) return;
    this.#noted = [...this.#configs.generations];
    this.#notedChain = this.#configs.chainGeneration;
  }

  /** False when it had no effect. */
  async #round(): Promise<boolean> {
    this.#seenHeight = Math.max(this.#seenHeight, this.#chain.height);
    for (let i = 0; i < 4; i++) {
      if (this.#chain.faults.emptyLogs > 0) this.#forgeries.mayBeHidden();
      const round = await unlessUnavailable(
        () => this.#follower.round(),
        (reason) => this.#count(`round: ${reason}`),
      );
      if (round === undefined) {
        await unlessUnavailable(() => this.#stores.recovery(this.#followedBy).recover(chainId));
        return false;
      }
      for (const name of ['settled', 'released', 'forfeited', 'unpaid', 'unattributed', 'restored'] as const)
        this.#count(name, round[name]);
      const settled = round.cursor === undefined ? undefined : await this.#ground.heightOf(round.cursor);
      const forged =
        settled === undefined
          ? 0
          : this.#forgeries.settle(settled, (contract) => this.#configs.isOffered(contract));
      if (round.unattributed > forged) await this.#resumeAfterLoss();
      this.#remembersFrom ??= settled;
      if (!round.isComplete) continue;
      await unlessUnavailable(() => this.#notice());
      return true;
    }
    return false;
  }

  /** After a complete round the service must have acted on everything that it now knows. */
  async #notice(): Promise<void> {
    const cursor = await this.#store(this.#followedBy).cursor(chainId);
    const settled = cursor === undefined ? undefined : await this.#ground.heightOf(cursor);
    if (settled === undefined) return;
    this.truth.knownFrom = settled;
    if (this.#isReorganised && !this.#reports.includes(reorganised))
      throw new BrokenRule(1, 'a reorganisation below the settled block was not reported');
    this.#isReorganised = false;
    const suspended = await this.#store(this.#followedBy).suspended(chainId);
    this.#forgeries.check((contract) => suspended.includes(contractFence(contract)));
    if (this.#chain.faults.lag === 0 && !this.#forgeries.hasUnsettled()) this.truth.excess.mayGrow = false;
  }

  /** A contract is suspended when an operation of it was mined that the data do not contain. Only lost data explain that. */
  async #resumeAfterLoss(): Promise<void> {
    if (this.#lostGrants.length === 0)
      throw new BrokenRule(6, 'an operation that was promised was not recognised');
    await this.#resume();
  }

  /** The platform resumes suspended contracts. */
  async #resume(): Promise<void> {
    for (const id of await this.#store(this.#followedBy).suspended(chainId))
      await this.#store(this.#followedBy).setSuspended(chainId, id, false);
    this.#forgeries.stopped.clear();
  }

  /** Rounds until nothing is left to do; false while the data count as lost. */
  async #settled(): Promise<boolean> {
    for (let i = 0; i < 5; i++) {
      // For a head that it knows, the follower reads nothing again for a while.
      await this.#mineEmpty(1);
      await this.#round();
    }
    const cursor = await unlessUnavailable(() => this.#store(this.#followedBy).cursor(chainId));
    return cursor !== undefined;
  }

  /**
   * Settled equals mined: never less, and never more than signatures of the same paymaster explain. Amounts that a node
   * has hidden may be held instead, until the follower looks for them again.
   */
  async #checkCounters(mayBeHeld: boolean): Promise<void> {
    const least = this.truth.spent();
    const most = this.truth.spentAtMost();
    const now = this.#clock.now();
    const open = new Map(
      this.truth.grants
        .flatMap(({ limits }) => limits)
        .filter(({ until }) => until > now)
        .map((one) => [one.name, one]),
    );
    const names = [...open.values()].map(({ name, unit }) => ({ counter: name, unit }));
    if (this.#lostGrants.length > 0) return;
    const states = await this.#store(this.#followedBy).counters(chainId, names);
    for (const [i, { counter }] of names.entries()) {
      const { reserved } = states[i]!;
      const used = states[i]!.used + (mayBeHeld ? reserved : 0);
      if (used < (least.get(counter) ?? 0))
        throw new BrokenRule(6, `limit ${counter} counts ${used}, ${least.get(counter)} was spent`);
      if (this.#isExact && !mayBeHeld && used > (most.get(counter) ?? 0))
        throw new BrokenRule(
          1,
          `limit ${counter} counts ${used}, ${most.get(counter) ?? 0} was spent at most`,
        );
    }
    for (const contract of Object.values(contracts)) {
      const at = toMs(this.#chain.time as EpochSeconds);
      const [state] = await this.#store(this.#followedBy).counters(chainId, [
        contractLosses({ chainId, contract }, at),
      ]);
      const lost = this.truth.lost(contract, this.#chain.time);
      if (this.#isExact && !mayBeHeld && state!.used !== lost)
        throw new BrokenRule(6, `${contract} counts losses of ${state!.used}, ${lost} were lost`);
    }
  }

  #store(index: number): UsageStore {
    const { replicas } = this.#stores;
    const store = replicas[index % replicas.length]!;
    return this.#switches.usage?.(store) ?? store;
  }

  #newFollower(replica: number): void {
    this.#remembersFrom = undefined;
    this.#followedBy = replica;
    const chain = this.#switches.chain?.(this.#ground.port) ?? this.#ground.port;
    this.#follower = new ChainFollower({
      usage: this.#store(replica),
      chainId,
      current: () => ({ config: this.#configs.chainConfig(), chain }),
      platformAccounts: () =>
        wallets.map(({ contract, wallet }) => ({
          contract,
          ...(wallet === undefined ? {} : { fundingAddress: wallet }),
        })),
      clock: this.#clock,
      log: this.#log(),
    });
  }

  #log(): Logger {
    const log: Logger = {
      ...silentLogger,
      error: (message: string) => void this.#reports.push(message),
      child: () => log,
    };
    return log;
  }

  #fault(fault: Extract<Step, { do: 'fault' }>['fault'], amount: number): void {
    const { faults } = this.#chain;
    switch (fault) {
      case 'lag':
        faults.lag = amount;
        return;
      case 'empty-logs':
        faults.emptyLogs = amount;
        this.#wereLogsHidden = true;
        return;
      case 'no-transactions':
        faults.hasNoTransactions = true;
        this.#isExact = false;
        return;
      case 'down':
        faults.isDown = true;
        return;
    }
  }

  /** Sets an account's balance, whatever it held. */
  async #fund({ contract, wallet, amount }: (typeof wallets)[number]): Promise<void> {
    const state = this.#chain.state();
    const held =
      wallet === undefined
        ? (state.deposits.get(contract) ?? 0n)
        : (state.wallets.get(walletName(contract, wallet)) ?? 0n);
    const place = { contract, ...(wallet === undefined ? {} : { wallet }) };
    if (held < amount) await this.#mine({ do: 'deposit', ...place, amount: amount - held });
    else if (wallet !== undefined && held > amount)
      await this.#mine({ do: 'withdraw', contract, wallet, amount: held - amount });
  }

  #heal(): void {
    Object.assign(this.#chain.faults, { lag: 0, emptyLogs: 0, hasNoTransactions: false, isDown: false });
  }

  #call(kind: MineStep['call'], sender: AddressKey, contract: AddressKey): AccountCall {
    switch (kind) {
      case 'nothing':
      case 'fail':
        return { kind };
      case 'approve':
        return { kind, contract, amount: unlimited };
      case 'revoke':
        return { kind: 'approve', contract, amount: 0n };
      case 'send':
        return { kind, amount: this.#chain.state().tokens.get(sender) ?? 0n };
    }
  }

  async #mine(
    action: ChainAction,
    usedOf: (operation: BundledOperation) => number = () => 1_000,
  ): Promise<ActionResult> {
    this.#clock.advance(1_000);
    const nature: Nature = {
      gasUsed: (operation, limit) => (limit * BigInt(usedOf(operation))) / 1_000n,
      charge: (_, taken, cost) => (cost < taken ? cost : taken),
      premium: () => 0n,
      // An operation that uses nearly all of its gas costs more tokens than were taken in advance.
      tokensDue: (operation, most) =>
        operation.terms.preFund !== undefined && usedOf(operation) > 900
          ? operation.terms.preFund + 1n
          : most < 1_000_000n
            ? most
            : 1_000_000n,
    };
    const result = await this.#ground.mine(action, this.#now(), nature);
    if (action.do !== 'bundle') return result;
    if (result.outcome === 'failed') {
      this.#count(`mined ${result.code}`);
      return result;
    }
    for (const { operation, tokens } of result.operations)
      this.#count(
        operation.terms.mode === 'SPONSORED'
          ? 'mined sponsored'
          : tokens === 0n
            ? 'mined unpaid'
            : 'mined paid',
      );
    return result;
  }

  async #mineEmpty(seconds: number): Promise<void> {
    this.#clock.advance(Math.ceil(seconds) * 1_000);
    await this.#ground.mineEmpty(this.#now());
  }

  #now(): number {
    return secondsOf(this.#clock.now());
  }

  #count(name: string, by = 1): void {
    this.seen.set(name, (this.seen.get(name) ?? 0) + by);
  }
}

/** The follower's log message for a reorganisation below the settled block. */
const reorganised = 'chain was reorganised or replaced below the settled block';

/** The operation with the paymaster data that were signed for it, as a bundler has it. */
function signedOperation(
  paymaster: number,
  { asked, spec, call }: { readonly asked: Asked; readonly spec: ContractSpec; readonly call: AccountCall },
  { paymasterAndData, validUntil, signedBy }: Omit<Answer, 'result'>,
): BundledOperation {
  const { mode, op, inAdvance } = asked;
  const bare: BundledOperation = {
    contract: spec.address,
    op,
    paymasterAndData,
    terms: {
      mode,
      validUntil,
      markup: 1_000_000n,
      rate,
      ...(mode === 'SPONSORED' && spec.kind === 'hybrid' ? { fundingAddress: payerWallet(paymaster) } : {}),
      ...(inAdvance && mode === 'ERC20' ? { inAdvance: true as const } : {}),
    },
    isSigned: true,
    signedBy,
    call,
  };
  if (bare.terms.inAdvance !== true || spec.kind === 'hybrid') return bare;
  // The EntryPoint's prefund in tokens; it does not include a hybrid contract's demand.
  const { inAdvance: _, ...terms } = bare.terms;
  const preFund = (prefundOf(bare, spec.version) * rate) / 10n ** 18n;
  return { ...bare, terms: { ...terms, preFund } };
}

/** Whether the contract takes tokens in validation when its data say so. */
function takesInAdvance({ kind, version }: ContractSpec): boolean {
  return kind === 'hybrid' || version === '0.8';
}

/** Gwei that are lost if a token payment of this cost is mined and nothing more is paid after its call. */
function unsecuredOf({ op, terms }: BundledOperation, cost: number): number {
  if (terms.inAdvance === true) return 0;
  // Charged on top of the prefund: the contract's gas after the call, a figure in its data.
  return terms.preFund === undefined ? cost : ceilGwei(60_000n * op.maxFeePerGas);
}

function kindOf(version: string): string {
  const kinds: Readonly<Record<string, string>> = {
    'vendor-1.1.0': '0.6hybrid',
    'vendor-2.x': '0.7hybrid',
    'singleton-0.7': '0.7plain',
    'singleton-0.8': '0.8plain',
  };
  return kinds[version]!;
}

function payerWallet(paymaster: number): AddressKey {
  const found = paymasters[paymaster]!;
  return 'fundingAddress' in found ? found.fundingAddress : defaultWallet;
}

function sameEntryPoint(a: Grant, b: Grant): boolean {
  const of = ({ contract }: Grant) => specs.find(({ address }) => address === contract)!.entryPoint;
  return of(a) === of(b);
}

/** Undefined where a store or a node does not answer: an outage is not an answer, and breaks no rule. */
async function unlessUnavailable<T>(
  call: () => Promise<T>,
  told: (reason: string) => void = () => {},
): Promise<T | undefined> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof DomainError && error.code === 'UNAVAILABLE')) throw error;
    told(error.message);
    return undefined;
  }
}
