declare const brand: unique symbol;

/** A reason that another table has: see {@link reasonOf}. */
export type OtherReason = string & { readonly [brand]: 'OtherReason' };

/**
 * Reasons of errors that tell more than the code of the error: a closed, published table. They are `data.reason` of a JSON-RPC
 * error, and in log lines. Refusals have a table of their own, and so have the conditions of a Paymaster that is not ready.
 */
export const errorReasons = {
  ANSWERS_BUSY: 'The organisation has too many answers open.',
  AUTH_TOKEN_REQUIRED: "The header authToken needs a token of the paymaster's organisation.",
  BODIES_FULL: 'Too many request bodies of the key or client are being read.',
  BODY_SLOW: 'The request body took too long to arrive.',
  BUNDLER_UNAVAILABLE: 'The bundler that estimates gas does not answer, or answers nonsense.',
  CHAIN_MISMATCH: 'The node answers for another chain.',
  CHAIN_UNAVAILABLE: 'No node of the chain answers, or its answer is too old.',
  CHAIN_UNKNOWN: 'The chain is not configured in this process.',
  CLOCK_SKEW: 'The chain is too far ahead of our clock.',
  CONFIG_BEHIND: 'This replica has an older configuration than the usage store has seen.',
  CONFIG_STALE: 'The configuration of this replica was not confirmed for too long.',
  CONFLICT: 'Others changed the object meanwhile.',
  DATABASE_LOCKED: 'Another process uses the database.',
  DEPOSIT_UNKNOWN: 'The balance that pays was not read yet.',
  ESTIMATION_FAILED: 'The operation fails when it is simulated.',
  FEE_TOKEN_UNSUPPORTED: 'The token is not served, or has no price that may be used.',
  FINALITY_UNKNOWN: 'The node does not say which block is final.',
  KEY_LOOKUPS: 'Too many keys that are not known were asked for.',
  KEY_REQUIRED: 'The request names no apiKey.',
  KUBERNETES_API: 'The Kubernetes API does not answer, or refuses.',
  MASTER_KEYS_MISSING: 'Keys cannot be checked: this process lacks the master key in force.',
  NEWER_VERSION: 'A newer release has written the data.',
  NOT_A_DATABASE: 'The file is not a database.',
  OLDER_FORM: 'A development version before this one has written the data.',
  RATE_LIMIT: 'The key or client has used up its rate.',
  REPLAYS_BUSY: 'Too many replays run.',
  SIGNER_MISSING: 'The signing key is not mounted here.',
  SIGNER_UNAVAILABLE: 'The signing key cannot be used at the moment.',
  SIMULATIONS_BUSY: 'Too many simulations wait.',
  USAGE_STORE_BUSY: 'Too many requests wait for the usage store.',
  USAGE_STORE_CLOCK: 'The clock of the usage store is wrong.',
  USAGE_STORE_DOWN: 'The usage store does not answer.',
  USAGE_STORE_FULL: 'The usage store has no space left.',
  USAGE_STORE_LOST: 'The usage store has lost its data: nothing is signed until all promises have expired.',
  USAGE_STORE_UNSAFE: 'The settings of the usage store would lose data.',
  VERSION_UNKNOWN: 'The chain does not offer the version of the paymaster.',
  WEBHOOK_BUSY: 'Too many calls wait for the host of a webhook.',
} as const satisfies Record<string, string>;
export type ErrorReason = keyof typeof errorReasons;

/** Marks a reason that comes from another table: of a refusal, a condition, or another process. */
export function reasonOf(reason: string): OtherReason {
  return reason as OtherReason;
}
