import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { Hex } from '../../core/units/hex.js';
import type { Sponsored } from '../../server/decision/request.js';
import type { Asking } from './asking.js';
import { nameOf, reservationName, type Commit } from './commits.js';
import type { LosingData } from './losing-data.js';
import type { Operating } from './operating.js';
import type { Scene } from './scene.js';
import type { Behind } from './service.js';
import { signedOperation } from './signed-operation.js';
import type { Answer } from './signing.js';
import type { AskStep, FinalizeStep, Step } from './steps.js';
import { operationOf } from './grant.js';
import {
  accountSignature,
  commit,
  createAccounts,
  finalize,
  foreignSignature,
  type PhaseContext,
} from './two-phases.js';
import { specOf, twoPhasePaymasters } from './world.js';

/** Finalizes pick among so many of the newest commits. */
const recent = 6;

/** Wallets, and strangers for them, commit operations and finalize them. */
export class Committing {
  readonly #scene: Scene;
  readonly #asking: Asking;
  readonly #operating: Operating;
  readonly #losing: LosingData;

  constructor(
    scene: Scene,
    {
      asking,
      operating,
      losing,
    }: { readonly asking: Asking; readonly operating: Operating; readonly losing: LosingData },
  ) {
    this.#scene = scene;
    this.#asking = asking;
    this.#operating = operating;
    this.#losing = losing;
  }

  /** Commits at the same moment, and some time later finalizes at the same moment. */
  async take({
    commits,
    between,
    waitMs,
    finals,
    simulationMs,
  }: Extract<Step, { do: 'two-phases' }>): Promise<void> {
    const answered = await this.#commitAll(commits);
    if (between === 'kill') await this.#losing.kill();
    if (between === 'failover') await this.#losing.failover();
    this.#scene.clock.advance(waitMs);
    // Of commits of the same moment one may have replaced another.
    const fresh = commits.length === 1 && between === 'nothing' ? answered[0] : undefined;
    await this.finalizeAll(finals, { simulationMs, fresh });
  }

