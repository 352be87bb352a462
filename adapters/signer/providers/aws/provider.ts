import { fieldOf, parseJson } from '../../../../core/schema/json-value.js';
import { CallFailed, type CallFailure, failureOfStatus } from '../../call-failed.js';
import { createHttp } from '../../http.js';
import { clientOf, type KeyProvider } from '../provider.js';
import { keepCredentials, type KeptCredentials } from '../kept-credentials.js';
import { credentialVariables, readAwsCredentials } from './credentials.js';
import { type AwsCredentials, signedHeaders } from './signature.js';

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
      const type = fieldOf(parseJson(answer.body), '__type');
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
    return clientOf('AWS KMS', http, ask, {
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
