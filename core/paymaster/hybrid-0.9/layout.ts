import { entryPoint09 } from '../../entry-point/v09.js';
import { hybridArtifact, ownedBy, setSigner, withdrawTo, type ContractRules } from '../contract.js';
import { indexedCharge, type Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';
import { token } from './token.js';

const contract: ContractRules = {
  artifact: hybridArtifact('HybridPaymaster09'),
  ownerCall: ownedBy,
  authorise: setSigner,
  stake: { isNeeded: true },
  withdrawals: (to, amount) => [withdrawTo(to, amount)],
};

/** `contracts/HybridPaymaster09.sol`: both modes at one address, a deposit per funding wallet. */
export const hybrid09: Layout = {
  id: 'hybrid-0.9',
  entryPointVersion: entryPoint09.version,
  title: 'Hybrid paymaster for EntryPoint 0.9',
  sponsorship,
  readsTail: () => true,
  token,
  contract,
  // keccak256("GasBalanceDeducted(address,uint256,uint256)"): funding wallet, charge, premium, all indexed.
  chargeEvent: indexedCharge('0x683b3fc4c8726e960b5b0aa3838c1071e2a9b7045fcd4dfc953fc1092923f537'),
};
