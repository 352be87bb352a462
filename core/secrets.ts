/**
 * Keys from which other secrets are derived. They come from mounted files and are never logged or stored. They may
 * change while a process runs, so every use reads them again; reading throws UNAVAILABLE while the keys in force are
 * not mounted in this process.
 */
export type MasterKeys = {
  /** Derives apiKeys. */
  readonly current: Uint8Array;
  /** Accepted while the master key is being rotated. */
  readonly previous?: Uint8Array | undefined;
} & WebhookMasterKeys;

export type WebhookMasterKeys = {
  /** Derives the HMAC key of each webhook policy. */
  readonly webhook: Uint8Array;
  /** While the key is being rotated: calls are signed with both. */
  readonly webhookPrevious?: Uint8Array | undefined;
};

/**
 * Port: writes the connection details of a Paymaster to the Secret that its owner named
 * (`writeConnectionSecretToRef`). It creates a missing Secret, and changes an existing one only if that
 * Paymaster controls it; otherwise the answer is `not-ours`. `denied`: this process may not write Secrets in the namespace.
 */
export type ConnectionSecrets = {
  write(request: {
    readonly namespace: string;
    readonly name: string;
    readonly owner: { readonly name: string; readonly uid: string };
    readonly data: Readonly<Record<string, string>>;
  }): Promise<'written' | 'unchanged' | 'not-ours' | 'denied'>;
};

/** Port: whose the tokens of the platform are. */
export type PlatformTokens = {
  /** Name of the token with this SHA-256; undefined when it is not one of the platform. Throws UNAVAILABLE. */
  nameOf(sha256: string): Promise<string | undefined>;
};
