import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { CallFailure } from '../../../adapters/signer/call-failed.js';
import type { Environment } from '../../../adapters/signer/kind.js';
import { keyProviders, type ProviderName } from '../../../adapters/signer/providers/table.js';
import { systemClock } from '../../../core/units/time.js';

// Answers in the forms that the clouds document, each with what it means for the hold of the operation: only `unclear` keeps it. No
// cloud was asked for them.
// AWS: https://docs.aws.amazon.com/kms/latest/APIReference/API_Sign.html and CommonErrors of KMS and STS.
// Google: https://cloud.google.com/apis/design/errors and https://cloud.google.com/kms/docs/quotas.

type Answer = { readonly status: number; readonly body: string };
type Row = {
  readonly name: string;
  readonly provider: ProviderName;
  readonly answer: Answer;
  /** Instead of the credentials that come first. */
  readonly credentials?: Answer;
  readonly means: CallFailure;
  readonly says: string;
};

const arn = 'arn:aws:kms:eu-west-1:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab';
const version = 'projects/p/locations/europe/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';
const nothing: Answer = { status: 200, body: '{}' };

const kms = (status: number, type: string, message?: string): Answer => ({
  status,
  body: JSON.stringify({ __type: type, ...(message !== undefined && { message }) }),
});
const sts = (status: number, type: string, code: string, message: string): Answer => ({
  status,
  body: `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">\n  <Error>\n    <Type>${type}</Type>\n    <Code>${code}</Code>\n    <Message>${message}</Message>\n  </Error>\n  <RequestId>f9dc6495-0000-4000-8000-385f24ee61c0</RequestId>\n</ErrorResponse>\n`,
});
const google = (code: number, status: string): Answer => ({
  status: code,
  body: JSON.stringify({ error: { code, message: 'as the service says it', status, details: [] } }),
});

const aws = { provider: 'aws' } as const;
const gcp = { provider: 'gcp' } as const;
const rows: readonly Row[] = [
  {
    ...aws,
    name: 'too many requests',
    answer: kms(400, 'ThrottlingException', 'You have exceeded the rate at which you may call KMS.'),
    means: 'throttled',
    says: 'AWS KMS answers ThrottlingException to Sign',
  },
  {
    ...aws,
    name: 'a key that is disabled',
    answer: kms(400, 'DisabledException', `${arn} is disabled.`),
    means: 'refused',
    says: 'AWS KMS answers DisabledException to Sign: enable the key',
  },
  {
    ...aws,
    name: 'a key that does not exist, by the name of its service',
    answer: kms(400, 'com.amazonaws.kms#NotFoundException', 'Invalid keyId'),
    means: 'refused',
    says: 'AWS KMS answers NotFoundException to Sign: correct key, or make the key',
  },
  {
    ...aws,
    name: 'a key that is away for now: the request was rejected',
    answer: kms(500, 'KeyUnavailableException', 'The request was rejected.'),
    means: 'unreached',
    says: 'AWS KMS answers KeyUnavailableException to Sign',
  },
  {
    ...aws,
    name: 'an internal error',
    answer: kms(500, 'KMSInternalException'),
    means: 'unclear',
    says: 'AWS KMS answers KMSInternalException to Sign',
  },
  {
    ...aws,
    name: 'a time limit inside of the service',
    answer: kms(503, 'DependencyTimeoutException'),
    means: 'unclear',
    says: 'AWS KMS answers DependencyTimeoutException to Sign',
  },
  {
    ...aws,
    name: 'no session while too many are asked for',
    credentials: sts(400, 'Sender', 'Throttling', 'Rate exceeded'),
    answer: nothing,
    means: 'unreached',
    says: 'STS answers HTTP 400 Throttling for AWS_ROLE_ARN',
  },
  {
    ...aws,
    name: 'no session while the identity provider is away',
    credentials: sts(400, 'Sender', 'IDPCommunicationError', 'The identity provider could not be reached.'),
    answer: nothing,
    means: 'unreached',
    says: 'STS answers HTTP 400 IDPCommunicationError for AWS_ROLE_ARN',
  },
  {
    ...aws,
    name: 'no session for a role that may not be taken',
    credentials: sts(
      403,
      'Sender',
      'AccessDenied',
      'Not authorized to perform sts:AssumeRoleWithWebIdentity',
    ),
    answer: nothing,
    means: 'refused',
    says: 'STS answers HTTP 403 AccessDenied for AWS_ROLE_ARN',
  },
  {
    ...gcp,
    name: 'too many requests',
    answer: google(429, 'RESOURCE_EXHAUSTED'),
    means: 'throttled',
    says: 'Cloud KMS answers RESOURCE_EXHAUSTED to asymmetricSign',
  },
  {
    ...gcp,
    name: 'a version that is disabled',
    answer: google(400, 'FAILED_PRECONDITION'),
    means: 'refused',
    says: 'Cloud KMS answers FAILED_PRECONDITION to asymmetricSign',
  },
  {
    ...gcp,
    name: 'no right to sign',
    answer: google(403, 'PERMISSION_DENIED'),
    means: 'refused',
    says: 'Cloud KMS answers PERMISSION_DENIED to asymmetricSign: ',
  },
  {
    ...gcp,
    name: 'a token that has ended',
    answer: google(401, 'UNAUTHENTICATED'),
    means: 'unreached',
    says: 'Cloud KMS answers UNAUTHENTICATED to asymmetricSign',
  },
  {
    ...gcp,
    name: 'a service that is away',
    answer: google(503, 'UNAVAILABLE'),
    means: 'unclear',
    says: 'Cloud KMS answers UNAVAILABLE to asymmetricSign',
  },
  {
    ...gcp,
    name: 'an answer of a proxy instead of the service',
    answer: { status: 502, body: '<html>Bad Gateway</html>' },
    means: 'unclear',
    says: 'Cloud KMS answers HTTP 502 to asymmetricSign',
  },
  {
    ...gcp,
    name: 'success without a signature',
    answer: { status: 200, body: JSON.stringify({ signatureCrc32c: '1', verifiedDigestCrc32c: true }) },
    means: 'unclear',
    says: 'Cloud KMS answers without signature',
  },
];

