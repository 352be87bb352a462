/** How an account function lays out its calls; `call-data.ts` has one reader for each. */
export type CallShape =
  /** (address target, uint256 value, bytes data) */
  | 'call'
  /** (address target, uint256 value, bytes data, uint8 operation), operation 1 is a delegate call */
  | 'call-or-delegate-call'
  /** (address[] targets, uint256[] values, bytes[] datas); no values at all means zero each */
  | 'batch'
  /** (address[] targets, bytes[] datas) */
  | 'batch-without-values'
  /** ((address target, uint256 value, bytes data)[] calls) */
  | 'batch-of-structs'
  /** (bytes32 mode, bytes executionCallData) */
  | 'erc-7579';

type AccountFunction = { readonly signature: string; readonly shape: CallShape };

/**
 * Functions with which known accounts execute calls, by selector. The account alone decides what a selector means:
 * this table cannot detect an account whose code gives one of them another meaning.
 */
export const accountFunctions: ReadonlyMap<string, AccountFunction> = new Map([
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
  // Safe through its ERC-4337 module.
  ['0x7bb37428', { signature: 'executeUserOp(address,uint256,bytes,uint8)', shape: 'call-or-delegate-call' }],
  [
    '0x541d63c8',
    {
      signature: 'executeUserOpWithErrorString(address,uint256,bytes,uint8)',
      shape: 'call-or-delegate-call',
    },
  ],
  // ERC-7579 accounts: Nexus, Kernel 3, Safe7579 and others.
  ['0xe9ae5c53', { signature: 'execute(bytes32,bytes)', shape: 'erc-7579' }],
]);

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

/** `multiSend(bytes)`. */
export const multiSendSelector = '0x8d80ff0a';
