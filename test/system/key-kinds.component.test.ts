import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { computeAddress, Interface } from 'ethers';
import { parse } from 'yaml';
import { newEnvelope } from '../../adapters/signer/envelope/new-envelope.js';
import { defaultMaxExpirySeconds } from '../../core/config/caps.js';
import type { ProfileSpec } from '../../core/resources/profile.js';
import { parseAddress, type Address } from '../../core/units/address.js';
import { encodeWith } from '../chain/support/account.js';
import {
  awsArnOf,
  awsCredentials,
  awsWrappingKey,
  startFakeAws,
  type FakeAws,
} from '../fakes/signers/aws.js';
import { until } from '../support/until.js';
import { everybody, firstKeyFile, replicas, startRotation, type Rotation } from './support/rotation.js';
import { startTraffic, type Traffic } from './support/rotation-traffic.js';

// docs/key-rotation.md between kinds of signers, with three replicas on a real chain, while wallets ask for data and mine them.

const version = 'singleton-0.7';
const kmsKey = `0x${'4b'.repeat(32)}`;
const ownerAbi = new Interface([
  'function addSigner(address signer)',
  'function removeSigner(address signer)',
]);
const patienceMs = 120_000;

type Key = { readonly file: string; readonly address: Address };
const kms: Key = { file: 'kms', address: parseAddress(computeAddress(kmsKey)) };
const kmsText = `kind: kms\nprovider: aws\nkey: ${awsArnOf(0)}\naddress: '${kms.address}'\n`;

let aws: FakeAws;
let rotation: Rotation;
let traffic: Traffic;
let plain: Key;
let envelope: Key;
let envelopeText: string;

beforeAll(async () => {
  aws = await startFakeAws([kmsKey]);
  const environment = {
    AWS_ENDPOINT_URL_KMS: aws.origin,
    AWS_ACCESS_KEY_ID: awsCredentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: awsCredentials.secretAccessKey,
  };
  envelopeText = await newEnvelope({ provider: 'aws', key: awsWrappingKey, environment });
  const { address } = parse(envelopeText) as { readonly address: string };
  envelope = { file: 'envelope', address: parseAddress(address) };
  rotation = await startRotation([version], environment);
  plain = { file: firstKeyFile, address: parseAddress(rotation.devChain.sponsorSigner.address) };
}, 600_000);
afterAll(async () => {
  await rotation.stop();
  await aws.stop();
});

describe('Keys that move from a file to an envelope and on to a KMS, under load', () => {
  beforeAll(async () => {
    traffic = await startTraffic(rotation, [version]);
  }, 600_000);
  afterAll(() => traffic.stop());

  test('void nothing and refuse nobody', async () => {
    await traffic.rounds(replicas.length);
    await moveTo(envelope, plain, envelopeText);
    await moveTo(kms, envelope, kmsText);
    const signers = traffic.signed.map(({ signer }) => signer);
    const inOrder = signers.filter((signer, at) => !signers.slice(0, at).includes(signer));
    expect(inOrder).toEqual([plain.address, envelope.address, kms.address]);
    expect(traffic.signed.filter(({ outcome }) => outcome !== 'mined')).toEqual([]);
    expect(traffic.refused).toEqual([]);
  }, 600_000);

  test('while the cloud refuses, another key that the contract accepts signs', async () => {
    await callOwner('addSigner', envelope.address);
    list([kms.file, envelope.file]);
    await rotation.serves(
      version,
      'with both accepted',
      ({ acceptedSigners }) => acceptedSigners?.length === 2,
    );
    await traffic.rounds(replicas.length);
    const before = traffic.signed.length;
    aws.switches.revoked = true;
    for (const replica of replicas)
      await until(`replica ${replica} signs otherwise`, () => signsWith(replica, envelope), patienceMs);
    await traffic.rounds(replicas.length);
    expect(traffic.signed.slice(before).filter(({ outcome }) => outcome !== 'mined')).toEqual([]);
    for (const refused of traffic.refused)
      expect(refused).toEqual({ version, code: -32003, reason: 'SIGNER_UNAVAILABLE' });
    expect(traffic.refused.length).toBeGreaterThan(0);
    // Once for each turn of wallets in which a replica found out.
    expect(traffic.refused.length).toBeLessThanOrEqual(2 * replicas.length);
    await traffic.between(() => rotation.clock.pass(rotation.devChain, defaultMaxExpirySeconds));
  }, 600_000);
});

/** As docs/key-rotation.md says, for contracts with several signers. */
async function moveTo(next: Key, old: Key, text: string): Promise<void> {
  await rotation.mount(next.file, text, everybody);
  list([next.file, old.file]);
  await rotation.serves(version, 'with both', ({ signerFiles }) => signerFiles?.length === 2);
  await callOwner('addSigner', next.address);
  await rotation.serves(version, 'with the new key', ({ signerFile }) => signerFile === next.file);
  for (const replica of replicas)
    await until(`replica ${replica} has switched`, () => signsWith(replica, next), patienceMs);
  await traffic.between(() => rotation.clock.pass(rotation.devChain, defaultMaxExpirySeconds));
  await callOwner('removeSigner', old.address);
  rotation.editProfiles([version], ({ signers: _several, ...rest }) => ({
    ...rest,
    signer: { file: next.file },
  }));
  await rotation.serves(version, 'with the new key alone', ({ signerFiles }) => signerFiles === undefined);
  await traffic.rounds(replicas.length);
}

function list(files: readonly string[]): void {
  rotation.editProfiles([version], ({ signer: _one, ...rest }: ProfileSpec) => ({
    ...rest,
    signers: files.map((file) => ({ file })),
  }));
}

async function callOwner(method: string, signer: Address): Promise<void> {
  const { transactor, profile } = rotation.devChain;
  await transactor.send(`${method} of ${version}`, {
    to: profile(version).sponsorship,
    data: encodeWith(ownerAbi, method, [signer]),
  });
}

function signsWith(replica: number, { address }: Key): boolean {
  return traffic.signed.findLast((each) => each.replica === replica)?.signer === address;
}
