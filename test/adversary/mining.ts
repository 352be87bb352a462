import type { AddressKey } from '../../core/units/address.js';
import { isNextNonce, type Nature } from './chain/entry-point.js';
import type {
  AccountCall,
  ActionResult,
  BundledOperation,
  ChainAction,
  Delivery,
  OperationResult,
} from './chain/operations.js';
import type { Scene } from './scene.js';
import type { MineStep } from './steps.js';
import { operationOf, type Grant } from './grant.js';
import { specs } from './world.js';

const unlimited = (1n << 256n) - 1n;

/** Everything that gets into blocks. */
export class Mining {
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** Mines a block with one action. `usedOf`: thousandths of the requested gas that an operation uses. */
  async mine(
    action: ChainAction,
    usedOf: (operation: BundledOperation) => number = () => 1_000,
  ): Promise<ActionResult> {
    const { clock, ground } = this.#scene;
    clock.advance(1_000);
    if (action.do === 'bundle' && action.delivery?.fat === 'input') {
      this.#scene.wasUnreadable = true;
      this.#scene.isExact = false;
    }
    const result = await ground.mine(action, this.#scene.now(), natureOf(usedOf));
    if (action.do === 'bundle') this.#countMined(result);
    return result;
  }

  async mineEmpty(seconds: number): Promise<void> {
    const { clock, ground } = this.#scene;
    clock.advance(Math.ceil(seconds) * 1_000);
    await ground.mineEmpty(this.#scene.now());
  }

  /** Bundlers send these of the signatures that can be mined now, in one bundle of one EntryPoint. */
  async mineGrants(picks: readonly MineStep[], delivery: Delivery): Promise<void> {
    const ready = this.#ready();
    if (ready.length === 0) return;
    const chosen = new Map<string, { readonly grant: Grant; readonly how: MineStep }>();
    for (const how of picks) {
      const grant = ready[how.pick % ready.length]!;
      const [first] = chosen.values();
      if (first !== undefined && entryPointOf(first.grant) !== entryPointOf(grant)) continue;
      if (!chosen.has(operationOf(grant))) chosen.set(operationOf(grant), { grant, how });
    }
    const operations = [...chosen.values()].map(({ grant, how }) => ({
      ...grant,
      call: this.#scene.ground.hasFickleAccounts
        ? this.call(how.call, grant.op.sender, grant.contract)
        : grant.call,
    }));
    const used = new Map(operations.map((operation, i) => [operation, [...chosen.values()][i]!.how.used]));
    await this.mine(
      { do: 'bundle', entryPoint: entryPointOf(operations[0]!), operations, delivery },
      (operation) => used.get(operation as never) ?? 1_000,
    );
  }

  call(kind: MineStep['call'], sender: AddressKey, contract: AddressKey): AccountCall {
    switch (kind) {
      case 'nothing':
      case 'fail':
        return { kind };
      case 'approve':
        return { kind, contract, amount: unlimited };
      case 'revoke':
        return { kind: 'approve', contract, amount: 0n };
      case 'send':
        return { kind, amount: this.#scene.chain.state().tokens.get(sender) ?? 0n };
    }
  }

  /** Signatures whose nonce is the next one, and whose time is not over in the next block. */
  #ready(): readonly Grant[] {
    const { chain, truth } = this.#scene;
    const time = this.#scene.now() + 1;
    const state = chain.state();
    return truth
      .mineable()
      .filter(
        (grant) =>
          isNextNonce(state, entryPointOf(grant), grant.op.sender, grant.op.nonce) &&
          grant.terms.validUntil >= time,
      );
  }

  #countMined(result: ActionResult): void {
    if (result.outcome === 'failed') return this.#scene.count(`mined ${result.code}`);
    for (const one of result.operations) this.#scene.count(`mined ${paymentOf(one)}`);
  }
}

function paymentOf({ operation, tokens, owed }: OperationResult): string {
  if (operation.terms.mode === 'SPONSORED') return 'sponsored';
  if (tokens === 0n) return 'unpaid';
  return owed > 0n ? 'paid in part' : 'paid';
}

function natureOf(usedOf: (operation: BundledOperation) => number): Nature {
  return {
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
}

function entryPointOf({ contract }: Pick<BundledOperation, 'contract'>): AddressKey {
  return specs.find(({ address }) => address === contract)!.entryPoint;
}
