import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { computeAddress, recoverAddress } from 'ethers';
import { generateKeyPairSync } from 'node:crypto';
import { readPrivateKey } from '../../../adapters/signer/envelope/kind.js';
import { newEnvelope } from '../../../adapters/signer/envelope/new-envelope.js';
import type { Environment } from '../../../adapters/signer/kind.js';
import { signedHeaders } from '../../../adapters/signer/providers/aws/signature.js';
import { keepCredentials } from '../../../adapters/signer/providers/kept-credentials.js';
import { type ProviderName, providerNames } from '../../../adapters/signer/providers/table.js';
import { loadSigners } from '../../../adapters/signer/signers.js';
import { silentLogger } from '../../../core/log.js';
import { requireSignature, signingItem } from '../../../core/paymaster/signer.js';
import { bytesToHex } from '../../../core/units/hex.js';
import { endsOf } from '../../build/signing.js';
import {
  awsArnOf,
  awsCredentials,
  awsIdentityToken,
  awsWrappingKey,
  type FakeAws,
  startFakeAws,
} from '../../fakes/signers/aws.js';
import { type FakeGcp, gcpVersionOf, gcpWrappingKey, startFakeGcp } from '../../fakes/signers/gcp.js';
import { signerConformance } from '../../conformance/signer.js';

const key = `0x${'5d'.repeat(32)}`;
const account = computeAddress(key);
const item = signingItem(Buffer.alloc(60, 1));

let directory: string;
let aws: FakeAws;
let gcp: FakeGcp;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'providers-'));
  [aws, gcp] = await Promise.all([startFakeAws([key]), startFakeGcp([key])]);
  await put('wrapping.key', 'ab'.repeat(32));
  await put('token', `${awsIdentityToken}\n`);
});
afterAll(async () => {
  await Promise.all([aws.stop(), gcp.stop(), rm(directory, { recursive: true })]);
});

const put = (name: string, text: string) => writeFile(join(directory, name), text, { mode: 0o600 });
const path = (name: string) => join(directory, name);
const load = async (text: string, environment: Environment) => {
  const signers = await loadSigners({
    environment: { ...environment, PAYMASTER_SIGNER_KEY_IT: text },
    log: silentLogger,
    limits: { deadlineMs: 60_000, calls: 100 },
  });
  return { signers, signer: signers.get('it')! };
};
const awsText = () => `kind: kms\nprovider: aws\nkey: ${awsArnOf(0)}\naddress: ${account}`;
const gcpText = () => `kind: kms\nprovider: gcp\nkey: ${gcpVersionOf(0)}\naddress: ${account}`;
const awsUrls = () => ({ AWS_ENDPOINT_URL_KMS: aws.origin, AWS_ENDPOINT_URL_STS: aws.origin });
const gcpUrl = () => ({ CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS: gcp.origin });

