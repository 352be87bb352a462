/**
 * How an account function lays out its calls, for functions that people may add: the arguments it must have. One reader each is in
 * `call-shapes.ts`.
 */
export const shapeArguments = {
  /** One call. */
  call: '(address,uint256,bytes)',
  /** One call, as a struct. */
  'call-struct': '((address,uint256,bytes))',
  /** One call; operation 1 is a delegate call, which only a batching library of a built-in row may get. */
  'call-or-delegate-call': '(address,uint256,bytes,uint8)',
  /** Targets, values (none at all means zero each), data. */
  batch: '(address[],uint256[],bytes[])',
  /** Targets, data. */
  'batch-without-values': '(address[],bytes[])',
  /** Calls as structs. */
  'batch-of-structs': '((address,uint256,bytes)[])',
  /** Calls as structs, and whether all fail with one of them. */
  'batch-of-structs-and-flag': '(((address,uint256,bytes)[],bool))',
} as const;
export type AddedShape = keyof typeof shapeArguments;

export type CallShape =
  | AddedShape
  /** (bytes32 mode, bytes executionCallData) */
  | 'erc-7579'
  /** The selector alone, before a call that the account reads from the whole operation. */
  | 'wrapped'
  /** Sets up a new Safe that the launchpad of Safe7579 has made, and makes a call. */
  | 'setup-then-call';

export type AccountFunction = {
  readonly signature: string;
  readonly shape: CallShape;
  /** Libraries whose `multiSend(bytes)` a delegate call may reach, lowercase. Absent: none. */
  readonly batchers?: ReadonlySet<string>;
};

/** By selector. */
export type AccountFunctions = ReadonlyMap<string, AccountFunction>;

/**
 * Safe's batching libraries, to which a Safe delegate-calls `multiSend(bytes)`: MultiSend and MultiSendCallOnly of
 * each release, at the address of the deterministic deployer and, for 1.3.0, also of its EIP-155 variant. Lowercase.
 */
export const multiSendContracts: ReadonlySet<string> = new Set([
  // 1.3.0
  '0xa238cbeb142c10ef7ad8442c6d1f9e89e07e7761',
  '0x998739bfdaadde7c933b942a68053933098f9eda',
  '0x40a2accbd92bca938b02010e17a5b8929b49130d',
  '0xa1dabef33b3b82c7814b6d82a79e50f4ac44102b',
  // 1.4.1
  '0x38869bf66a61cf6bdb996a6ae40d5853fd43b526',
  '0x9641d764fc13c8b624c04430c7356c1c7c8102e2',
  // 1.5.0
  '0x218543288004cd07832472d464648173c77d7eb7',
  '0xa83c336b20401af773b6219ba5027174338d1836',
]);

/** The batching library of Kernel 0.2, which has the function of Safe's. Lowercase. */
export const kernelMultiSend = '0x8ae01fcf7c655655ff2c6ef907b8b4718ab4e17c';

/** `multiSend(bytes)`. */
export const multiSendSelector = '0x8d80ff0a';
/** `executeUserOp(PackedUserOperation,bytes32)`: EntryPoints from 0.7 on call it with the whole operation. */
export const executeUserOpSelector = '0x8dd7712f';
/** `execute(bytes32,bytes)` of ERC-7579. */
export const erc7579Selector = '0xe9ae5c53';

/**
 * Functions with which known accounts execute calls, by selector. The account alone decides what a selector means:
 * this table cannot detect an account whose code gives one of them another meaning.
 */
