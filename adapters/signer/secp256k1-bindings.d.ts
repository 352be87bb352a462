/**
 * The native half of `secp256k1`. The main entry replaces it by a slow JavaScript version when no binary fits. Only
 * what we use is declared.
 */
declare module 'secp256k1/bindings.js' {
  type Bindings = {
    contextRandomize(seed: Uint8Array): void;
    privateKeyVerify(key: Uint8Array): boolean;
    publicKeyCreate(key: Uint8Array, compressed: boolean): Uint8Array;
    /** Writes r‖s, 64 bytes, to `output`. */
    ecdsaSign(
      digest: Uint8Array,
      key: Uint8Array,
      options: Readonly<Record<string, never>>,
      output: Uint8Array,
    ): { readonly recid: number };
    /** 65 bytes 4‖x‖y when not compressed. Throws when no key can have signed. */
    ecdsaRecover(signature: Uint8Array, recid: number, digest: Uint8Array, compressed: boolean): Uint8Array;
  };
  const bindings: Bindings;
  export default bindings;
}
