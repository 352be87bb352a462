import type { Hex } from '../../core/units/hex.js';
import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import type { EpochSeconds } from '../../core/units/time.js';
import { chainId } from '../conformance/usage-requests.js';
import { BrokenRule } from './broken-rule.js';
import { keysOf } from './chain/entry-point.js';
import type { AccountCall, BundledOperation, ContractSpec } from './chain/operations.js';
import { callDataOf } from './chain/real-chain.js';
import { accepts, signingKeys } from './chain/signing-keys.js';
import type { RefusedSponsorship } from '../../server/decision/request.js';
import type { LosingData } from './losing-data.js';
import type { Mining } from './mining.js';
import { isMade } from './moves.js';
import type { Operating } from './operating.js';
import type { Scene } from './scene.js';
import { checkReserved, reservationName } from './commits.js';
import { forge, type Asked, type Behind, type GivenGas, type Sign } from './service.js';
import { ask } from './signing.js';
import { signedOperation, takesInAdvance, unsecuredOf } from './signed-operation.js';
import type { AskStep, Step } from './steps.js';
import { ceilGwei, operationOf, type Grant } from './grant.js';
import { needsOf } from './truth.js';
import { boundsAt, limitKinds, policyIdOf, type Bound } from './limit-kinds.js';
import { callTargets, paymasters, senders, specOf, takesTokens } from './world.js';

type Request = { readonly asked: Asked; readonly spec: ContractSpec; readonly call: AccountCall };

/** Callers ask for signatures, and an attacker signs with a key of a contract. */
export class Asking {
  readonly #scene: Scene;
  readonly #mining: Mining;
  readonly #operating: Operating;
  readonly #losing: LosingData;

  constructor(
    scene: Scene,
    {
      mining,
      operating,
      losing,
    }: { readonly mining: Mining; readonly operating: Operating; readonly losing: LosingData },
  ) {
    this.#scene = scene;
    this.#mining = mining;
    this.#operating = operating;
    this.#losing = losing;
  }

