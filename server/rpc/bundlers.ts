import { FairSlots, SlotsBusy, type SlotLimits } from '../../adapters/fair-slots.js';
import { isRateLimit, RpcError } from '../../adapters/chain/node-errors.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { Chains } from '../../core/chain/chain.js';
import { DomainError, isDomainError } from '../../core/errors.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

/** Asks the bundlers of a paymaster's chain, in their order. */
export type Bundlers = {
  /**
   * The result. Throws RPC_METHOD_NOT_FOUND when the chain names none, BUNDLER_REFUSED with the error that one has answered, and
   * UNAVAILABLE when none answers or the paymaster has too many calls open.
   */
  readonly ask: (paymaster: ServedPaymaster, method: string, params: readonly unknown[]) => Promise<unknown>;
  /** Does other work of such a call within the same share, so that no caller takes the store from the rest. Throws as `ask`. */
  readonly inTurn: <T>(paymaster: ServedPaymaster, method: string, work: () => Promise<T>) => Promise<T>;
};

type BundlersDeps = { readonly chains: Pick<Chains, 'get'>; readonly view: Pick<ConfigView, 'chain'> };

/** Calls to the bundlers of a chain at once. One paymaster gets at most a fifth of them, as with simulations. */
const callsPerChain: SlotLimits = { slots: 50, perKey: 10, waitingPerKey: 128, maxWaitMs: 2000 };

export function createBundlers({ chains, view }: BundlersDeps): Bundlers {
  const slots = new Map<number, FairSlots>();

  function requireBundlers(chainId: number, method: string): NonNullable<ChainConfig['bundlers']> {
    const bundlers = view.chain(chainId)?.config.bundlers;
    if (bundlers !== undefined) return bundlers;
    throw new DomainError(
      'RPC_METHOD_NOT_FOUND',
      `${method} is not served for chain ${chainId}, which has no bundlers here: ask a bundler of your own.`,
    );
  }

  async function run<T>({ chainId, paymasterId }: ServedPaymaster, work: () => Promise<T>): Promise<T> {
    const ofChain = slots.get(chainId) ?? new FairSlots(callsPerChain);
    slots.set(chainId, ofChain);
    try {
      return await ofChain.run(paymasterId, work);
    } catch (error) {
      if (!(error instanceof SlotsBusy)) throw error;
      throw new DomainError('UNAVAILABLE', 'Too many calls wait for the bundlers of the chain.', {
        reason: 'BUNDLERS_BUSY',
        retryAfterSeconds: 1,
      });
    }
  }

  return {
    async ask(paymaster, method, params) {
      const { chainId } = paymaster;
      const chain = chains.get({ chainId, rpc: requireBundlers(chainId, method), lane: 'bundlers' });
      return run(paymaster, async () => {
        try {
          return await chain.request(method, params);
        } catch (error) {
          throw toCallerError(error);
        }
      });
    },
    async inTurn(paymaster, method, work) {
      requireBundlers(paymaster.chainId, method);
      return run(paymaster, work);
    },
  };
}

function toCallerError(error: unknown): unknown {
  if (!isDomainError(error, 'UNAVAILABLE')) return error;
  const { message, cause } = error;
  // A rate limit is about our share of the bundler, not about the caller's operation.
  if (!(cause instanceof RpcError) || isRateLimit(cause))
    return new DomainError('UNAVAILABLE', message, { reason: 'BUNDLER_UNAVAILABLE', cause });
  return new DomainError('BUNDLER_REFUSED', cause.message, {
    bundler: { code: cause.code, ...(cause.data === undefined ? {} : { data: cause.data }) },
  });
}
