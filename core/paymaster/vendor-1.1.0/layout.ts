import { entryPoint06 } from '../../entry-point/v06.js';
import { toAddressKey } from '../../units/address.js';
import type { Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';
import { token } from './token.js';

/** The original vendor's EntryPoint 0.6 contracts: a deposit per funding wallet, tokens at another address. */
export const vendor110: Layout = {
  id: 'vendor-1.1.0',
  entryPointVersion: entryPoint06.version,
  title: 'Vendor sponsorship paymaster 1.1.0, token paymaster 1.x',
  sponsorship,
  readsTail: () => false,
  token,
  chargeEvent: {
    // keccak256("GasBalanceDeducted(address,uint256)"): funding wallet and charge, both indexed.
    topic0: '0x5dc1c754041954fe976773fa441397a7928c7127a1c83904214a7d2563399007',
    fundingAddress: ({ topics }) => toAddressKey(`0x${(topics[1] ?? '').slice(26)}`),
    charge: ({ topics }) => BigInt(topics[2] ?? 0),
  },
};
