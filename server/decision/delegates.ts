import { LRUCache } from 'lru-cache';
import { shareInFlight } from '../../adapters/share-in-flight.js';
import type { Chains } from '../../core/chain/chain.js';
import { decideDelegateOnChain, isDelegateUnshown } from '../../core/policy/rules/delegate.js';
import { addressKeyAt, type AddressKey } from '../../core/units/address.js';
import type { RequestFacts } from './facts.js';
import { step, type Step } from './step.js';

/**
 * The EIP-7702 delegates that accounts have on chain, read where an operation claims one and shows no authorization: one call for an
 * account and block.
 */
export type Delegates = {
  /** Undefined: the account has none. Throws UNAVAILABLE. */
  of(facts: Pick<RequestFacts, 'chain' | 'head'>, account: AddressKey): Promise<AddressKey | undefined>;
};

const most = 1_000;
/** What the code of a delegated account begins with; the address follows. */
const designator = '0xef0100';

export function createDelegates({ chains }: { readonly chains: Pick<Chains, 'get'> }): Delegates {
  const known = new LRUCache<string, { readonly delegate: AddressKey | undefined }>({ max: most });
  const delegateKey: (...asked: Parameters<Delegates['of']>) => string = ({ chain, head }, account) =>
    `${chain.chainId} ${head.number} ${account}`;
  const ask = shareInFlight(delegateKey, async (name, { chain }, account) => {
    const code = await chains.get({ ...chain.config, lane: 'simulations' }).code(account);
    const isDelegated = code.startsWith(designator) && code.length === designator.length + 40;
    const delegate = isDelegated ? addressKeyAt(code, 3) : undefined;
    known.set(name, { delegate });
    return delegate;
  });
  return {
    of(facts, account) {
      const found = known.get(delegateKey(facts, account));
      return found === undefined ? ask(facts, account) : Promise.resolve(found.delegate);
    },
  };
}

/** Judges the delegate of an account that does not show it, once everything that costs nothing has passed. */
export function delegateOnChain<C extends RequestFacts>(delegates: Delegates): Step<C> {
  return step<C>(
    'delegate',
    async (gathered) =>
      decideDelegateOnChain(
        gathered.chain,
        gathered.profile,
        await delegates.of(gathered, gathered.request.op.sender),
      ),
    {
      isCostly: true,
      // The step of this name that reads an authorization is the one that is shown.
      isEarly: true,
      applies: ({ request, profile }) => isDelegateUnshown(request.op, profile.entryPointVersion),
    },
  );
}
