import { entryPoint07 } from '../../entry-point/v07.js';
import { toAddressKey } from '../../units/address.js';
import type { Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';
import { token } from './token.js';

/** The original vendor's EntryPoint 0.7 contracts: a deposit per funding wallet, tokens at another address. */
export const vendor2x: Layout = {
  id: 'vendor-2.x',
  entryPointVersion: entryPoint07.version,
  title: 'Vendor sponsorship and token paymasters 2.x',
  sponsorship,
  readsTail: () => false,
  token,
  chargeEvent: {
    // keccak256("GasBalanceDeducted(address,uint256,uint256)"): funding wallet, charge, premium, all indexed.
    topic0: '0x683b3fc4c8726e960b5b0aa3838c1071e2a9b7045fcd4dfc953fc1092923f537',
    fundingAddress: ({ topics }) => toAddressKey(`0x${(topics[1] ?? '').slice(26)}`),
    charge: ({ topics }) => BigInt(topics[2] ?? 0),
  },
};
