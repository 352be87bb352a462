import { walletName } from './chain/entry-point.js';
import type { Following } from './following.js';
import type { Mining } from './mining.js';
import type { Scene } from './scene.js';
import { milli, wallets, type FundedAccount } from './wallets.js';
import { chainId } from '../conformance/usage-requests.js';

/** Owners pay in and withdraw. */
export class Balances {
  readonly #scene: Scene;
  readonly #mining: Mining;
  readonly #following: Following;
  /** When the owner of each account has last withdrawn. */
  readonly #withdrawnAt = new Map<number, number>();

  constructor(scene: Scene, mining: Mining, following: Following) {
    this.#scene = scene;
    this.#mining = mining;
    this.#following = following;
  }

  /** Sets an account's balance, whatever it held. */
  async fund({ contract, wallet, amount }: FundedAccount): Promise<void> {
    const state = this.#scene.chain.state();
    const held =
      wallet === undefined
        ? (state.deposits.get(contract) ?? 0n)
        : (state.wallets.get(walletName(contract, wallet)) ?? 0n);
    const place = { contract, ...(wallet === undefined ? {} : { wallet }) };
    if (held < amount) await this.#mining.mine({ do: 'deposit', ...place, amount: amount - held });
    else if (wallet !== undefined && held > amount)
      await this.#mining.mine({ do: 'withdraw', contract, wallet, amount: held - amount });
  }

  /** `amount`: thousandths of a coin. */
  async deposit(account: number, amount: number): Promise<void> {
    // Nobody reads the lowest balance between the settled block and the head. If an owner puts back what he has just withdrawn,
    // a reorganisation could remove that deposit, and the service would have promised operations that can no longer be mined.
    if ((this.#withdrawnAt.get(account) ?? 0) > this.#scene.truth.knownFrom) return;
    await this.#mining.mine({ do: 'deposit', ...wallets[account]!, amount: BigInt(amount) * milli });
  }

  async withdraw(account: number, amount: number): Promise<void> {
    const { contract, wallet } = wallets[account]!;
    if (wallet === undefined || this.#scene.lostGrants.length > 0) return;
    // The owner withdraws the unpromised part; the store learns this before it promises more.
    this.#scene.chain.heal();
    if (!(await this.#following.round())) return;
    const free = await this.#free({ contract, wallet }, amount);
    if (free <= 0) return;
    await this.#mining.mine({ do: 'withdraw', contract, wallet, amount: BigInt(free) * 10n ** 9n });
    this.#withdrawnAt.set(account, this.#scene.chain.height);
    await this.#following.round();
  }

  /** Gwei that the owner of a wallet may withdraw. */
  async #free(
    { contract, wallet }: Required<Pick<FundedAccount, 'contract' | 'wallet'>>,
    wanted: number,
  ): Promise<number> {
    const { configs, truth } = this.#scene;
    // The store need not know the balance of a contract that no profile names.
    if (!configs.isOffered(contract))
      return Math.min(truth.freeOf(walletName(contract, wallet)), wanted * 1_000_000);
    const known = await this.#scene.unlessUnavailable(() => this.#scene.store().accounts(chainId));
    const of = known?.find((one) => one.contract === contract && one.fundingAddress === wallet);
    return of?.balance === undefined ? 0 : Math.min(of.balance - of.reserved, wanted * 1_000_000);
  }
}
