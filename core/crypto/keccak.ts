import { keccak256 as slowKeccak256 } from 'ethers/crypto';
import { createKeccak, type IHasher } from 'hash-wasm';

// The only module-level instance in the code base. It holds no state between calls: every use starts with `init`. It is not
// re-entrant. That is safe only because `keccak256` begins and ends in one synchronous stretch. It is compiled in the background:
// waiting for it here would make every module of the graph one that cannot be loaded synchronously. Constants that are hashed
// while modules load take the slower way.
let engine: IHasher | undefined;
/** Resolves when `keccak256` is fast. */
export const fastKeccak: Promise<void> = createKeccak(256).then((compiled) => {
  engine = compiled;
});

/** keccak-256 of `bytes`: 32 bytes. Synchronous. */
export function keccak256(bytes: Uint8Array): Uint8Array {
  if (engine === undefined) return Buffer.from(slowKeccak256(bytes).slice(2), 'hex');
  return engine.init().update(bytes).digest('binary');
}

const personalPrefix = Buffer.from('\x19Ethereum Signed Message:\n32', 'latin1');

/** Prefix ++ hash: a wallet signs the keccak of this for a 32-byte message (EIP-191 `personal_sign`). */
export function personalMessage(hash: Uint8Array): Uint8Array {
  if (hash.length !== 32) throw new RangeError(`expected a hash of 32 bytes, got ${hash.length}`);
  return Buffer.concat([personalPrefix, hash]);
}
