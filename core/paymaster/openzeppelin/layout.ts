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
): Pick<Layout, 'entryPointVersion' | 'title' | 'sponsorship' | 'token'> {
  return {
    entryPointVersion: version,
    title: `OpenZeppelin PaymasterSigner for EntryPoint ${version}`,
    sponsorship: sponsorshipCodec(version),
    token: undefined,
  };
}
