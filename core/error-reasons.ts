declare const brand: unique symbol;

/** A reason that another table has: see {@link asReason}. */
export type OtherReason = string & { readonly [brand]: 'OtherReason' };

type Row = {
  readonly text: string;
  /** Of one that does not go away by itself. */
  readonly remedy?: string;
};

/**
 * Reasons of errors that tell more than the code of the error: a closed, published table. They are `data.reason` of a JSON-RPC
 * error, and in log lines. Refusals have a table of their own, and so have the conditions of a Paymaster that is not ready.
 */
export const errorReasons = {
  ANSWERS_BUSY: { text: 'The organisation has too many answers open.' },
  AUTH_TOKEN_REQUIRED: { text: "The header authToken needs a token of the paymaster's organisation." },
  BODIES_FULL: { text: 'Too many request bodies of the key or client are being read.' },
  BODY_SLOW: { text: 'The request body took too long to arrive.' },
  BUNDLERS_BUSY: { text: 'Too many calls of the key wait for the bundlers of the chain.' },
  BUNDLER_UNAVAILABLE: { text: 'No bundler of the chain answers, or what it answers cannot be read.' },
  CHAIN_MISMATCH: { text: 'The node answers for another chain.' },
  CHAIN_UNAVAILABLE: { text: 'No node of the chain answers, or its answer is too old.' },
  CHAIN_UNKNOWN: { text: 'The chain is not configured in this process.' },
  CLOCK_SKEW: { text: 'The chain is too far ahead of our clock.' },
  CONFIG_BEHIND: { text: 'This replica has an older configuration than the usage store has seen.' },
  CONFIG_STALE: { text: 'The configuration of this replica was not confirmed for too long.' },
  CONFLICT: { text: 'Others changed the object meanwhile.' },
  DATABASE_LOCKED: { text: 'Another process uses the database.' },
  DEPOSIT_UNKNOWN: { text: 'The balance that pays was not read yet.' },
  ESTIMATION_FAILED: { text: 'The operation fails when it is simulated.' },
  FEE_TOKEN_REQUIRED: {
    text: 'The mode ERC20 needs the address of a token.',
    remedy: 'Name one of the tokens shown in tokenInfo.feeTokenAddress.',
  },
  FEE_TOKEN_UNSUPPORTED: {
    text: 'The token is not served, or has no price that may be used.',
    remedy: 'Name a token that is shown with a price, or correct the price source of this one.',
  },
  FINALITY_UNKNOWN: { text: 'The node does not say which block is final.' },
  KEY_LOOKUPS: { text: 'Too many keys that are not known were asked for.' },
  KEY_REQUIRED: { text: 'The request names no apiKey.' },
  KUBERNETES_API: { text: 'The Kubernetes API does not answer, or refuses.' },
  MASTER_KEYS_MISSING: { text: 'Keys cannot be checked: this process lacks the master key in force.' },
  NEWER_VERSION: { text: 'A newer release has written the data.' },
  NOT_A_DATABASE: { text: 'The file is not a database.' },
  NOT_SIGNED_HERE: { text: 'The data of the paymaster were not signed by this service for the operation.' },
  NO_PAYMASTER: { text: 'The operation names no paymaster.' },
  OLDER_FORM: { text: 'A development version before this one has written the data.' },
  OTHER_OPERATION: { text: 'Another operation was sponsored for the sender and nonce.' },
  OTHER_PAYMASTER: { text: 'The operation names the contract of another paymaster.' },
  PRICE_STALE: {
    text: 'A limit in dollars counts the operation, and the coin has no price that may be used.',
    remedy:
      'Try again in a minute; the condition PriceUsable of the Chain says what is wrong with its price.',
  },
  RATE_LIMIT: { text: 'The key or client has used up its rate.' },
  RPC_UNAVAILABLE: { text: 'The JSON-RPC server that explains does not answer, or does not take the call.' },
  SIGNER_MISSING: { text: 'The signing key is not mounted here.' },
  SIGNER_UNAVAILABLE: { text: 'The signing key cannot be used at the moment.' },
  SIMULATIONS_BUSY: {
    text: 'Too many simulations wait.',
    remedy: 'Try again in a second, or send gas limits: then nothing is simulated.',
  },
  USAGE_STORE_BUSY: { text: 'Too many requests wait for the usage store.' },
  USAGE_STORE_CLOCK: { text: 'The clock of the usage store is wrong.' },
  USAGE_STORE_DOWN: { text: 'The usage store does not answer.' },
  USAGE_STORE_FULL: { text: 'The usage store has no space left.' },
  USAGE_STORE_LOST: {
    text: 'The usage store has lost its data: nothing is signed until all promises have expired.',
  },
  USAGE_STORE_UNSAFE: { text: 'The settings of the usage store would lose data.' },
  VERSION_UNKNOWN: { text: 'The chain does not offer the version of the paymaster.' },
  WEBHOOK_BUSY: {
    text: 'Too many calls wait for the host of a webhook.',
    remedy: 'Try again in a second; limit the requests of a key with spec.rateLimit if it persists.',
  },
} as const satisfies Record<string, Row>;
export type ErrorReason = keyof typeof errorReasons;

export function remedyOfReason(reason: string): string | undefined {
  const rows: Readonly<Record<string, Row>> = errorReasons;
  return Object.hasOwn(rows, reason) ? rows[reason]?.remedy : undefined;
}

/** Marks a reason that comes from another table: of a refusal, a condition, or another process. */
export function asReason(reason: string): OtherReason {
  return reason as OtherReason;
}
