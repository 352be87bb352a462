/** An object of the operator that is gone, or that somebody else has changed. */
export type ForeignChange = {
  readonly kind: 'PaymasterConfig' | 'ChainConfig' | 'AddressList' | 'RoleBinding';
  readonly namespace: string;
  readonly name: string;
};

/** Port: watches what the operator has written, until the stop. */
export type ForeignChanges = (onChange: (change: ForeignChange) => void) => { stop(): Promise<void> };
