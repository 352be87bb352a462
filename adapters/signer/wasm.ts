import { writeRecovery, type Curve } from './curve.js';

/** libsecp256k1 as WebAssembly, about 110 µs per signature: for platforms without a native binary. */
export async function loadWasmCurve(): Promise<Curve> {
  const secp256k1 = await import('tiny-secp256k1');
  return {
    name: 'wasm',
    isKey: (key) => secp256k1.isPrivate(key),
    publicKey: (key) => {
      const point = secp256k1.pointFromScalar(key, false);
      if (point === null) throw new RangeError('the key has no public point');
      return point.subarray(1);
    },
    sign: (digest, key) => {
      const { signature, recoveryId } = secp256k1.signRecoverable(digest, key);
      const whole = new Uint8Array(65);
      whole.set(signature);
      return writeRecovery(whole, recoveryId);
    },
    recover: (digest, signature, recoveryId) => {
      // Checked first: when r is not a point of the curve, the library throws instead of answering null.
      if (!secp256k1.isXOnlyPoint(signature.subarray(0, 32))) return undefined;
      return secp256k1.recover(digest, signature, recoveryId, false)?.subarray(1);
    },
  };
}