describe('Credentials', () => {
  test.each<{ name: string; text: () => string; environment: () => Environment }>([
    {
      name: 'of AWS in the environment',
      text: awsText,
      environment: () => ({
        ...awsUrls(),
        AWS_ACCESS_KEY_ID: awsCredentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: awsCredentials.secretAccessKey,
      }),
    },
    {
      name: "of AWS by the pod's token (IRSA)",
      text: awsText,
      environment: () => ({
        ...awsUrls(),
        AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/paymaster',
        AWS_WEB_IDENTITY_TOKEN_FILE: path('token'),
      }),
    },
    {
      name: 'of AWS by EKS Pod Identity',
      text: awsText,
      environment: () => ({
        ...awsUrls(),
        AWS_CONTAINER_CREDENTIALS_FULL_URI: `${aws.origin}/v1/credentials`,
        AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: path('token'),
      }),
    },
    {
      name: 'of AWS in the file of profiles',
      text: awsText,
      environment: () => ({
        ...awsUrls(),
        AWS_SHARED_CREDENTIALS_FILE: path('credentials'),
        AWS_PROFILE: 'paymaster',
      }),
    },
    {
      name: 'of Google by the key of a service account',
      text: gcpText,
      environment: () => ({ ...gcpUrl(), GOOGLE_APPLICATION_CREDENTIALS: path('service-account.json') }),
    },
    {
      name: 'of Google by the metadata server',
      text: gcpText,
      environment: () => ({ ...gcpUrl(), GCE_METADATA_HOST: new URL(gcp.origin).host }),
    },
  ])('$name let it sign, and are read again when they end early', async ({ text, environment }) => {
    await put(
      'credentials',
      `[default]\naws_access_key_id = x\n[paymaster]\naws_access_key_id = ${awsCredentials.accessKeyId}\naws_secret_access_key=${awsCredentials.secretAccessKey}\n`,
    );
    await put('service-account.json', gcp.serviceAccount);
    const { signers, signer } = await load(text(), environment());
    expect(signer.trouble?.()).toBeUndefined();
    aws.expireRole();
    gcp.expireToken();
    const [ended] = await endsOf(signer, [item]);
    expect(recoverAddress(item.digest, bytesToHex(requireSignature(ended!)))).toBe(account);
    expect(aws.unsigned).toEqual([]);
    signers.stop();
  });

  test.each<{ name: string; text: () => string; environment: () => Environment; want: string }>([
    {
      name: 'there are none for AWS',
      text: awsText,
      environment: () => ({ ...awsUrls(), AWS_SHARED_CREDENTIALS_FILE: path('nowhere') }),
      want: 'no AWS credentials: there are none. Set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE (IRSA sets both)',
    },
    {
      name: "the pod's token is not mounted",
      text: awsText,
      environment: () => ({ ...awsUrls(), AWS_ROLE_ARN: 'r', AWS_WEB_IDENTITY_TOKEN_FILE: path('nowhere') }),
      want: 'the file of AWS_WEB_IDENTITY_TOKEN_FILE cannot be read',
    },
    {
      name: 'STS does not accept the token',
      text: awsText,
      environment: () => ({
        ...awsUrls(),
        AWS_ROLE_ARN: 'r',
        AWS_WEB_IDENTITY_TOKEN_FILE: path('wrapping.key'),
      }),
      want: 'STS answers HTTP 400 InvalidIdentityToken for AWS_ROLE_ARN',
    },
    {
      name: 'the secret key of AWS is wrong',
      text: awsText,
      environment: () => ({
        ...awsUrls(),
        AWS_ACCESS_KEY_ID: awsCredentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: 'x',
      }),
      want: 'AWS KMS answers InvalidSignatureException to Sign: check the secret key and the clock',
    },
    {
      name: 'the file of a service account is not one',
      text: gcpText,
      environment: () => ({ ...gcpUrl(), GOOGLE_APPLICATION_CREDENTIALS: path('wrapping.key') }),
      want: 'GOOGLE_APPLICATION_CREDENTIALS names a file without token_uri of a service account',
    },
  ])('when $name, it says what to set', async ({ text, environment, want }) => {
    const { signers, signer } = await load(text(), environment());
    expect(signer.trouble?.()).toContain(want);
    expect(await endsOf(signer, [item])).toMatchObject([{ outcome: 'unsigned' }]);
    expect(signer.trouble?.()).not.toContain('abab');
    signers.stop();
    aws.unsigned.splice(0);
  });

  test('that are about to end are read again, and stay in use where that fails', async () => {
    let now = 0;
    let reads = 0;
    const kept = keepCredentials(
      async () => {
        reads += 1;
        if (reads === 2) throw new Error('away');
        return { value: `read ${reads}`, expiresAt: now + 3_600_000 };
      },
      { now: () => now as never },
    );
    expect(await kept.get()).toBe('read 1');
    expect(await kept.get()).toBe('read 1');
    now = 3_400_000;
    expect(await kept.get()).toBe('read 1');
    expect(await kept.get()).toBe('read 3');
    now += 3_600_001;
    reads = 1;
    await expect(kept.get()).rejects.toMatchObject({ failure: 'unreached' });
  });
});

