import { computeAddress } from 'ethers';
import { publicKeyOf, startFakeWeb3signer } from '../../fakes/signers/web3signer.js';
import type { FakeServer } from '../../fakes/signers/fake-server.js';
import type { Environment } from '../../../adapters/signer/kind.js';

/** What a signer's file says for a key of a fake, and the environment of the process. */
export type RemoteKind = {
  readonly name: string;
  start(keys: readonly string[]): Promise<FakeServer>;
  text(fake: FakeServer, key: string): string;
  environment(fake: FakeServer): Environment;
};

/** Every kind that asks for each signature. */
export const remoteKinds: readonly RemoteKind[] = [
  {
    name: 'web3signer',
    start: startFakeWeb3signer,
    text: ({ origin }, key) =>
      `kind: web3signer\nurl: ${origin}\npublicKey: ${publicKeyOf(key)}\naddress: ${computeAddress(key)}\n`,
    environment: () => ({}),
  },
];
