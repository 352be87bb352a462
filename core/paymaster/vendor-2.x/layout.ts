import { entryPoint07 } from '../../entry-point/v07.js';
import { hybridArtifact, ownedBy, setSigner, withdrawTo, type ContractRules } from '../contract.js';
import { indexedCharge, type Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';
import { token } from './token.js';

const contract: ContractRules = {
  artifact: hybridArtifact('HybridPaymaster07'),
  source:
    "the vendor's sponsorship paymaster 2.x (GPL-3.0; not on npm; solc 0.8.27 for cancun) with constructor(address owner, address entryPoint, address verifyingSigner, address feeCollector, uint256 unaccountedGas, uint256 withdrawalDelay, uint256 minDeposit); signer and fee collector must have no code",
  ownerCall: ownedBy,
  authorise: setSigner,
  stake: { isNeeded: true },
  withdrawals: (to, amount, sponsor) => [
    withdrawTo(to, amount),
    // The vendor's contract reverts there: it wants a request, and after its delay anybody may carry that out.
    { fragment: 'function executeWithdrawalRequest(address paymasterId)', values: [sponsor] },
    { fragment: 'function submitWithdrawalRequest(address to, uint256 amount)', values: [to, amount] },
  ],
};

/** The original vendor's EntryPoint 0.7 contracts: a deposit per funding wallet, tokens at another address. */
export const vendor2x: Layout = {
  id: 'vendor-2.x',
  entryPointVersion: entryPoint07.version,
  title: 'Vendor sponsorship and token paymasters 2.x',
  sponsorship,
  readsTail: () => false,
  token,
  contract,
  // keccak256("GasBalanceDeducted(address,uint256,uint256)"): funding wallet, charge, premium, all indexed.
  chargeEvent: indexedCharge('0x683b3fc4c8726e960b5b0aa3838c1071e2a9b7045fcd4dfc953fc1092923f537'),
};
