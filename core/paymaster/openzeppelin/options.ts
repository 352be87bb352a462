/** What the deployer of an OpenZeppelin paymaster chose; a profile repeats it, so that the server needs no call. */
export type OpenZeppelinOptions = {
  /** `name` and `version` of the contract's EIP-712 domain, as `eip712Domain()` answers them. */
  readonly domainName: string;
  readonly domainVersion: string;
  /**
   * What is signed for an EIP-7702 account, whose `initCode` begins with the marker 0x7702. `AsGiven`: `initCode` as
   * it is, as in release 5.7. `Delegate`: the account's delegate instead of the marker, as in later releases.
   */
  readonly initCodeHash: InitCodeHash;
  /** EntryPoint 0.9: whether the contract takes its signature from the tail too. As published it does not. */
  readonly readsPaymasterSignature: boolean;
};

export const initCodeHashes = ['AsGiven', 'Delegate'] as const;
export type InitCodeHash = (typeof initCodeHashes)[number];
