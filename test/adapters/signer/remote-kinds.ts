import { computeAddress } from 'ethers';
import { publicKeyOf, startFakeWeb3signer } from '../../fakes/signers/web3signer.js';
import { awsArnOf, awsCredentials, startFakeAws } from '../../fakes/signers/aws.js';
import { gcpVersionOf, startFakeGcp } from '../../fakes/signers/gcp.js';
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
  {
    name: 'kms of aws',
    start: startFakeAws,
    text: (_, key) => `kind: kms\nprovider: aws\nkey: ${awsArnOf(0)}\naddress: ${computeAddress(key)}\n`,
    environment: ({ origin }) => ({
      AWS_ENDPOINT_URL_KMS: origin,
      AWS_ACCESS_KEY_ID: awsCredentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: awsCredentials.secretAccessKey,
    }),
  },
  {
    name: 'kms of gcp',
    start: startFakeGcp,
    text: (_, key) =>
      JSON.stringify({ kind: 'kms', provider: 'gcp', key: gcpVersionOf(0), address: computeAddress(key) }),
    environment: ({ origin }) => ({
      CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS: `${origin}/`,
      GCE_METADATA_HOST: new URL(origin).host,
    }),
  },
];
