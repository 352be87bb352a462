import type { EntryPointVersion } from '../../entry-point/version.js';
import { entryPoint07 } from '../../entry-point/v07.js';
import { entryPoint08 } from '../../entry-point/v08.js';
import { entryPoint09 } from '../../entry-point/v09.js';
import type { Layout } from '../layout.js';
import { sponsorshipCodec } from './sponsorship.js';

// Mode SPONSORED only. The contract is the same on every EntryPoint; its deployer overrides `entryPoint()`.

export const openZeppelin07: Layout = {
  id: 'openzeppelin-0.7',
  ...contractOn(entryPoint07.version),
  readsTail: () => false,
};

export const openZeppelin08: Layout = {
  id: 'openzeppelin-0.8',
  ...contractOn(entryPoint08.version),
  readsTail: () => false,
};

export const openZeppelin09: Layout = {
  id: 'openzeppelin-0.9',
  ...contractOn(entryPoint09.version),
  readsTail: ({ openZeppelin }) => openZeppelin?.readsPaymasterSignature === true,
};

function contractOn(
  version: EntryPointVersion,
): Pick<Layout, 'entryPointVersion' | 'title' | 'sponsorship' | 'token' | 'contract'> {
  return {
    entryPointVersion: version,
    title: `OpenZeppelin PaymasterSigner for EntryPoint ${version}`,
    sponsorship: sponsorshipCodec(version),
    token: undefined,
    contract: {
      source: `a contract of yours on PaymasterSigner and SignerECDSA of @openzeppelin/contracts 5.7: its entryPoint() must answer ERC4337Utils.ENTRYPOINT_V${version.replace('0.', '0')}, and it must expose _deposit, _withdraw, _addStake and _setSigner to its owner, who must not be the signer`,
      withdrawals: () => [],
    },
  };
}
