import { readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { readField, parseJson } from '../../../../core/schema/json-value.js';
import { CallFailed, failureOfStatus, type CallFailure } from '../../call-failed.js';
import { createHttp, type Http } from '../../http.js';
import { createJsonClient, type KeyProvider } from '../provider.js';
import { keepCredentials, type Credentials, type KeptCredentials } from '../kept-credentials.js';
import { signedHeaders, type AwsCredentials } from './signature.js';
import { given } from '../../../../core/units/given.js';
import type { Environment } from '../../kind.js';

const credentialVariables = [
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
  'AWS_ROLE_ARN',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_ROLE_SESSION_NAME',
  'AWS_ENDPOINT_URL_STS',
  'AWS_CONTAINER_CREDENTIALS_FULL_URI',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_PROFILE',
];

const keyName = {
  pattern: /^arn:aws(-[a-z]+)*:kms:[a-z0-9-]+:[0-9]{12}:(key|alias)\/[A-Za-z0-9/_-]+$/,
  expected: 'the ARN of a KMS key: arn:aws:kms:REGION:ACCOUNT:key/ID or …:alias/NAME',
};

/** AWS KMS over its JSON protocol: https://docs.aws.amazon.com/kms/latest/APIReference/ */
export const aws: KeyProvider = {
  title: 'AWS KMS',
  variables: [...credentialVariables, 'AWS_ENDPOINT_URL_KMS'],
  wrapping: keyName,
  signing: keyName,
  connect({ environment, connections, clock }) {
    const http = createHttp(connections);
    const byRegion = new Map<string, KeptCredentials<AwsCredentials>>();

    function credentialsFor(region: string, suffix: string): KeptCredentials<AwsCredentials> {
      const known = byRegion.get(region);
      if (known !== undefined) return known;
      const from = { environment, http, region, suffix };
      const kept = keepCredentials((signal) => readAwsCredentials(from, signal), clock);
      byRegion.set(region, kept);
      return kept;
    }

    /** The answer of an operation on a key. */
    async function ask(operation: string, key: string, input: object, signal: AbortSignal): Promise<string> {
      const [, partition, , region = ''] = key.split(':');
      const suffix = partition === 'aws-cn' ? 'amazonaws.com.cn' : 'amazonaws.com';
      const url = `${environment['AWS_ENDPOINT_URL_KMS'] ?? `https://kms.${region}.${suffix}`}/`;
      const credentials = credentialsFor(region, suffix);
      const body = JSON.stringify({ KeyId: key, ...input });
      const request = {
        method: 'POST',
        url,
        headers: {
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': `TrentService.${operation}`,
        },
        body,
      } as const;
      const service = { service: 'kms', region };
      const headers = signedHeaders(request, service, await credentials.get(), clock.now());
      const answer = await http.ask({ ...request, headers }, signal);
      if (answer.status === 200) return answer.body;
      const type = readField(parseJson(answer.body), '__type');
      const code = typeof type === 'string' ? (type.split('#').at(-1) ?? '') : '';
      const row = errors[code];
      if (row?.isStale === true) credentials.forget();
      const remedy = row?.remedy?.(operation);
      throw new CallFailed(
        row?.failure ?? failureOfStatus(answer.status),
        `AWS KMS answers ${code === '' ? `HTTP ${answer.status}` : code} to ${operation}${remedy === undefined ? '' : `: ${remedy}`}`,
      );
    }

    const sha256 = { MessageType: 'DIGEST', SigningAlgorithm: 'ECDSA_SHA_256' };
    return createJsonClient('AWS KMS', http, ask, {
      sign: ['Sign', (Message) => ({ Message, ...sha256 }), 'Signature'],
      unwrap: ['Decrypt', (CiphertextBlob) => ({ CiphertextBlob }), 'Plaintext'],
      wrap: ['Encrypt', (Plaintext) => ({ Plaintext }), 'CiphertextBlob'],
    });
  },
};

type ErrorRow = {
  readonly failure: CallFailure;
  /** The credentials are read again. */
  readonly isStale?: true;
  readonly remedy?: (operation: string) => string;
};

/** What differs from the rule of HTTP, and what to do. */
const errors: Readonly<Record<string, ErrorRow>> = {
  ThrottlingException: { failure: 'throttled' },
  // "The request was rejected": of the errors with status 500 the one after which nothing was signed.
  KeyUnavailableException: { failure: 'unreached' },
  ExpiredTokenException: { failure: 'unreached', isStale: true },
  ExpiredToken: { failure: 'unreached', isStale: true },
  UnrecognizedClientException: { failure: 'unreached', isStale: true },
  InvalidClientTokenId: { failure: 'unreached', isStale: true },
  AccessDeniedException: { failure: 'refused', remedy: (operation) => `allow kms:${operation} on the key` },
  NotFoundException: { failure: 'refused', remedy: () => 'correct key, or make the key' },
  DisabledException: { failure: 'refused', remedy: () => 'enable the key' },
  KMSInvalidStateException: { failure: 'refused', remedy: () => 'the key is pending, disabled or deleted' },
  InvalidKeyUsageException: {
    failure: 'refused',
    remedy: () =>
      'a key that signs has usage SIGN_VERIFY and spec ECC_SECG_P256K1, one that wraps ENCRYPT_DECRYPT',
  },
  InvalidCiphertextException: {
    failure: 'refused',
    remedy: () => 'the ciphertext was not made with this key',
  },
  IncorrectKeyException: { failure: 'refused', remedy: () => 'the ciphertext was not made with this key' },
  InvalidSignatureException: { failure: 'refused', remedy: () => 'check the secret key and the clock' },
};

type From = {
  readonly environment: Environment;
  readonly http: Http;
  /** AWS's part of the world, where roles are asked for: region, and the end of host names. */
  readonly region: string;
  readonly suffix: string;
};

/**
 * Credentials in the order of AWS's own clients: the environment, a role by the pod's token (IRSA), EKS Pod Identity (or whatever
 * gives containers credentials), the file of profiles. The metadata server of a machine is not asked: a pod would get the rights of
 * its node. Throws CallFailed.
 */
async function readAwsCredentials(from: From, signal: AbortSignal): Promise<Credentials<AwsCredentials>> {
  const { environment } = from;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  if (accessKeyId !== undefined && secretAccessKey !== undefined) {
    const sessionToken = environment['AWS_SESSION_TOKEN'];
    return { value: { accessKeyId, secretAccessKey, ...given({ sessionToken }) } };
  }
  const { AWS_ROLE_ARN: role, AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile } = environment;
  if (role !== undefined && tokenFile !== undefined) return assumeRole(from, { role, tokenFile }, signal);
  const uri = environment['AWS_CONTAINER_CREDENTIALS_FULL_URI'];
  if (uri !== undefined) return askContainer(from, uri, signal);
  return readProfile(environment);
}

async function assumeRole(
  { environment, http, region, suffix }: From,
  { role, tokenFile }: { readonly role: string; readonly tokenFile: string },
  signal: AbortSignal,
): Promise<Credentials<AwsCredentials>> {
  const endpoint = environment['AWS_ENDPOINT_URL_STS'] ?? `https://sts.${region}.${suffix}`;
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleArn: role,
    RoleSessionName: environment['AWS_ROLE_SESSION_NAME'] ?? 'paymaster-operator',
    WebIdentityToken: await readMounted(tokenFile, 'AWS_WEB_IDENTITY_TOKEN_FILE'),
  }).toString();
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const answer = await http.ask({ method: 'POST', url: `${endpoint}/`, headers, body }, signal);
  const member = (name: string): string | undefined =>
    answer.body.split(`<${name}>`, 2)[1]?.split(`</${name}>`, 1)[0];
  if (answer.status !== 200) {
    const code = member('Code') ?? '';
    throw noCredentials(
      `STS answers HTTP ${answer.status} ${code} for AWS_ROLE_ARN`,
      passing.has(code) ? 503 : answer.status,
    );
  }
  return parseCredentials({
    AccessKeyId: member('AccessKeyId'),
    SecretAccessKey: member('SecretAccessKey'),
    Token: member('SessionToken'),
    Expiration: member('Expiration'),
  });
}

