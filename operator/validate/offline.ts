import { parseAddress } from '../../core/units/address.js';
import type { Signers } from '../../core/paymaster/signer.js';
import type { ConnectionSecrets, MasterKeys } from '../../core/secrets.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import { unknownProfile } from '../facts/facts.js';
import type { DataFeeFacts } from '../facts/data-fee-facts.js';
import type { PriceFacts } from '../facts/price-facts.js';

/** What the operator has besides the manifests, for a check that contacts nobody: chains, prices, keys and Secrets. */

/** Nobody is asked, so every condition about a chain stays Unknown and says nothing for or against a manifest. */
export const noChainFacts: ChainFacts = {
  setChain: () => undefined,
  removeChain: () => undefined,
  setPaymaster: () => undefined,
  removePaymaster: () => undefined,
  reachability: () => 'Unknown',
  clock: () => 'Unknown',
  profile: () => unknownProfile,
  funding: () => 'Unknown',
  usability: () => undefined,
  code: () => 'Unknown',
  stop: async () => undefined,
};

export const noDataFeeFacts: DataFeeFacts = {
  setChain: () => {},
  removeChain: () => {},
  level: () => 'none',
  stop: () => Promise.resolve(),
};

export const noPriceFacts: PriceFacts = {
  setChain: () => undefined,
  removeChain: () => undefined,
  answer: () => undefined,
  stop: async () => undefined,
};

/** Manifests do not say which keys are mounted: each file that a profile names counts as present. */
export const anySigner: Pick<Signers, 'get'> = {
  get: () => ({
    address: parseAddress('0x0000000000000000000000000000000000000001'),
    implementation: 'none',
    sign: () => {
      throw new Error('a validation signs nothing');
    },
  }),
};

/** Keys are derived and thrown away with the store. */
export const throwawayKeys: MasterKeys = { current: new Uint8Array(32), webhook: new Uint8Array(32) };

export const noSecrets: ConnectionSecrets = { write: async () => 'unchanged' };
