import { createKeccak } from 'hash-wasm';

// The only module-level instance in the code base. Compiling it is asynchronous and hashing must not be, so it is
// made while the module loads. It holds no state between calls: every use starts with `init`. It is not re-entrant.
// That is safe only because `keccak256` begins and ends in one synchronous stretch.
const engine = await createKeccak(256);

/** keccak-256 of `bytes`: 32 bytes. Synchronous. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  return engine.init().update(bytes).digest('binary');
}

const personalPrefix = Buffer.from('\x19Ethereum Signed Message:\n32', 'latin1');

/** What a wallet signs for a 32-byte message (EIP-191 `personal_sign`): keccak(prefix ++ hash), 32 bytes. */
export function personalDigest(hash: Uint8Array): Uint8Array {
  if (hash.length !== 32) throw new RangeError(`expected a hash of 32 bytes, got ${hash.length}`);
  return engine.init().update(personalPrefix).update(hash).digest('binary');
}
