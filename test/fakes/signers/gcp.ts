import { createVerify, generateKeyPairSync } from 'node:crypto';
import {
  derOf,
  signedBy,
  startFake,
  type FakeAnswer,
  type FakeProtocol,
  type FakeRequest,
  type FakeServer,
} from './fake-server.js';

const ring = 'projects/shop-prod/locations/europe-west3/keyRings/paymaster';
export const gcpWrappingKey = `${ring}/cryptoKeys/wrapping`;
export function gcpVersionOf(index: number): string {
  return `${ring}/cryptoKeys/signer-${index}/cryptoKeyVersions/1`;
}

export type FakeGcp = FakeServer & {
  /** The key file of a service account that its token endpoint knows. */
  readonly serviceAccount: string;
  expireToken(): void;
};

const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });

/** Cloud KMS with these signing keys and one that wraps, the metadata server, and the token endpoint of OAuth, all at one address. */
export async function startFakeGcp(keys: readonly string[]): Promise<FakeGcp> {
  let tokens = 1;
  const error = (status: number, name: string): FakeAnswer => ({
    status,
    body: JSON.stringify({ error: { code: status, message: `said ${name}`, status: name } }),
  });
  const token = (): FakeAnswer => ({
    status: 200,
    body: JSON.stringify({ access_token: `token-${tokens}`, expires_in: 3599, token_type: 'Bearer' }),
  });

  function kms(
    { path, headers, body }: FakeRequest,
    switches: Parameters<FakeProtocol['answer']>[1],
  ): FakeAnswer {
    if (headers.authorization !== `Bearer token-${tokens}`) return error(401, 'UNAUTHENTICATED');
    const [name = '', verb] = path.replace('/v1/', '').split(':');
    const input = JSON.parse(body) as {
      readonly digest?: { readonly sha256: string };
      readonly plaintext?: string;
      readonly ciphertext?: string;
    };
    if (verb === 'asymmetricSign') {
      const key = keys.find((_, index) => gcpVersionOf(index) === name);
      if (key === undefined) return error(404, 'NOT_FOUND');
      const der = derOf(signedBy(key, Buffer.from(input.digest?.sha256 ?? '', 'base64'), switches));
      const signature = der.toString('base64');
      return { status: 200, body: JSON.stringify({ signature, name, protectionLevel: 'HSM' }) };
    }
    if (name !== gcpWrappingKey) return error(404, 'NOT_FOUND');
    if (verb === 'encrypt') {
      const ciphertext = Buffer.from(`blob:${input.plaintext}`).toString('base64');
      return { status: 200, body: JSON.stringify({ name: `${name}/cryptoKeyVersions/1`, ciphertext }) };
    }
    const [, plaintext] = Buffer.from(input.ciphertext ?? '', 'base64')
      .toString()
      .split('blob:');
    if (plaintext === undefined) return error(400, 'INVALID_ARGUMENT');
    return { status: 200, body: JSON.stringify({ plaintext, usedPrimary: true }) };
  }

  function oauth({ body }: FakeRequest): FakeAnswer {
    const [head, claims, signature = ''] = (new URLSearchParams(body).get('assertion') ?? '').split('.');
    const isSigned = createVerify('RSA-SHA256')
      .update(`${head}.${claims}`)
      .verify(pair.publicKey, Buffer.from(signature, 'base64url'));
    const { iss, scope } = JSON.parse(Buffer.from(claims ?? '', 'base64url').toString()) as {
      readonly iss: string;
      readonly scope: string;
    };
    const isKnown = iss === email && scope === 'https://www.googleapis.com/auth/cloudkms';
    return isSigned && isKnown ? token() : error(400, 'invalid_grant');
  }

  const email = 'paymaster@shop-prod.iam.gserviceaccount.com';
  const isKms = ({ path }: FakeRequest) => path.startsWith('/v1/');
  const fake = await startFake({
    answer(request, switches) {
      if (isKms(request)) return kms(request, switches);
      if (request.path === '/token') return oauth(request);
      const isMetadata = request.path === '/computeMetadata/v1/instance/service-accounts/default/token';
      return isMetadata && request.headers['metadata-flavor'] === 'Google'
        ? token()
        : error(403, 'FORBIDDEN');
    },
    isForKey: isKms,
    throttled: error(429, 'RESOURCE_EXHAUSTED'),
    revoked: error(403, 'PERMISSION_DENIED'),
    failing: error(503, 'UNAVAILABLE'),
  });
  const serviceAccount = JSON.stringify({
    type: 'service_account',
    client_email: email,
    private_key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${fake.origin}/token`,
  });
  return { ...fake, serviceAccount, expireToken: () => void (tokens += 1) };
}
