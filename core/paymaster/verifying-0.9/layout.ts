import { entryPoint09 } from '../../entry-point/v09.js';
import { ownedBy, setSigner, withdrawTo } from '../contract.js';
import type { Layout } from '../layout.js';
import { decodesTail } from '../tail.js';
import { sponsorshipCodec } from '../verifying-0.7/sponsorship.js';

/** Validation uses about 15,000 gas; the contract has no postOp. */
const sponsorship = sponsorshipCodec(
  entryPoint09.version,
  {
    paymasterVerificationGasLimit: 30_000n,
    paymasterPostOpGasLimit: 0n,
  },
  { paymasterVerificationGasLimit: 18_500n, paymasterPostOpGasLimit: 0n },
);

/** `contracts/VerifyingPaymaster09.sol`: data and hash of `verifying-0.7`, and the tail. Mode SPONSORED only. */
export const verifying09: Layout = {
  id: 'verifying-0.9',
  entryPointVersion: entryPoint09.version,
  title: 'Verifying paymaster for EntryPoint 0.9',
  sponsorship: { ...sponsorship, decode: decodesTail(sponsorship.decode) },
  readsTail: () => true,
  token: undefined,
  contract: {
    artifact: {
      file: 'VerifyingPaymaster09',
      isAudited: false,
      owner: 'argument',
      creation: ({ entryPoint, owner, signer }) => ({
        fragment: 'constructor(address entryPoint, address owner, address signer)',
        values: [entryPoint, owner, signer],
      }),
    },
    ownerCall: ownedBy,
    authorise: setSigner,
    stake: { isNeeded: true },
    withdrawals: (to, amount) => [withdrawTo(to, amount)],
  },
};
