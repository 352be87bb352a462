import type { Block } from '../../core/chain/chain.js';
import type { Settlement } from '../../core/ledger/record.js';
import { toMs, type EpochMs, type EpochSeconds } from '../../core/units/time.js';
import type { ChainFollowerDeps } from './chain-follower-deps.js';
import { settlementsOf, type FollowerLedger, type StepEnds } from './records.js';

/** Records of how a step ends reservations. */
export function stepSettlements(
  {
    ledger,
    chainId,
    current,
  }: Pick<ChainFollowerDeps, 'chainId' | 'current'> & { readonly ledger: FollowerLedger },
  ends: StepEnds,
  target: Block,
  timeOf: (blockNumber: number) => EpochMs,
): ReadonlyMap<string, Settlement> {
  const { feeTokens } = current().config;
  return settlementsOf(ends, {
    ...ledger,
    chainId,
    at: toMs(target.timestamp as EpochSeconds),
    timeOf,
    decimalsOf: (token) => feeTokens.find(({ address }) => address.toLowerCase() === token)?.decimals,
  });
}