/** With status 400, and over by themselves. */
const passing = new Set(['Throttling', 'IDPCommunicationError']);

async function askContainer(
  { environment, http }: From,
  url: string,
  signal: AbortSignal,
): Promise<Credentials<AwsCredentials>> {
  const tokenFile = environment['AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE'];
  const authorization =
    tokenFile === undefined
      ? undefined
      : await readMounted(tokenFile, 'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE');
  const { status, body } = await http.ask({ method: 'GET', url, headers: given({ authorization }) }, signal);
  if (status !== 200)
    throw noCredentials(`AWS_CONTAINER_CREDENTIALS_FULL_URI answers HTTP ${status}`, status);
  return parseCredentials(parseJson(body));
}

function parseCredentials(answer: unknown): Credentials<AwsCredentials> {
  const member = (name: string): string => {
    const value = readField(answer, name);
    if (typeof value !== 'string')
      throw new CallFailed('unreached', `AWS answers credentials without ${name}`);
    return value;
  };
  const expiresAt = Date.parse(member('Expiration'));
  if (Number.isNaN(expiresAt))
    throw new CallFailed('unreached', 'AWS answers credentials without an Expiration');
  const accessKeyId = member('AccessKeyId');
  return {
    value: { accessKeyId, secretAccessKey: member('SecretAccessKey'), sessionToken: member('Token') },
    expiresAt,
  };
}

/** `[name]` and lines `key = value`. */
async function readProfile(environment: Environment): Promise<Credentials<AwsCredentials>> {
  const path = environment['AWS_SHARED_CREDENTIALS_FILE'] ?? join(homedir(), '.aws', 'credentials');
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const wanted = `[${environment['AWS_PROFILE'] ?? 'default'}]`;
  const lines = text?.split('\n').map((line) => line.trim()) ?? [];
  const start = lines.indexOf(wanted);
  const rest = start === -1 ? [] : lines.slice(start + 1);
  const end = rest.findIndex((line) => line.startsWith('['));
  const values = new Map(
    rest.slice(0, end === -1 ? undefined : end).map((line) => {
      const [name = '', ...value] = line.split('=');
      return [name.trim(), value.join('=').trim()] as const;
    }),
  );
  const [accessKeyId, secretAccessKey] = [
    values.get('aws_access_key_id'),
    values.get('aws_secret_access_key'),
  ];
  if (accessKeyId === undefined || secretAccessKey === undefined) throw noCredentials('there are none', 403);
  const sessionToken = values.get('aws_session_token');
  return { value: { accessKeyId, secretAccessKey, ...given({ sessionToken }) } };
}

async function readMounted(path: string, variable: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch {
    throw noCredentials(`the file of ${variable} cannot be read`, 403);
  }
}

function noCredentials(what: string, status: number): CallFailed {
  return new CallFailed(
    status === 429 || status >= 500 ? 'unreached' : 'refused',
    `no AWS credentials: ${what}. Set AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE (IRSA sets both), AWS_CONTAINER_CREDENTIALS_FULL_URI (EKS Pod Identity), AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE`,
  );
}
