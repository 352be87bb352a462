import type { FinalUserOperation } from '../../core/entry-point/user-operation.js';
import { BrokenRule } from './broken-rule.js';
import { keysOf } from './chain/entry-point.js';
import type { AccountCall, BundledOperation, ContractSpec } from './chain/operations.js';
import { callDataOf } from './chain/real-chain.js';
import { accepts, signingKeys } from './chain/signing-keys.js';
import type { LosingData } from './losing-data.js';
import type { Mining } from './mining.js';
import type { Operating } from './operating.js';
import type { Scene } from './scene.js';
import { reservationName } from './commits.js';
import { forge, type Asked, type Behind } from './service.js';
import { ask } from './signing.js';
import { signedOperation, takesInAdvance, unsecuredOf } from './signed-operation.js';
import type { AskStep } from './steps.js';
import { ceilGwei, needsOf, operationOf, type Grant } from './truth.js';
import { unlessUnavailable } from './unless-unavailable.js';
import { boundsOf } from './configs.js';
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
  async forge(step: AskStep, used: number): Promise<void> {
    const { chain, clock, configs, forgeries, ground, truth } = this.#scene;
    const found = this.requestOf({ ...step, ahead: 0 });
    const accepted = keysOf(chain.state(), found.spec.address);
    const signedBy = signingKeys.findIndex((_, key) => accepts(accepted, key));
    if (signedBy === -1) return;
    const context = { chainTime: chain.time, sign: ground.sign, now: clock.now(), signedBy };
    const answer = forge(configs, found.asked, context);
    if (answer === undefined) return;
    const operation = signedOperation(step.paymaster, found, answer);
    const { address: contract, entryPoint } = found.spec;
    const isKnown = truth.grants.some((one) => operationOf(one) === operationOf(operation));
    const result = await this.#mining.mine({ do: 'bundle', entryPoint, operations: [operation] }, () => used);
    if (result.outcome === 'failed') return;
    this.#scene.count(`forged for ${contract}`);
    // The follower may take it for one of our promises for the same nonce.
    if (isKnown) this.#scene.isExact = false;
    forgeries.add({ operation, mustBeNoticed: !isKnown });
    truth.excess.mayGrow = true;
  }

  async #ask(step: AskStep): Promise<void> {
    const { chain, clock, configs, ground } = this.#scene;
    const request = this.requestOf(step);
    const { asked, spec } = request;
    const behind = this.#operating.behind(step);
    const bounds = boundsOf(configs, step.paymaster, asked.op.sender, clock.now());
    const answer = await unlessUnavailable(
      () =>
        ask(this.#scene.store(step.replica), configs, asked, {
          clock,
          chainTime: chain.time,
          sign: ground.sign,
          behind,
        }),
      () =>
        this.#scene.unclear.add(
          reservationName(step.paymaster, operationOf({ op: asked.op, contract: spec.address })),
        ),
    );
    if (answer === undefined) return;
    const { sponsorship, signedBy, result } = answer;
    this.#scene.count(`${asked.mode} ${result?.outcome}`);
    if (sponsorship.outcome !== 'sponsored') return;
    this.checkServed(step.paymaster, behind);
    this.checkKey(step.paymaster, asked);
    this.grant(
      step.paymaster,
      signedOperation(step.paymaster, request, { ...sponsorship, signedBy }),
      bounds,
    );
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
    forgeries.checkSigned(bundled.contract);
    keyRule.checkSigned(bundled.contract, bundled.signedBy ?? 0);
    const needs = needsOf(bundled);
    const cost = ceilGwei(needs[0]!.amount);
    const grant: Grant = {
      ...bundled,
      paymaster,
      needs,
      cost,
      limits: mode === 'SPONSORED' ? bounds : [],
      unsecured: mode === 'ERC20' ? unsecuredOf(bundled, cost) : 0,
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
      maxPriorityFeePerGas: BigInt(step.feeGwei) * 10n ** 9n,
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
      },
      spec,
      call,
    };
  }
}
