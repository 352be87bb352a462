import { entryPoint06 } from '../../entry-point/v06.js';
import { hybridArtifact, ownedBy, setSigner, withdrawTo, type ContractRules } from '../contract.js';
import { indexedCharge, type Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';
import { token } from './token.js';

const contract: ContractRules = {
  artifact: hybridArtifact('HybridPaymaster06'),
  source:
    "the vendor's VerifyingSingletonPaymaster 1.1.0 (GPL-3.0; not on npm) with constructor(address owner, address entryPoint, address verifyingSigner)",
  ownerCall: ownedBy,
  authorise: setSigner,
  stake: { isNeeded: true },
  withdrawals: (to, amount) => [withdrawTo(to, amount)],
};

/** The original vendor's EntryPoint 0.6 contracts: a deposit per funding wallet, tokens at another address. */
export const vendor110: Layout = {
  id: 'vendor-1.1.0',
  entryPointVersion: entryPoint06.version,
  title: 'Vendor sponsorship paymaster 1.1.0, token paymaster 1.x',
  sponsorship,
  readsTail: () => false,
  token,
  contract,
  // keccak256("GasBalanceDeducted(address,uint256)"): funding wallet and charge, both indexed.
  chargeEvent: indexedCharge('0x5dc1c754041954fe976773fa441397a7928c7127a1c83904214a7d2563399007'),
};
