import { join } from 'node:path';
import { parsePostgresUrl } from '../../../adapters/postgres/address.js';
import { openPostgresUsageStore } from '../../../adapters/store/postgres/usage.js';
import { createSqliteUsageStore } from '../../../adapters/store/sqlite/usage.js';
import { silentLogger } from '../../../core/log.js';
import type { LedgerWriter } from '../../../core/ledger/ledger.js';
import type { Metrics } from '../../../core/metrics.js';
import type { KeptTexts } from '../../../core/usage/kept-texts.js';
import type { UsageStore } from '../../../core/usage/usage-store.js';
import { parseAddress, toAddressKey, type AddressKey } from '../../../core/units/address.js';
import { plusMs, systemClock } from '../../../core/units/time.js';
import type { Gwei } from '../../../core/units/wei.js';
import type { PaymasterShape } from '../configs.js';
import { chainId, paymaster, walletOf } from '../fixture.js';

export type BenchUsage = UsageStore & { readonly ledger: LedgerWriter; readonly texts: KeptTexts };

/** The usage store that replicas share: those of one database are replicas of one service. */
export async function openPostgresUsage(
  url: string,
  options: { readonly identity: string; readonly metrics?: Metrics },
): Promise<BenchUsage> {
  const usage = await openPostgresUsageStore({
    client: { address: parsePostgresUrl('--postgres', url) },
    log: silentLogger,
    ...options,
  });
  return { ...usage, texts: usage };
}

export function usageFile(directory: string): string {
  return join(directory, 'usage.db');
}

/** The embedded usage store. */
export function openEmbeddedUsage(
  directory: string,
  metrics: Metrics,
  durability: 'process' | 'power',
): BenchUsage {
  return createSqliteUsageStore({
    path: usageFile(directory),
    clock: systemClock,
    log: silentLogger,
    metrics,
    durability,
  });
}

/** Gives the contract, and every funding wallet in it, more than a run can promise. */
export async function fillBalances(
  usage: UsageStore,
  paymasters: number,
  { wallets }: Pick<PaymasterShape, 'wallets'>,
): Promise<void> {
  await addBalance(usage, {});
  const usedWallets = wallets === 'shared' ? 1 : paymasters;
  for (let index = 0; index < usedWallets; index += 1) {
    await addBalance(usage, { fundingAddress: toAddressKey(parseAddress(walletOf(index, wallets))) });
  }
}

function addBalance(usage: UsageStore, account: { readonly fundingAddress?: AddressKey }): Promise<void> {
  return usage.addBalance(chainId, {
    contract: toAddressKey(parseAddress(paymaster)),
    ...account,
    balance: 9_000_000_000_000_000 as Gwei,
    reserved: 0 as Gwei,
    // The bench never reads it again, and the service does not use a balance that is 15 minutes old: long runs would fail.
    readAt: plusMs(systemClock.now(), 86_400_000),
  });
}
