import { createHmac, hash } from 'node:crypto';
import { v4 as formatUuid } from 'uuid';

type KeyOwner = {
  /** The tenant: its namespace, or `namespace@generation`, see tenant.ts. */
  readonly namespace: string;
  /** `metadata.name` of the Paymaster. */
  readonly name: string;
  /** `spec.keyGeneration`, default 1; of a key with a name its own. */
  readonly keyGeneration: number;
  /** Of a key beside the first one. */
  readonly keyName?: string;
};

/**
 * The apiKey of a Paymaster, `<9 characters of A-Z a-z 0-9 _ ->.<uuid>`: 176 bits that only the holder of the master
 * key can compute. Derived rather than stored, so that it can be listed while the stores hold only its hash.
 */
export function deriveApiKey(master: Uint8Array, owner: KeyOwner): string {
  // A JSON array, because plain concatenation would give ("a", "bc") and ("ab", "c") the same key.
  const { namespace, name, keyGeneration, keyName } = owner;
  const named = keyName === undefined ? [] : [keyName];
  const context = JSON.stringify(['apiKey', namespace, name, keyGeneration, ...named]);
  const bytes = createHmac('sha256', master).update(context).digest();
  const head = bytes.subarray(0, 7).toString('base64url').slice(0, 9);
  return `${head}.${formatUuid({ random: bytes.subarray(16, 32) })}`;
}

/** SHA-256 of an apiKey or authToken as 64 lowercase hex digits: the form in which they are stored and looked up. */
export function hashCredential(text: string): string {
  return hash('sha256', text, 'hex');
}