export const accountFunctions: AccountFunctions = new Map<string, AccountFunction>([
  // SimpleAccount, the vendor's account 2.0.0, Coinbase Smart Wallet, Light Account and others.
  ['0xb61d27f6', { signature: 'execute(address,uint256,bytes)', shape: 'call' }],
  // SimpleAccount 0.7, the vendor's account 2.0.0.
  ['0x47e1da2a', { signature: 'executeBatch(address[],uint256[],bytes[])', shape: 'batch' }],
  // The vendor's account 2.0.0: names found for cheap selectors.
  ['0x0000189a', { signature: 'execute_ncC(address,uint256,bytes)', shape: 'call' }],
  ['0x00004680', { signature: 'executeBatch_y6U(address[],uint256[],bytes[])', shape: 'batch' }],
  // The vendor's account 1.0.0.
  ['0x9e5d4c49', { signature: 'executeCall(address,uint256,bytes)', shape: 'call' }],
  ['0x912ccaa3', { signature: 'executeBatchCall(address[],uint256[],bytes[])', shape: 'batch' }],
  // SimpleAccount 0.6, Light Account.
  ['0x18dfb3c7', { signature: 'executeBatch(address[],bytes[])', shape: 'batch-without-values' }],
  // SimpleAccount 0.8, Simple7702Account, Coinbase Smart Wallet.
  ['0x34fcd5be', { signature: 'executeBatch((address,uint256,bytes)[])', shape: 'batch-of-structs' }],
  // Seen in many operations on Ethereum; the names are the accounts' own.
  ['0x76276c82', { signature: 'execute4337Op(address,uint256,bytes)', shape: 'call' }],
  ['0x26da7d88', { signature: 'execute4337Ops((address,uint256,bytes)[])', shape: 'batch-of-structs' }],
  // MetaMask's smart accounts.
  ['0x5c1c6dcd', { signature: 'execute((address,uint256,bytes))', shape: 'call-struct' }],
  // Calibur.
  [
    '0x99e1d016',
    { signature: 'execute(((address,uint256,bytes)[],bool))', shape: 'batch-of-structs-and-flag' },
  ],
  // Safe through its ERC-4337 module.
  [
    '0x7bb37428',
    {
      signature: 'executeUserOp(address,uint256,bytes,uint8)',
      shape: 'call-or-delegate-call',
      batchers: multiSendContracts,
    },
  ],
  [
    '0x541d63c8',
    {
      signature: 'executeUserOpWithErrorString(address,uint256,bytes,uint8)',
      shape: 'call-or-delegate-call',
      batchers: multiSendContracts,
    },
  ],
  // Kernel 0.2.
  [
    '0x51945447',
    {
      signature: 'execute(address,uint256,bytes,uint8)',
      shape: 'call-or-delegate-call',
      batchers: new Set([kernelMultiSend]),
    },
  ],
  // ERC-7579 and ERC-7821 accounts: Nexus, Kernel 3, Safe7579, MetaMask's and others.
  [erc7579Selector, { signature: 'execute(bytes32,bytes)', shape: 'erc-7579' }],
  // The EntryPoint passes on the whole operation: Kernel 3 with hooks, Modular Account v2, Nexus, Calibur.
  [
    executeUserOpSelector,
    {
      signature: 'executeUserOp((address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes),bytes32)',
      shape: 'wrapped',
    },
  ],
  // The first operation of a Safe7579.
  [
    '0xd9ed0e8f',
    {
      signature: 'setupSafe((address,address[],uint256,address,bytes,address,(address,bytes)[],bytes))',
      shape: 'setup-then-call',
    },
  ],
]);

/** A function that is not read: how it can be, or why it never is. */
type UnreadFunction = { readonly signature: string } & (
  { readonly shape: AddedShape } | { readonly why: string }
);

/** Functions of accounts that are not read, by selector: for the text of a refusal. */
export const unreadFunctions: ReadonlyMap<string, UnreadFunction> = new Map<string, UnreadFunction>([
  ['0x80c5c7d0', { signature: 'execFromEntryPoint(address,uint256,bytes)', shape: 'call' }],
  ['0x73a68f7a', { signature: 'executeFromEntryPoint(address,uint256,bytes)', shape: 'call' }],
  ['0x3f579f42', { signature: 'executeTransaction(address,uint256,bytes)', shape: 'call' }],
  [
    '0x940d3c60',
    { signature: 'executeAndRevert(address,uint256,bytes,uint8)', shape: 'call-or-delegate-call' },
  ],
  ['0x3f707e6b', { signature: 'execute((address,uint256,bytes)[])', shape: 'batch-of-structs' }],
  ['0x1cff79cd', { signature: 'execute(address,bytes)', why: 'it may make a delegate call' }],
  [
    '0x2c2abd1e',
    {
      signature: 'executeWithoutChainIdValidation(bytes[])',
      why: 'it changes the account itself, on every chain alike, and calls no other contract',
    },
  ],
  [
    '0xcef6d209',
    {
      signature: 'redeemDelegations(bytes[],bytes32[],bytes[])',
      why: 'other accounts make the calls of a delegation',
    },
  ],
]);
