import type { ReserveRequest, ReserveResult } from '../../core/usage/reserve-request.js';
import type { UsageEpochs } from './usage-epochs.js';

/** `reserve` after the epoch has noted how long the promise may live. `ended` resolves when no call waits for that. */
export function notedReserve(
  reserve: (request: ReserveRequest) => PromiseLike<ReserveResult>,
  epochs: UsageEpochs,
  expiryOf: (request: ReserveRequest) => number,
) {
  const waiting = new Set<Promise<ReserveResult>>();

  async function noted(request: ReserveRequest): Promise<ReserveResult> {
    const { chainId } = request.key;
    await epochs.of(chainId);
    const expiryMs = expiryOf(request);
    if (!epochs.isNoted(chainId, expiryMs)) await epochs.note(chainId, expiryMs);
    return reserve(request);
  }

  return {
    push(request: ReserveRequest): PromiseLike<ReserveResult> {
      if (epochs.isNoted(request.key.chainId, expiryOf(request))) return reserve(request);
      const reservation = noted(request);
      waiting.add(reservation);
      return reservation.finally(() => waiting.delete(reservation));
    },
    ended: (): Promise<unknown> => Promise.allSettled(waiting),
  };
}