const session: Answer = {
  status: 200,
  body: `<Credentials><AccessKeyId>ASIA</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials>`,
};
const token: Answer = {
  status: 200,
  body: JSON.stringify({ access_token: 'ya29.a', expires_in: 3_599, token_type: 'Bearer' }),
};

let server: Server;
let host: string;
let directory: string;
let answers: { readonly credentials: Answer; readonly answer: Answer };
beforeAll(async () => {
  server = createServer((request, response) => {
    const { url = '', headers } = request;
    const isForKey = headers['x-amz-target'] !== undefined || url.startsWith('/v1/');
    const { status, body } = isForKey ? answers.answer : answers.credentials;
    request.resume().once('end', () => response.writeHead(status).end(body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  directory = mkdtempSync(join(tmpdir(), 'documented-'));
  writeFileSync(join(directory, 'token'), 'of the pod');
});
afterAll(() => {
  server.close();
  rmSync(directory, { recursive: true });
});

test.each(rows)('$provider: $name is $means', async ({ provider, answer, credentials, means, says }) => {
  answers = { answer, credentials: credentials ?? (provider === 'aws' ? session : token) };
  const origin = `http://${host}`;
  const environment: Environment = {
    AWS_ENDPOINT_URL_KMS: origin,
    AWS_ENDPOINT_URL_STS: origin,
    AWS_ROLE_ARN: 'arn:aws:iam::111122223333:role/paymaster',
    AWS_WEB_IDENTITY_TOKEN_FILE: join(directory, 'token'),
    CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS: origin,
    GCE_METADATA_HOST: host,
  };
  const client = keyProviders[provider].connect({
    environment,
    connections: 1,
    clock: systemClock,
    access: 'owner',
  });
  try {
    const key = provider === 'aws' ? arn : version;
    const signed = client.sign(key, new Uint8Array(32), AbortSignal.timeout(60_000));
    await expect(signed).rejects.toMatchObject({
      name: 'CallFailed',
      failure: means,
      message: expect.stringContaining(says),
    });
  } finally {
    client.stop();
  }
});
