import type { Clock } from '../../../core/units/time.js';
import type { KeyFileAccess } from '../file/key-file.js';
import type { Environment } from '../kind.js';
import { readField, parseJson } from '../../../core/schema/json-value.js';
import { CallFailed } from '../call-failed.js';
import { readDerSignature } from '../checked-signature.js';
import { type Problem, quote } from '../../../core/errors.js';
import { text } from '../../../core/schema/structural.js';

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
type KeyName = { readonly pattern: RegExp; readonly expected: string };

type ProviderDeps = {
  readonly environment: Environment;
  readonly access: KeyFileAccess;
  /** Calls at once. */
  readonly connections: number;
  readonly clock: Clock;
};

/** Every method throws CallFailed; the message says what to set where credentials are missing. */
type KeyClient = {
  /** r‖s, 64 bytes. */
  sign(key: string, digest: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  unwrap(key: string, ciphertext: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  wrap(key: string, plaintext: Uint8Array, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends every call. */
  stop(): void;
};

/** Operation, what is asked for bytes in base64, and the member of the answer that holds bytes in base64. */
type Operation = readonly [name: string, input: (bytes: string) => object, member: string];

/** A service that takes and answers JSON: `ask` resolves to the answer of an operation on a key. */
export function createJsonClient(
  service: string,
  http: { stop(): void },
  ask: (name: string, key: string, input: object, signal: AbortSignal) => Promise<string>,
  operations: { readonly sign: Operation; readonly unwrap: Operation; readonly wrap: Operation },
): KeyClient {
  const call =
    ([name, input, member]: Operation): KeyClient['wrap'] =>
    async (key, bytes, signal) =>
      readBytes(await ask(name, key, input(base64(bytes)), signal), member, service);
  const sign = call(operations.sign);
  return {
    sign: async (key, digest, signal) => readDerSignature(await sign(key, digest, signal)),
    unwrap: call(operations.unwrap),
    wrap: call(operations.wrap),
    stop: () => http.stop(),
  };
}

/** Bytes of a base64 member of a JSON answer. Throws CallFailed `unclear` when the answer has no such member: something was done, and we do not know what. */
export function readBytes(body: string, member: string, service: string): Uint8Array {
  const text = readField(parseJson(body), member);
  if (typeof text !== 'string' || text === '')
    throw new CallFailed('unclear', `${service} answers without ${member}`);
  return Buffer.from(text, 'base64');
}

export function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64');
}

/** How keys are named differs between providers: see {@link keyProblems}. */
export const keyField = text('The key of the provider.', { minLength: 1, maxLength: 512 });

export function keyProblems(key: string, { pattern, expected }: KeyName): readonly Problem[] {
  return pattern.test(key) ? [] : [{ field: 'key', expected, value: quote(key) }];
}