  /** Asks at the same moment. */
  async askAll(steps: readonly AskStep[]): Promise<void> {
    await Promise.all(steps.map((one) => this.#ask(one)));
  }

  /** Signed with the contract's own key and mined at once, without the service. */
  async forge({ ask: step, used, delivery }: Extract<Step, { do: 'forge' }>): Promise<void> {
    const { chain, clock, commits, configs, forgeries, ground, truth, unclear } = this.#scene;
    const found = this.requestOf({ ...step, ahead: 0 });
    const accepted = keysOf(chain.state(), found.spec.address);
    const signedBy = signingKeys.findIndex((_, key) => accepts(accepted, key));
    if (signedBy === -1) return;
    const context = { chainTime: chain.time, sign: ground.sign, now: clock.now(), signedBy };
    const answer = forge(configs, found.asked, context);
    if (answer === undefined) return;
    const operation = signedOperation(found, answer);
    const { address: contract, entryPoint } = found.spec;
    // What was reserved or committed, and not signed, counts as promised, too.
    const name = operationOf(operation);
    const isKnown =
      truth.grants.some((one) => operationOf(one) === name) ||
      commits.made.some(
        ({ op, paymaster }) => operationOf({ op, contract: specOf(paymaster).address }) === name,
      ) ||
      paymasters.some((_, paymaster) => unclear.has(reservationName(paymaster, name)));
    const result = await this.#mining.mine(
      { do: 'bundle', entryPoint, operations: [operation], delivery },
      () => used,
    );
    if (result.outcome === 'failed') return;
    this.#scene.count(`forged for ${contract}`);
    // The follower may take it for one of our promises for the same nonce.
    if (isKnown) {
      this.#scene.isExact = false;
      this.#scene.wasForged = true;
    }
    forgeries.add({ operation, mustBeNoticed: !isKnown });
    truth.excess.mayGrow = true;
  }

  async #ask(step: AskStep): Promise<void> {
    const { chain, clock, configs, ground, switches } = this.#scene;
    const request = this.requestOf(step);
    const { asked, spec } = request;
    const behind = this.#operating.behind(step);
    const bounds = this.boundsOf(step.paymaster, asked);
    const answer = await this.#scene.unlessUnavailable(
      () =>
        ask(this.#scene.store(step.replica), configs, asked, {
          clock,
          chainTime: chain.time,
          sign: step.isUnsigned ? this.failing(step.paymaster, asked) : ground.sign,
          ...(step.isLost ? { lost: { counted: switches.lostAnswer ?? 'unknown' } } : {}),
          behind,
        }),
      () =>
        this.#scene.unclear.add(
          reservationName(step.paymaster, operationOf({ op: asked.op, contract: spec.address })),
        ),
    );
    if (answer === undefined && step.isUnsigned) return this.#signerFailed(step, request);
    if (answer === undefined) return;
    const { sponsorship, signedBy, result } = answer;
    if (
      isMade('secured') &&
      asked.inAdvance &&
      spec.kind === 'hybrid' &&
      result?.outcome === 'barred' &&
      result.index === 2
    )
      throw new BrokenRule(3, `a secured payment was refused for the losses of ${spec.address}`);
    this.#scene.count(`${asked.mode} ${result?.outcome}`);
    if (sponsorship.outcome !== 'sponsored') return this.#checkRefusal(step.paymaster, sponsorship);
    if (step.isLost) this.#scene.count('answer of the signer lost');
    this.checkServed(step.paymaster, behind);
    this.checkKey(step.paymaster, asked);
    const grant = this.grant(step.paymaster, signedOperation(request, { ...sponsorship, signedBy }), bounds);
    await this.checkReserved(step.replica, grant);
  }

  /** A signer that does not answer. It is asked when the promise is reserved. */
  failing(paymaster: number, asked: Pick<Asked, 'op' | 'mode'>, paymasterAndData?: Hex): Sign {
    return () => {
      const { op } = asked;
      const { address: contract } = specOf(paymaster);
      const limits = this.boundsOf(paymaster, asked);
      this.#scene.truth.neverSigned.push({ paymaster, op, contract, limits, paymasterAndData });
      throw new Error('the signer does not answer');
    };
  }

  /** The signer has failed for one more request: what was signed for the nonce before stays reserved. */
  async #signerFailed({ paymaster, replica }: AskStep, { asked: { op }, spec }: Request): Promise<void> {
    const { lostGrants, switches, truth } = this.#scene;
    const { sender, nonce } = op;
    const { paymasterId } = paymasters[paymaster]!;
    const key = { chainId, paymasterId, entryPoint: spec.entryPoint, sender, nonce };
    await this.#scene.unlessUnavailable(async () => switches.onUnsigned?.(this.#scene.store(replica), key));
    this.#scene.count('signer failed');
    // A promise that a reorganisation has brought back is reserved again when the follower knows of it.
    if (truth.excess.mayGrow || lostGrants.length > 0) return;
    const operation = operationOf({ op, contract: spec.address });
    for (const grant of truth.mineable())
      if (grant.paymaster === paymaster && operationOf(grant) === operation) {
        this.#scene.count('signer failed for a promised nonce');
        await this.checkReserved(replica, grant);
      }
  }

  /** Rule 17, by what the store itself holds. Throws {@link BrokenRule}. */
  async checkReserved(replica: number, grant: Grant): Promise<void> {
    const { sender, nonce } = grant.op;
    const { entryPoint } = specOf(grant.paymaster);
    const query = { operations: [{ entryPoint, sender, nonce }], expiredBefore: 0 as EpochSeconds, limit: 0 };
    const held = await this.#scene.unlessUnavailable(() =>
      this.#scene.data(replica).reservations(chainId, query),
    );
    if (held !== undefined) checkReserved(held, paymasters[grant.paymaster]!.paymasterId, grant);
  }

  /** Rule 1: a limit in Shadow refuses nothing. */
  #checkRefusal(paymaster: number, { refusal }: RefusedSponsorship): void {
    const limit = limitKinds.findIndex((_, i) => policyIdOf(paymaster, i) === refusal.policyId);
    if (limitKinds[limit]?.shadow === true)
      throw new BrokenRule(1, `${refusal.policyId} refuses, and is in Shadow`);
  }

  /** What the limits in force for a request bound at this moment. */
  boundsOf(paymaster: number, { op, mode }: Pick<Asked, 'op' | 'mode'>): readonly Bound[] {
    if (mode === 'ERC20') return [];
    const { clock, configs } = this.#scene;
    const { price = 0n } = configs;
    return boundsAt(paymaster, configs.limits[paymaster]!, { sender: op.sender, at: clock.now(), price });
  }

  /** Rule 12. Throws {@link BrokenRule} for an answer by a config that is known to be old. */
  checkServed(paymaster: number, behind: Behind): void {
    if (behind.generations === 0 && !behind.isChain) return;
    const { paymasterId } = paymasters[paymaster]!;
    throw new BrokenRule(12, `${paymasterId} was served by a config that is known to be old`);
  }

  /** Rule 14. Throws {@link BrokenRule} for an answer to a key that was rotated. */
  checkKey(paymaster: number, { keyGeneration }: Pick<Asked, 'keyGeneration'>): void {
    if (keyGeneration >= this.#scene.keyGenerations[paymaster]!) return;
    throw new BrokenRule(14, `${paymasters[paymaster]!.paymasterId} was served by a key that was rotated`);
  }

  /** Notes a signature, and checks the rules that it may break. */
  grant(paymaster: number, bundled: BundledOperation, bounds: Grant['limits']): Grant {
    const { forgeries, keyRule, truth } = this.#scene;
    const { mode } = bundled.terms;
    if (mode === 'SPONSORED' && this.#scene.configs.price === undefined)
      throw new BrokenRule(1, 'an operation was signed for limits in dollars, and the coin has no price');
    forgeries.checkSigned(bundled.contract);
    keyRule.checkSigned(bundled.contract, bundled.signedBy ?? 0);
    const needs = needsOf(bundled);
    const cost = ceilGwei(needs[0]!.amount);
    const grant: Grant = {
      ...bundled,
      paymaster,
      needs,
      cost,
      limits: bounds,
      unsecured:
        mode === 'ERC20'
          ? unsecuredOf(bundled, isMade('losses') ? needs.at(-1)!.amount : needs[0]!.amount)
          : 0,
      at: this.#scene.now(),
    };
    this.#losing.checkSigned();
    truth.add(grant);
    truth.checkShare(grant);
    truth.checkParts(grant);
    return grant;
  }

  /** The operation of an ask, and the contract that would pay for it. */
  requestOf(step: AskStep): Request {
    const spec = specOf(step.paymaster);
    const sender = senders[step.sender]!;
    const next = this.#scene.chain.state().nonces.get(`${spec.entryPoint}/${sender}/${step.key}`) ?? 0n;
    const call = this.#mining.call(step.call, sender, spec.address);
    const op: FinalUserOperation = {
      sender,
      nonce: (BigInt(step.key) << 64n) | (next + BigInt(step.ahead)),
      initCode: '0x',
      callData: callDataOf(call, callTargets),
      callGasLimit: BigInt(step.gas),
      verificationGasLimit: 100_000n,
      preVerificationGas: 50_000n,
      maxFeePerGas: BigInt(step.feeGwei) * 10n ** 9n,
      maxPriorityFeePerGas: BigInt(Math.min(step.feeGwei, step.tipGwei) * 1e9),
      signature: '0x',
    };
    const mode = step.isToken && takesTokens(step.paymaster) ? 'ERC20' : 'SPONSORED';
    const keyGeneration = this.#scene.configs.keyGeneration(step.paymaster);
    const former = Math.max(1, this.#scene.keyGenerations[step.paymaster]! - 1);
    return {
      asked: {
        ...step,
        keyGeneration: step.hasFormerKey ? former : keyGeneration,
        mode,
        op,
        inAdvance: step.inAdvance && takesInAdvance(spec),
        wallet: this.#scene.configs.walletOf(step.paymaster),
        paymasterGas: gasAskedBy(step),
      },
      spec,
      call,
    };
  }
}

/** Of some prices, so that what else the steps do stays as it is. */
function gasAskedBy({ feeGwei }: AskStep): GivenGas {
  if (feeGwei % 4 === 3) return 'most';
  return feeGwei % 4 === 2 ? 'least' : 'none';
}
