import { DomainError } from '../../core/errors.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import { accountName } from '../../core/usage/accounts.js';
import type { AccountId } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { isOlderHead } from './balances.js';
import { blockAt, finalityUnknown, readEnds, readUsable, type Source } from './source.js';

type Deps = {
  readonly usage: Pick<UsageStore, 'accounts' | 'cursor' | 'addBalance'>;
  readonly chainId: number;
  readonly source: () => Promise<Source>;
  /** The newest head that this process has seen. */
  readonly newest: number | undefined;
  readonly clock: Clock;
};

/** Reads the balance of an account that the store does not know yet; a balance that cannot be read stays unknown. Throws UNAVAILABLE. */
export async function ensureAccount(
  { usage, chainId, source: connect, newest, clock }: Deps,
  account: AccountId,
): Promise<void> {
  const name = accountName(account);
  const known = (await usage.accounts(chainId)).find((other) => accountName(other) === name);
  if (known?.balance !== undefined) return;
  // The first step begins at the head. An operation promised before that step could be mined below the head, and then nobody would see it.
  const stored = await usage.cursor(chainId);
  if (stored === undefined) throw unknownYet(`chain ${chainId} was not followed yet`);
  const source = await connect();
  const readAt = clock.now();
  const { head, confirmed } = await readEnds(source);
  if (confirmed === undefined) throw finalityUnknown(chainId);
  if (isOlderHead(head, confirmed, stored, newest) || confirmed > head.number)
    throw unknownYet(`chain ${chainId} shows block ${head.number}, which is older than what was followed`);
  const target = confirmed === head.number ? head : await blockAt(source, confirmed);
  const balances = await readUsable(source, [account], target, head, new Map());
  const balance = balances.get(name);
  if (balance !== undefined)
    await usage.addBalance(chainId, { ...account, balance, reserved: gwei(0), readAt });
}

function unknownYet(message: string): DomainError {
  return new DomainError('UNAVAILABLE', message, { reason: 'DEPOSIT_UNKNOWN', retryAfterSeconds: 1 });
}

/** How many balances of new wallets are read per second for one organisation: each costs the node two or three calls. */
export const readsPerSecond = 5;

/** Keeps an organisation with many wallets from using up the node's calls for everybody else. */
export class ReadAllowance {
  #second = 0;
  readonly #taken = new Map<string, number>();

  /** Throws UNAVAILABLE (DEPOSIT_UNKNOWN) once the second's reads are used up. */
  take(organisation: string, now: EpochMs): void {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) this.#taken.clear();
    this.#second = second;
    const taken = this.#taken.get(organisation) ?? 0;
    if (taken >= readsPerSecond)
      throw new DomainError('UNAVAILABLE', `${organisation} asked for ${taken} new balances in a second`, {
        reason: 'DEPOSIT_UNKNOWN',
        retryAfterSeconds: 1,
      });
    this.#taken.set(organisation, taken + 1);
  }
}
