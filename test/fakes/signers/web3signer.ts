import { getBytes, keccak256, SigningKey } from 'ethers';
import { hexWord } from '../../../core/units/hex.js';
import { signedBy, startFake, type FakeProtocol, type FakeServer, type Switches } from './fake-server.js';

/**
 * web3signer with these private keys: eth1 signing, which hashes what it is sent and answers plain text. `sign` answers r, s and v of what
 * it is sent, as one text.
 */
export async function startFakeWeb3signer(
  keys: readonly string[],
  sign: (key: string, data: string, switches: Switches) => string = signedText,
): Promise<FakeServer> {
  const byPublicKey = new Map(keys.map((key) => [publicKeyOf(key), key]));
  const protocol: FakeProtocol = {
    answer({ method, path, body }, switches) {
      const [, publicKey] = /^\/api\/v1\/eth1\/sign\/(0x[0-9a-f]{128})$/.exec(path) ?? [];
      const key = publicKey === undefined ? undefined : byPublicKey.get(publicKey);
      if (method !== 'POST' || key === undefined) return { status: 404, body: 'Public Key not found' };
      const { data } = JSON.parse(body) as { readonly data: string };
      return { status: 200, body: sign(key, data, switches) };
    },
    throttled: { status: 429, body: '' },
    revoked: { status: 404, body: 'Public Key not found' },
    failing: { status: 500, body: 'Internal server error' },
  };
  return startFake(protocol);
}

function signedText(key: string, data: string, switches: Switches): string {
  const { r, s, yParity } = signedBy(key, getBytes(keccak256(data)), switches);
  return `${r}${s.slice(2)}${hexWord(27 + yParity).slice(-2)}`;
}

/** 0x and 128 hex digits. */
export function publicKeyOf(key: string): string {
  return `0x${new SigningKey(key).publicKey.slice(4)}`;
}