  /**
   * The simulations of the accounts' signatures end after so many milliseconds, all at the same moment. `fresh`: a commit since
   * which nothing but time has passed.
   */
  async finalizeAll(
    steps: readonly FinalizeStep[],
    { simulationMs = 0, fresh }: { readonly simulationMs?: number; readonly fresh?: Commit | undefined } = {},
  ): Promise<void> {
    let hasPassed = false;
    const simulated = () => {
      if (!hasPassed) this.#scene.clock.advance(simulationMs);
      hasPassed = true;
    };
    await Promise.all(steps.map((one) => this.#finalize(one, simulated, fresh)));
  }

  async #commitAll(steps: readonly AskStep[]): Promise<readonly Commit[]> {
    const asked = await Promise.all(steps.map((one) => this.#commit(one)));
    const answered = asked.filter((one) => one !== undefined);
    this.#scene.commits.add(answered, this.#scene.clock.now());
    return answered;
  }

  async #commit(step: AskStep): Promise<Commit | undefined> {
    const { configs } = this.#scene;
    const paymaster = twoPhasePaymasters[step.paymaster % twoPhasePaymasters.length]!;
    const ask = { ...step, paymaster };
    const { asked, call } = this.#asking.requestOf(ask);
    const behind = this.#operating.behind(ask);
    const answer = await this.#scene.unlessUnavailable(() =>
      commit(this.#scene.store(step.replica), configs, asked, this.#context(behind)),
    );
    const { mode, inAdvance, op } = asked;
    const answered = this.#answered(`${mode} commit`, paymaster, behind, answer);
    if (answered === undefined) return undefined;
    this.#asking.checkKey(paymaster, asked);
    const { paymasterAndData, validUntil } = answered;
    const { paymasterGas } = asked;
    return { paymaster, mode, inAdvance, paymasterGas, op, call, paymasterAndData, validUntil };
  }

  async #finalize(step: FinalizeStep, simulated: () => void, fresh: Commit | undefined): Promise<void> {
    const { clock, configs } = this.#scene;
    const among = this.#scene.commits.made.slice(-recent);
    const committed = among[step.pick % Math.max(1, among.length)];
    if (committed === undefined) return;
    const { paymaster, mode, inAdvance, paymasterGas } = committed;
    const signature = step.isByAccount ? accountSignature : foreignSignature;
    const op = { ...changedOperation(committed.op, step.change), signature };
    const data = step.change === 'window' ? this.#otherData(committed) : committed.paymasterAndData;
    const asked = {
      paymaster,
      mode,
      op,
      expirySeconds: 300,
      wallet: configs.walletOf(paymaster),
      inAdvance,
      paymasterGas,
      keyGeneration: configs.keyGeneration(paymaster),
    };
    const behind = this.#operating.behind({ ...step, paymaster });
    const { address: contract } = specOf(paymaster);
    const answer = await this.#scene.unlessUnavailable(
      () =>
        finalize(
          this.#scene.store(step.replica),
          configs,
          { ...asked, committed: data },
          {
            ...this.#context(behind, simulated),
            ...(step.isUnsigned ? { sign: this.#asking.failing(paymaster, asked, data) } : {}),
          },
        ),
      () => this.#scene.unclear.add(reservationName(paymaster, operationOf({ op, contract }))),
    );
    const answered = this.#answered(`${mode} finalize`, paymaster, behind, answer);
    const isUnchanged = step.change === 'nothing' && step.isByAccount;
    if (committed === fresh && isUnchanged) this.#checkOpen(committed, answer);
    if (answered === undefined) return;
    if (this.#scene.commits.isOlder(committed)) this.#scene.count('finalized after a kill');
    const promised = { paymaster, op, paymasterAndData: answered.paymasterAndData };
    const now = clock.now();
    this.#scene.commits.checkPromise(promised, { now, isByAccount: step.isByAccount });
    const found = { asked, spec: specOf(paymaster), call: committed.call };
    const { signedBy } = answer!;
    const bundled = signedOperation(found, { ...answered, signedBy });
    // Finalized once more: it was promised in the windows of the first time, also where the signer failed then.
    const { grants, neverSigned } = this.#scene.truth;
    const former = [...grants, ...neverSigned].find(
      ({ paymasterAndData = '0x', ...one }) => nameOf({ ...one, paymasterAndData }) === nameOf(promised),
    );
    const bounds = former?.limits ?? this.#asking.boundsOf(paymaster, asked);
    const grant = this.#asking.grant(paymaster, bundled, bounds);
    await this.#asking.checkReserved(step.replica, grant);
  }

  /** An open commit is not refused as if it were over. */
  #checkOpen(commit: Commit, answer: Answer | undefined): void {
    if (answer?.sponsorship.outcome !== 'refused') return;
    const { reason } = answer.sponsorship.refusal;
    if (reason === 'COMMIT_NOT_OPEN') this.#scene.commits.checkOver(commit, this.#scene.clock.now());
  }

  /** What is sponsored. Throws a broken rule where an old config was served. */
  #answered(
    what: string,
    paymaster: number,
    behind: Behind,
    answer: Answer | undefined,
  ): Sponsored | undefined {
    if (answer === undefined) return undefined;
    const { sponsorship } = answer;
    const isSponsored = sponsorship.outcome === 'sponsored';
    this.#scene.count(`${what} ${isSponsored ? 'passed' : sponsorship.refusal.reason}`);
    if (!isSponsored) return undefined;
    this.#asking.checkServed(paymaster, behind);
    return sponsorship;
  }

  #context(behind: Behind, simulated: () => void = () => {}): PhaseContext {
    const { chain, clock, ground, switches } = this.#scene;
    const accounts = createAccounts(simulated);
    return {
      clock,
      chainTime: chain.time,
      sign: ground.sign,
      behind,
      accounts: switches.accounts?.(accounts) ?? accounts,
    };
  }

  /** What another commit of the same paymaster was answered, with another window. */
  #otherData({ paymaster, paymasterAndData }: Commit): Hex {
    const { made } = this.#scene.commits;
    const other = made.findLast(
      (one) => one.paymaster === paymaster && one.paymasterAndData !== paymasterAndData,
    );
    return other?.paymasterAndData ?? paymasterAndData;
  }
}

/** The operation that a caller sends instead of the committed one. */
function changedOperation(op: FinalUserOperation, change: FinalizeStep['change']): FinalUserOperation {
  switch (change) {
    case 'gas':
      return { ...op, callGasLimit: op.callGasLimit + 100_000n };
    case 'fee':
      return { ...op, maxFeePerGas: op.maxFeePerGas + 10n ** 9n };
    case 'nonce':
      return { ...op, nonce: op.nonce + 1n };
    default:
      return op;
  }
}
