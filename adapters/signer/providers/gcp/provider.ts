import { createSign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { readField, parseJson } from '../../../../core/schema/json-value.js';
import { trimEnd } from '../../../../core/units/trim-end.js';
import { CallFailed, failureOfStatus } from '../../call-failed.js';
import { createHttp, type Http } from '../../http.js';
import { createJsonClient, type KeyProvider } from '../provider.js';
import { keepCredentials, type Credentials } from '../kept-credentials.js';
import type { Clock } from '../../../../core/units/time.js';
import type { HttpAnswer } from '../../../http-exchange.js';
import type { Environment } from '../../kind.js';

const credentialVariables = ['GOOGLE_APPLICATION_CREDENTIALS', 'GCE_METADATA_HOST'];

/** Cloud KMS by REST: https://cloud.google.com/kms/docs/reference/rest */
export const gcp: KeyProvider = {
  title: 'Google Cloud KMS',
  variables: [...credentialVariables, 'CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS'],
  wrapping: {
    pattern: /^projects\/[\w:.-]+\/locations\/[\w-]+\/keyRings\/[\w-]+\/cryptoKeys\/[\w-]+$/,
    expected: 'a key of Cloud KMS: projects/P/locations/L/keyRings/R/cryptoKeys/K',
  },
  signing: {
    pattern:
      /^projects\/[\w:.-]+\/locations\/[\w-]+\/keyRings\/[\w-]+\/cryptoKeys\/[\w-]+\/cryptoKeyVersions\/[0-9]+$/,
    expected:
      'a version of a key of Cloud KMS: projects/P/locations/L/keyRings/R/cryptoKeys/K/cryptoKeyVersions/1',
  },
  connect({ environment, connections, clock }) {
    const http = createHttp(connections);
    const token = keepCredentials((signal) => readGcpToken({ environment, http, clock }, signal), clock);
    const endpoint = trimEnd(
      environment['CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDKMS'] ?? 'https://cloudkms.googleapis.com',
      '/',
    );

    async function ask(verb: string, key: string, input: object, signal: AbortSignal): Promise<string> {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${await token.get()}` };
      const url = `${endpoint}/v1/${key}:${verb}`;
      const answer = await http.ask({ method: 'POST', url, headers, body: JSON.stringify(input) }, signal);
      const { status } = answer;
      if (status === 200) return answer.body;
      // The token has ended, or was taken back: another one may do.
      if (status === 401) token.forget();
      const name = readField(readField(parseJson(answer.body), 'error'), 'status');
      const remedy = remedies[status]?.(verb);
      throw new CallFailed(
        status === 401 ? 'unreached' : failureOfStatus(status),
        `Cloud KMS answers ${typeof name === 'string' && /^[A-Z_]+$/.test(name) ? name : `HTTP ${status}`} to ${verb}${remedy === undefined ? '' : `: ${remedy}`}`,
      );
    }

    return createJsonClient('Cloud KMS', http, ask, {
      // The key's algorithm names SHA-256, and takes any 32 bytes.
      sign: ['asymmetricSign', (sha256) => ({ digest: { sha256 } }), 'signature'],
      unwrap: ['decrypt', (ciphertext) => ({ ciphertext }), 'plaintext'],
      wrap: ['encrypt', (plaintext) => ({ plaintext }), 'ciphertext'],
    });
  },
};

const roles: Readonly<Record<string, string>> = {
  asymmetricSign: 'roles/cloudkms.signer',
  decrypt: 'roles/cloudkms.cryptoKeyDecrypter',
  encrypt: 'roles/cloudkms.cryptoKeyEncrypter',
};
const remedies: Readonly<Record<number, (verb: string) => string>> = {
  400: () =>
    'the key is disabled or of another purpose (sign: EC_SIGN_SECP256K1_SHA256), or the ciphertext is not of this key',
  403: (verb) => `grant ${roles[verb]} on the key`,
  404: () => 'correct key, or make the key',
};

type From = { readonly environment: Environment; readonly http: Http; readonly clock: Clock };

/** An access token: by the key file of a service account, or else from the metadata server (workload identity). Throws CallFailed. */
async function readGcpToken(from: From, signal: AbortSignal): Promise<Credentials<string>> {
  const path = from.environment['GOOGLE_APPLICATION_CREDENTIALS'];
  const askedAt = from.clock.now();
  const { status, body } =
    path === undefined ? await askMetadata(from, signal) : await askByKey(from, path, signal);
  if (status !== 200) throw noCredentials(`the token endpoint answers HTTP ${status}`, status);
  const answer = parseJson(body);
  const [token, seconds] = [readField(answer, 'access_token'), readField(answer, 'expires_in')];
  if (typeof token !== 'string' || typeof seconds !== 'number')
    throw new CallFailed('unreached', 'Google answers without a token');
  return { value: token, expiresAt: askedAt + seconds * 1000 };
}

async function askMetadata({ environment, http }: From, signal: AbortSignal): Promise<HttpAnswer> {
  const host = environment['GCE_METADATA_HOST'] ?? 'metadata.google.internal';
  const url = `http://${host}/computeMetadata/v1/instance/service-accounts/default/token`;
  try {
    return await http.ask({ method: 'GET', url, headers: { 'metadata-flavor': 'Google' } }, signal);
  } catch {
    throw noCredentials('the metadata server does not answer', 503);
  }
}

/** RFC 7523: a token for a statement that the service account's key has signed. */
async function askByKey({ http, clock }: From, path: string, signal: AbortSignal): Promise<HttpAnswer> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  const file = parseJson(text ?? '');
  const member = (name: string): string => {
    const value = readField(file, name);
    if (typeof value === 'string') return value;
    throw noCredentials(
      `GOOGLE_APPLICATION_CREDENTIALS names a file without ${name} of a service account`,
      403,
    );
  };
  const [url, email, key] = [member('token_uri'), member('client_email'), member('private_key')];
  const now = Math.floor(clock.now() / 1000);
  const scope = 'https://www.googleapis.com/auth/cloudkms';
  const parts = [
    { alg: 'RS256', typ: 'JWT' },
    { iss: email, scope, aud: url, iat: now, exp: now + 3_600 },
  ].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'));
  const statement = parts.join('.');
  let signature: string;
  try {
    signature = createSign('RSA-SHA256').update(statement).sign(key, 'base64url');
  } catch {
    throw noCredentials('the private_key of GOOGLE_APPLICATION_CREDENTIALS is not a key', 403);
  }
  const body = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer',
    assertion: `${statement}.${signature}`,
  }).toString();
  return http.ask(
    { method: 'POST', url, headers: { 'content-type': 'application/x-www-form-urlencoded' }, body },
    signal,
  );
}

function noCredentials(what: string, status: number): CallFailed {
  return new CallFailed(
    status === 429 || status >= 500 ? 'unreached' : 'refused',
    `no Google credentials: ${what}. Set GOOGLE_APPLICATION_CREDENTIALS to the key file of a service account, or run where the metadata server gives them (workload identity)`,
  );
}