describe('An envelope', () => {
  const wrapping: Readonly<Record<ProviderName, () => { key: string; environment: Environment }>> = {
    aws: () => ({
      key: awsWrappingKey,
      environment: {
        ...awsUrls(),
        AWS_ACCESS_KEY_ID: awsCredentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: awsCredentials.secretAccessKey,
      },
    }),
    gcp: () => ({
      key: gcpWrappingKey,
      environment: { ...gcpUrl(), GCE_METADATA_HOST: new URL(gcp.origin).host },
    }),
    file: () => ({ key: path('wrapping.key'), environment: {} }),
  };

  describe.each(providerNames)('of %s', (provider) => {
    test('that was made for a new key opens to it, and shows it to nobody', async () => {
      const { key: wrap, environment } = wrapping[provider]();
      const text = await newEnvelope({ provider, key: wrap, environment });
      const other = await newEnvelope({ provider, key: wrap, environment });
      expect(other).not.toBe(text);
      const { signers, signer } = await load(text, environment);
      expect(signer.trouble?.()).toBeUndefined();
      expect(text).toContain(signer.address);
      const [ended] = await endsOf(signer, [item]);
      expect(recoverAddress(item.digest, bytesToHex(requireSignature(ended!)))).toBe(signer.address);
      signers.stop();
    });

    test('for a key that is there opens to that key', async () => {
      const { key: wrap, environment } = wrapping[provider]();
      const text = await newEnvelope({
        provider,
        key: wrap,
        environment,
        privateKey: Buffer.from(key.slice(2), 'hex'),
      });
      expect((await load(text, environment)).signer.address).toBe(account);
      expect(text).not.toContain('5d5d');
    });

    test('whose ciphertext is another one is found at the start, and signs nothing', async () => {
      const { key: wrap, environment } = wrapping[provider]();
      const text = await newEnvelope({ provider, key: wrap, environment });
      const swapped = text.replace(/address: .*/, `address: '${account}'`);
      const { signer } = await load(swapped, environment);
      expect(signer.trouble?.()).toContain(`address says ${account}`);
      expect(await endsOf(signer, [item])).toMatchObject([{ outcome: 'unsigned' }]);
      const torn = text.replace(/ciphertext: '?.{20}/, (found) => `${found.slice(0, -8)}AAAAAAAA`);
      expect((await load(torn, environment)).signer.trouble?.()).toBeDefined();
    });
  });

  test('that cannot be opened at the start is opened later; its key stays when the right is taken away', async () => {
    const { key: wrap, environment } = wrapping.aws();
    const text = await newEnvelope({ provider: 'aws', key: wrap, environment });
    aws.switches.revoked = true;
    const { signers, signer } = await load(text, environment);
    expect(signer.trouble?.()).toBe(
      'AWS KMS answers AccessDeniedException to Decrypt: allow kms:Decrypt on the key',
    );
    expect(await endsOf(signer, [item])).toMatchObject([{ outcome: 'unsigned' }]);
    aws.calm();
    await signers.reload();
    aws.switches.revoked = true;
    await signers.reload();
    expect(signer.trouble?.()).toBeUndefined();
    expect(await endsOf(signer, [item])).toMatchObject([{ outcome: 'signed' }]);
    aws.calm();
    signers.stop();
  });

  test('opens to keys in the forms in which clouds and people wrap them, and to nothing else', () => {
    const pair = generateKeyPairSync('ec', { namedCurve: 'secp256k1' });
    const { d = '' } = pair.privateKey.export({ format: 'jwk' });
    const pkcs8 = pair.privateKey.export({ type: 'pkcs8', format: 'der' });
    expect(readPrivateKey(pkcs8)).toEqual(Buffer.from(d, 'base64url'));
    const bytes = Buffer.from(key.slice(2), 'hex');
    expect(readPrivateKey(bytes)).toEqual(bytes);
    expect(readPrivateKey(Buffer.from(`${key}\n`))).toEqual(bytes);
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    expect(readPrivateKey(other.export({ type: 'pkcs8', format: 'der' }))).toBeUndefined();
    expect(readPrivateKey(Buffer.from('no key'))).toBeUndefined();
  });
});

signerConformance('envelope', async (bytes) => {
  const text = await newEnvelope({
    provider: 'file',
    key: path('wrapping.key'),
    environment: {},
    privateKey: bytes,
  });
  const { signers, signer } = await load(text, {});
  return { signer, stop: async () => signers.stop() };
});

describe('Signature Version 4', () => {
  // The published test suite of AWS.
  const credentials = {
    accessKeyId: 'AKIDEXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  };
  test.each([
    { method: 'GET', signature: '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31' },
    { method: 'POST', signature: '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b' },
  ])('of $method-vanilla is that of the suite', ({ method, signature }) => {
    const request = { method, url: 'https://example.amazonaws.com/', headers: {}, body: '' };
    const at = Date.UTC(2015, 7, 30, 12, 36, 0);
    const { authorization } = signedHeaders(
      request,
      { service: 'service', region: 'us-east-1' },
      credentials,
      at,
    );
    expect(authorization).toBe(
      `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=host;x-amz-date, Signature=${signature}`,
    );
  });
});
