import { DomainError } from '../../core/errors.js';
import type { AccountId } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { Clock } from '../../core/units/time.js';
import { gwei } from '../../core/units/wei.js';
import { accountName, isOlderHead } from './balances.js';
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
