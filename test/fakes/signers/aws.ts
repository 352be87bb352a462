import { createHash, createHmac } from 'node:crypto';
import {
  derOf,
  signedBy,
  startFake,
  type FakeAnswer,
  type FakeProtocol,
  type FakeRequest,
  type FakeServer,
} from './fake-server.js';

/** What the fake accepts as credentials; a role gives the second pair. */
export const awsCredentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/of+example' } as const;
const roleCredentials = {
  accessKeyId: 'ASIAROLE',
  secretAccessKey: 'secret-of-role',
  token: 'token-of-role',
} as const;
export const awsIdentityToken = 'identity-of-the-pod';
const region = 'eu-central-1';

export function awsArnOf(index: number): string {
  return `arn:aws:kms:${region}:111122223333:key/1234abcd-12ab-34cd-56ef-${String(index).padStart(12, '0')}`;
}
export const awsWrappingKey = `arn:aws:kms:${region}:111122223333:alias/wrapping`;

/** Requests that it has refused, because they were not signed as AWS asks. */
export type FakeAws = FakeServer & { readonly unsigned: string[]; expireRole(): void };

/**
 * KMS with these signing keys and one that wraps, STS (AssumeRoleWithWebIdentity), and the credentials of a container, all at one
 * address. It verifies Signature Version 4.
 */
export async function startFakeAws(keys: readonly string[]): Promise<FakeAws> {
  const unsigned: string[] = [];
  let roles = 1;
  const error = (type: string): FakeAnswer => ({
    status: 400,
    body: JSON.stringify({ __type: type, message: `said ${type}` }),
  });
  const role = () => ({ ...roleCredentials, accessKeyId: `${roleCredentials.accessKeyId}${roles}` });

  function kms(request: FakeRequest, switches: Parameters<FakeProtocol['answer']>[1]): FakeAnswer {
    const accessKeyId = /Credential=([^/]+)\//.exec(request.headers.authorization ?? '')?.[1];
    const known = [{ ...awsCredentials, token: undefined }, role()].find(
      (one) => one.accessKeyId === accessKeyId,
    );
    if (known === undefined) return error('ExpiredTokenException');
    const flaw = flawOf(request, known);
    if (flaw !== undefined) {
      unsigned.push(flaw);
      return error('InvalidSignatureException');
    }
    const input = JSON.parse(request.body) as Readonly<Record<string, string>>;
    const operation = String(request.headers['x-amz-target']).replace('TrentService.', '');
    const output = (members: object) => ({
      status: 200,
      body: JSON.stringify({ KeyId: input['KeyId'], ...members }),
    });
    if (operation === 'Sign') {
      const key = keys.find((_, index) => awsArnOf(index) === input['KeyId']);
      if (key === undefined) return error('NotFoundException');
      if (input['MessageType'] !== 'DIGEST' || input['SigningAlgorithm'] !== 'ECDSA_SHA_256')
        return error('ValidationException');
      const digest = Buffer.from(input['Message'] ?? '', 'base64');
      const { SigningAlgorithm } = input;
      return output({
        Signature: derOf(signedBy(key, digest, switches)).toString('base64'),
        SigningAlgorithm,
      });
    }
    if (input['KeyId'] !== awsWrappingKey) return error('NotFoundException');
    if (operation === 'Encrypt')
      return output({ CiphertextBlob: Buffer.from(`blob:${input['Plaintext']}`).toString('base64') });
    const [, plaintext] = Buffer.from(input['CiphertextBlob'] ?? '', 'base64')
      .toString()
      .split('blob:');
    return plaintext === undefined ? error('InvalidCiphertextException') : output({ Plaintext: plaintext });
  }

  function sts({ body }: FakeRequest): FakeAnswer {
    const form = new URLSearchParams(body);
    if (form.get('WebIdentityToken') !== awsIdentityToken)
      return {
        status: 400,
        body: '<ErrorResponse><Error><Type>Sender</Type><Code>InvalidIdentityToken</Code></Error></ErrorResponse>',
      };
    const { accessKeyId, secretAccessKey, token } = role();
    return {
      status: 200,
      body: `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey><SessionToken>${token}</SessionToken><Expiration>${inAnHour()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    };
  }

  function container({ headers }: FakeRequest): FakeAnswer {
    if (headers.authorization !== awsIdentityToken) return { status: 403, body: '' };
    const { accessKeyId, secretAccessKey, token } = role();
    const answer = {
      AccessKeyId: accessKeyId,
      SecretAccessKey: secretAccessKey,
      Token: token,
      Expiration: inAnHour(),
    };
    return { status: 200, body: JSON.stringify(answer) };
  }

  const isKms = ({ headers }: FakeRequest) => headers['x-amz-target'] !== undefined;
  const fake = await startFake({
    answer(request, switches) {
      if (isKms(request)) return kms(request, switches);
      return request.method === 'GET' ? container(request) : sts(request);
    },
    isForKey: isKms,
    throttled: error('ThrottlingException'),
    revoked: error('AccessDeniedException'),
    failing: { status: 500, body: '{"__type":"KMSInternalException"}' },
  });
  return { ...fake, unsigned, expireRole: () => void (roles += 1) };
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

type Known = {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly token: string | undefined;
};

/** What is wrong with the signature of a request; computed from what has arrived. */
function flawOf(
  { method, path, headers, body }: FakeRequest,
  { secretAccessKey, token }: Known,
): string | undefined {
  const found =
    /^AWS4-HMAC-SHA256 Credential=[^/]+\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (found === null) return 'the header has another form';
  const [, day = '', where, service, names = '', signature] = found;
  if (where !== region || service !== 'kms') return `signed for ${service} in ${where}`;
  if (headers['x-amz-security-token'] !== token) return 'another session';
  const signedNames = names.split(';');
  for (const needed of [
    'host',
    'x-amz-date',
    'x-amz-target',
    ...(token === undefined ? [] : ['x-amz-security-token']),
  ])
    if (!signedNames.includes(needed)) return `${needed} is not signed`;
  const canonical = [
    method,
    path,
    '',
    ...signedNames.map((name) => `${name}:${String(headers[name])}`),
    '',
    names,
    createHash('sha256').update(body).digest('hex'),
  ].join('\n');
  const text = [
    'AWS4-HMAC-SHA256',
    headers['x-amz-date'],
    `${day}/${where}/${service}/aws4_request`,
    createHash('sha256').update(canonical).digest('hex'),
  ].join('\n');
  const key = [day, region, 'kms', 'aws4_request'].reduce<Buffer>(
    (secret, part) => createHmac('sha256', secret).update(part).digest(),
    Buffer.from(`AWS4${secretAccessKey}`),
  );
  return createHmac('sha256', key).update(text).digest('hex') === signature ? undefined : 'wrong';
}
