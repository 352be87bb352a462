import type { Block } from '../../core/chain/chain.js';
import type { Settlement } from '../../core/ledger/record.js';
import { toMs, type EpochSeconds } from '../../core/units/time.js';
import { blockTimes } from './block-times.js';
import type { ChainFollowerDeps } from './chain-follower-deps.js';
import { settlementsOf, type StepEnds } from './records.js';
import type { Source } from './source.js';

/** What the ledger gets to know about a step; nothing is read when nothing is recorded. Throws UNAVAILABLE. */
export async function stepSettlements(
  {
    ledger,
    chainId,
    current,
    source,
  }: Pick<ChainFollowerDeps, 'ledger' | 'chainId' | 'current'> & { readonly source: Source },
  ends: StepEnds,
  target: Block,
): Promise<ReadonlyMap<string, Settlement>> {
  if (ledger === undefined) return new Map();
  const { feeTokens } = current().config;
  return settlementsOf(ends, {
    ...ledger,
    chainId,
    at: toMs(target.timestamp as EpochSeconds),
    timeOf: await blockTimes(
      source,
      ends.settled.map(({ operation }) => operation),
      target,
    ),
    decimalsOf: (token) => feeTokens.find(({ address }) => address.toLowerCase() === token)?.decimals,
  });
}
