import { fieldOf, parseJson } from '../../../../core/schema/json-value.js';
import { trimEnd } from '../../../../core/units/trim-end.js';
import { CallFailed, failureOfStatus } from '../../call-failed.js';
import { createHttp } from '../../http.js';
import { clientOf, type KeyProvider } from '../provider.js';
import { keepCredentials } from '../kept-credentials.js';
import { credentialVariables, readGcpToken } from './credentials.js';

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
      const name = fieldOf(fieldOf(parseJson(answer.body), 'error'), 'status');
      const remedy = remedies[status]?.(verb);
      throw new CallFailed(
        status === 401 ? 'unreached' : failureOfStatus(status),
        `Cloud KMS answers ${typeof name === 'string' && /^[A-Z_]+$/.test(name) ? name : `HTTP ${status}`} to ${verb}${remedy === undefined ? '' : `: ${remedy}`}`,
      );
    }

    return clientOf('Cloud KMS', http, ask, {
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
