import type { Clock } from '../../../core/units/time.js';
import type { KeyFileAccess } from '../file/key-file.js';
import type { Environment } from '../kind.js';

/** Who holds a key that wraps ours, or that signs: a folder, and a row of `table.ts`. */
export type KeyProvider = {
  readonly title: string;
  /** Variables of the environment that it reads. */
  readonly variables: readonly string[];
  /** How a key that wraps is named. */
  readonly wrapping: KeyName;
  /** How a key that signs is named; absent: it does not sign. */
  readonly signing?: KeyName;
  /** Calls nobody. */
  connect(deps: ProviderDeps): KeyClient;
};

/** `expected` completes "key must be …". */
export type KeyName = { readonly pattern: RegExp; readonly expected: string };

export type ProviderDeps = {
  readonly environment: Environment;
  readonly access: KeyFileAccess;
  /** Calls at once. */
  readonly connections: number;
  readonly clock: Clock;
};

/** Every method throws CallFailed; the message says what to set where credentials are missing. */
export type KeyClient = {
  /** r‖s, 64 bytes. */
  sign(key: string, digest: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  unwrap(key: string, ciphertext: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  wrap(key: string, plaintext: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends every call. */
  stop(): void;
};
