import type { Logger } from '../../core/log.js';
import { contractFence } from '../../core/usage/counter-names.js';
import type { Reservation } from '../../core/usage/reservation.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { MinedOperation } from './mined.js';
import type { Unattributed, Loss } from './settlement.js';
import type { Source, WatchedContract } from './source.js';

/**
 * Our contract paid for an operation that nobody here has promised: somebody else has signed with our key, or our data are lost.
 * Either way we sign nothing for this contract until a person has investigated. Throws UNAVAILABLE.
 */
export async function suspendContracts(
  deps: { readonly usage: Pick<UsageStore, 'setSuspended'>; readonly chainId: number; readonly log: Logger },
  { contracts }: Source,
  strange: readonly Unattributed[],
): Promise<void> {
  const { usage, chainId, log } = deps;
  for (const { operation, bytes } of strange) {
    const { paymaster, sender, transactionHash } = operation;
    const acceptsUnsigned = mayAcceptUnsigned(contracts.get(paymaster));
    // Bytes that cannot be read may be data that need no signature, and anybody can produce such an operation.
    const isProof = bytes.outcome !== 'unreadable' || !acceptsUnsigned;
    log.error('operation was mined that nobody has promised: the key leaked or usage data are lost', {
      contract: paymaster,
      sender,
      transactionHash,
      isContractSuspended: isProof,
    });
    if (isProof) await usage.setSuspended(chainId, contractFence(paymaster), true);
  }
}

/** Until a contract was asked, only one for tokens alone may: of these layouts one for both modes is ours. */
function mayAcceptUnsigned(contract: WatchedContract | undefined): boolean {
  const modes = contract?.modes ?? [];
  return modes.some(
    ({ sponsorship, token, acceptsUnsigned = sponsorship === undefined }) =>
      token?.unsigned !== undefined && acceptsUnsigned,
  );
}

/** Logs what a step has found that should not happen, for an operator to read. */
export function reportStep(
  log: Logger,
  found: {
    readonly losses: readonly Loss[];
    readonly ambiguous: readonly MinedOperation[];
    readonly forfeited: readonly Reservation[];
    /** Operations that cannot be read yet, and those that were settled although they cannot. */
    readonly waiting: readonly { readonly operation: MinedOperation }[];
    readonly withoutReading: readonly MinedOperation[];
    /** Blocks whose events were never read. */
    readonly passedBlocks: readonly number[];
  },
): void {
  const { losses, ambiguous, forfeited, waiting, withoutReading, passedBlocks } = found;
  for (const blockNumber of passedBlocks)
    log.error('events of a block cannot be read: promises for its operations end by their nonces', {
      blockNumber,
    });
  for (const { blockNumber, transactionHash } of waiting.map(({ operation }) => operation))
    log.warn('operation cannot be read yet', { blockNumber, transactionHash });
  for (const { paymaster, blockNumber, transactionHash } of withoutReading)
    log.error('operation cannot be read: settled for every promise that it may carry', {
      contract: paymaster,
      blockNumber,
      transactionHash,
    });
  for (const { paymaster, blockNumber, transactionHash } of losses.map(({ operation }) => operation))
    log.warn('operation was mined and paid no token', { contract: paymaster, blockNumber, transactionHash });
  for (const { blockNumber, transactionHash } of ambiguous)
    log.warn('operation settled for every paymaster that promised it', { blockNumber, transactionHash });
  if (forfeited.length > 0)
    log.warn('nonces are used and no operation was found: limits keep the maximum', {
      reservations: forfeited.length,
      sender: forfeited[0]?.key.sender,
    });
}
