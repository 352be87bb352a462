/** Keys that other secrets are derived from. Mounted files; never logged, never stored. */
export type MasterKeys = {
  /** Derives apiKeys. */
  readonly current: Uint8Array;
  /** Accepted while the master key is rotated. */
  readonly previous?: Uint8Array;
  /** Derives the HMAC key of each webhook policy. */
  readonly webhook: Uint8Array;
};

/**
 * Port: writes the connection details of a Paymaster where its owner asked for them (`writeConnectionSecretToRef`).
 * Created create-only and later changed only if that Paymaster controls it, else `not-ours`.
 */
export type ConnectionSecrets = {
  write(request: {
    readonly namespace: string;
    readonly name: string;
    readonly owner: { readonly name: string; readonly uid: string };
    readonly data: Readonly<Record<string, string>>;
  }): Promise<'written' | 'unchanged' | 'not-ours'>;
};
