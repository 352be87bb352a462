/**
 * Keys that other secrets are derived from. Mounted files; never logged, never stored. They may change while a process runs, so
 * they are read each time; reading throws UNAVAILABLE while the keys in force are not mounted here.
 */
export type MasterKeys = {
  /** Derives apiKeys. */
  readonly current: Uint8Array;
  /** Accepted while the master key is rotated. */
  readonly previous?: Uint8Array | undefined;
} & WebhookMasterKeys;

export type WebhookMasterKeys = {
  /** Derives the HMAC key of each webhook policy. */
  readonly webhook: Uint8Array;
  /** While it is rotated: calls are signed with both. */
  readonly webhookPrevious?: Uint8Array | undefined;
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
