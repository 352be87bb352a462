import { entryPoint07 } from '../../entry-point/v07.js';
import { ownedBy, withdrawTo } from '../contract.js';
import type { Layout } from '../layout.js';
import { sponsorship } from './sponsorship.js';

/** Mode SPONSORED only. */
export const verifying07: Layout = {
  id: 'verifying-0.7',
  entryPointVersion: entryPoint07.version,
  title: 'VerifyingPaymaster for EntryPoint 0.7',
  sponsorship,
  readsTail: () => false,
  token: undefined,
  contract: {
    artifact: {
      file: 'third-party/VerifyingPaymaster07',
      isAudited: true,
      owner: 'sender',
      creation: ({ entryPoint, signer }) => ({
        fragment: 'constructor(address entryPoint, address verifyingSigner)',
        values: [entryPoint, signer],
      }),
    },
    ownerCall: ownedBy,
    // Its signer is part of its code: another signer is another contract.
    stake: { isNeeded: false },
    withdrawals: (to, amount) => [withdrawTo(to, amount)],
  },
};
