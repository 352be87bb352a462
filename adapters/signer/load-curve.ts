import type { Logger } from '../../core/log.js';
import type { Curve } from './curve.js';
import { loadNativeCurve } from './native.js';
import { loadWasmCurve } from './wasm.js';

/** `auto`: native, or wasm if the platform has no native binary. */
export type CurveChoice = 'auto' | Curve['name'];

/** One loader for each library; replaced in tests only. */
export type CurveLoaders = Readonly<Record<Curve['name'], () => Promise<Curve>>>;

const installed: CurveLoaders = { native: loadNativeCurve, wasm: loadWasmCurve };

/**
 * Loads the chosen library. Rejects when it is not available. Only `auto` falls back from native to wasm, and never
 * without a warning: it costs most of a replica's throughput.
 */
export async function loadCurve(
  choice: CurveChoice,
  log: Logger,
  loaders: CurveLoaders = installed,
): Promise<Curve> {
  if (choice === 'wasm') return loaders.wasm();
  try {
    return await loaders.native();
  } catch (cause) {
    if (choice === 'native') throw new Error('no native secp256k1 for this platform', { cause });
    log.warn('no native secp256k1 for this platform: signing with wasm, about 2.5 times slower', {
      platform: `${process.platform}-${process.arch}`,
    });
    return loaders.wasm();
  }
}
