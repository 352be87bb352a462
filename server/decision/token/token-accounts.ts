import { CallReverted, type Chains } from '../../../core/chain/chain.js';
import { shareInFlight } from '../../../adapters/share-in-flight.js';
import type { AccountId } from '../../../core/usage/reservation.js';
import { toAddressKey, zeroAddress, type AddressKey } from '../../../core/units/address.js';
import type { ServedChain, ServedTokenMode } from '../../view/served-chain.js';

/**
 * Some contracts keep balances inside. In token mode they pay for operations from one of these balances, and a view of
 * the contract names it. It never changes, so each contract is asked once.
 */
export type TokenAccounts = {
  /** The account that pays; undefined when the contract pays from its EntryPoint deposit alone. Throws UNAVAILABLE. */
  payer(chain: ServedChain, mode: ServedTokenMode): AddressKey | undefined | Promise<AddressKey | undefined>;
  /** The accounts of a chain that are known so far. Starts to ask the other contracts, so that their balances are followed too. */
  known(chain: ServedChain): readonly AccountId[];
};

const namesNobody = 'nobody';

export function createTokenAccounts({ chains }: { readonly chains: Pick<Chains, 'get'> }): TokenAccounts {
  const payers = new Map<string, AddressKey | typeof namesNobody>();
  const contractName = ({ chainId }: ServedChain, { contractKey }: ServedTokenMode): string =>
    `${chainId} ${contractKey}`;
  const ask = shareInFlight(contractName, async (name, chain, mode) => {
    const payer = await read(chains, chain, mode);
    if (payer !== undefined) payers.set(name, payer);
    return payer === namesNobody ? undefined : payer;
  });

  return {
    payer(chain, mode) {
      if (mode.codec.tokenAccountCall === undefined) return undefined;
      const name = contractName(chain, mode);
      const payer = payers.get(name);
      if (payer === undefined) return ask(chain, mode);
      return payer === namesNobody ? undefined : payer;
    },

    known(chain) {
      const accounts = new Map<string, AccountId>();
      for (const { token: mode } of chain.profiles.values()) {
        if (mode?.codec.tokenAccountCall === undefined) continue;
        const name = contractName(chain, mode);
        const payer = payers.get(name);
        // When the node does not answer, the next call asks again.
        if (payer === undefined) ask(chain, mode).catch(() => {});
        else if (payer !== namesNobody)
          accounts.set(name, { contract: mode.contractKey, fundingAddress: payer });
      }
      return [...accounts.values()];
    },
  };
}

/** Undefined when no contract answers at the address: it may not be deployed yet, so this result is not remembered. */
async function read(
  chains: Pick<Chains, 'get'>,
  { config }: ServedChain,
  { codec, contract }: ServedTokenMode,
): Promise<AddressKey | typeof namesNobody | undefined> {
  if (codec.tokenAccountCall === undefined) return namesNobody;
  try {
    const answer = await chains.get(config).call({ to: contract, data: codec.tokenAccountCall });
    if (!/^0x0{24}[0-9a-f]{40}$/.test(answer)) return undefined;
    const payer = toAddressKey(`0x${answer.slice(26)}`);
    return payer === toAddressKey(zeroAddress) ? namesNobody : payer;
  } catch (error) {
    // The vendor's contracts have no such view: they pay from their deposit.
    if (error instanceof CallReverted) return namesNobody;
    throw error;
  }
}
