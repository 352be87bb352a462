// Errors of EntryPoints, of common accounts and of what they call, so that an explanation can name them and say what to
// do. Each row is a kind of fault with one remedy; a row without a remedy only gives names. A name is listed once: a
// selector does not say which contract has used it.

type Row = {
  readonly errors: readonly string[];
  /** What makes the operation pass. Absent where the name says all that can be said. */
  readonly remedy?: string;
};

const unreadableSignature =
  'The account cannot read the signature: for an estimate send the dummy signature of its client library, otherwise the signature of its owner.';

export const knownErrors: readonly Row[] = [
  {
    // OpenZeppelin, thus SimpleAccount, Simple7702Account and many others; Kernel; Nexus.
    errors: [
      'ECDSAInvalidSignature()',
      'ECDSAInvalidSignatureLength(uint256 length)',
      'ECDSAInvalidSignatureS(bytes32 s)',
      'InvalidSignature()',
      'InvalidSignatureType()',
    ],
    remedy: unreadableSignature,
  },
  {
    // EntryPoint 0.9 and its accounts; the Safe module; OpenZeppelin; Kernel; Nexus; LightAccount.
    errors: [
      'NotFromEntryPoint(address msgSender, address entity, address entryPoint)',
      'UnsupportedEntryPoint()',
      'AccountUnauthorized(address sender)',
      'AccountAccessUnauthorized()',
      'InvalidCaller()',
      'NotOwnerOrEntryPoint(address msgSender, address entity, address entryPoint, address owner)',
      'NotAuthorized(address caller)',
    ],
    remedy:
      'The contract does not take calls from this EntryPoint: name the EntryPoint that the account was made for, and call the account only through its own methods.',
  },
  {
    errors: ['NotSenderCreator(address msgSender, address entity, address senderCreator)'],
    remedy: 'The factory belongs to another EntryPoint: use the factory for the EntryPoint of the request.',
  },
  {
    errors: ['Eip7702SenderWithoutCode(address sender)', 'Eip7702SenderNotDelegate(address sender)'],
    remedy:
      'The account has not delegated its code: put the signed authorization into eip7702Auth, or leave out the factory 0x7702.',
  },
  {
    errors: ['InvalidPaymasterSignatureLength(uint256 dataLength, uint256 signatureLength)'],
    remedy:
      'The length before the magic of a paymaster signature is larger than the data: send the paymaster data as they were answered.',
  },
  {
    errors: ['InvalidPaymaster(address paymaster)', 'InvalidPaymasterData(uint256 length)'],
    remedy: 'Send the paymaster data as they were answered.',
  },
  {
    errors: ['PaymasterNotDeployed(address paymaster)'],
    remedy: 'No contract is at this address: correct it in the contract profile of the Chain.',
  },
  {
    errors: [
      'InsufficientDeposit(uint256 currentDeposit, uint256 withdrawAmount)',
      'InsufficientBalance(uint256 balance, uint256 needed)',
      'AddressInsufficientBalance(address account)',
    ],
    remedy: 'Send the account as many coins as the call needs, or lower the amount.',
  },
  {
    errors: [
      'ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
      'ERC721InsufficientApproval(address operator, uint256 tokenId)',
      'ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
      'ERC721NonexistentToken(uint256 tokenId)',
      'ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId)',
      'ERC1155MissingApprovalForAll(address operator, address owner)',
      'SafeERC20FailedOperation(address token)',
    ],
    remedy: 'Send the account the tokens that the call needs and let it approve them, or lower the amount.',
  },
  {
    errors: ['ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)'],
    remedy: 'Approve the spender for the amount, in this operation or before.',
  },
  {
    errors: [
      'OwnableUnauthorizedAccount(address account)',
      'AccessControlUnauthorizedAccount(address account, bytes32 neededRole)',
      'AccessManagedUnauthorized(address caller)',
      'NotOwner(address msgSender, address entity, address owner)',
    ],
    remedy: 'The account may not call this method: give it the right, or call with an account that has it.',
  },
  {
    errors: ['UnsupportedExecutionFunction(bytes4 selector)'],
    remedy:
      'A Safe executes only executeUserOp and executeUserOpWithErrorString of its module: encode the calls with its client library.',
  },
  {
    errors: [
      'ExecutionFailed()',
      'ExecutionReverted()',
      'InnerCallFailed()',
      'FailedInnerCall()',
      'FailedCall()',
    ],
    remedy:
      'The account hides why its call failed: make the call alone to see it. A Safe shows it with executeUserOpWithErrorString.',
  },
  {
    // Kernel 3.
    errors: ['InvalidNonce()', 'InvalidMode()', 'InvalidValidator()', 'InvalidValidationType()'],
    remedy:
      'The nonce key must name a validator that the account has installed: ask its client library for the nonce.',
  },
  {
    errors: [
      'EnableNotApproved()',
      'PolicySignatureOrderError()',
      'SignerPrefixNotPresent()',
      'PolicyDataTooLarge()',
      'PolicyFailed(uint256 index)',
      'PermissionNotAlllowedForUserOp()',
      'PermissionNotAlllowedForSignature()',
      'PermissionDataLengthMismatch()',
    ],
    remedy: 'The permission does not allow this operation: sign it with a permission that does.',
  },
  {
    // Coinbase Smart Wallet.
    errors: ['InvalidNonceKey(uint256 key)', 'SelectorNotAllowed(bytes4 selector)'],
    remedy:
      'The nonce key 8453 is for calls that are valid on every chain, and only for them: ask the client library of the account for the nonce.',
  },
  {
    errors: ['NoOwnerAtIndex(uint256 index)', 'InvalidOwnerBytesLength(bytes owner)'],
    remedy: 'The signature must name an owner of the account by its index.',
  },
  {
    errors: [
      'InvalidExecutor()',
      'InvalidFallback()',
      'InvalidCallType()',
      'OnlyExecuteUserOp()',
      'InvalidModuleType()',
      'InvalidSelector()',
      'InitConfigError(uint256 index)',
      'AlreadyInitialized()',
      'UnsupportedModuleType(uint256 moduleTypeId)',
      'NexusInitializationFailed()',
      'InvalidModule(address module)',
      'InvalidModuleTypeId(uint256 moduleTypeId)',
      'ModuleAlreadyInstalled(uint256 moduleTypeId, address module)',
      'ModuleNotInstalled(uint256 moduleTypeId, address module)',
      'MissingFallbackHandler(bytes4 selector)',
      'ERC7579UninstalledModule(uint256 moduleTypeId, address module)',
      'ERC7579AlreadyInstalledModule(uint256 moduleTypeId, address module)',
      'ERC7579MissingFallbackHandler(bytes4 selector)',
      'ERC7579UnsupportedCallType(bytes1 callType)',
      'ERC7579UnsupportedExecType(bytes1 execType)',
      'ERC7579DecodingError()',
      'UnsupportedExecutionMode()',
      'Unauthorized()',
      'Initialized()',
      'InvalidInitialization()',
      'NotInitializing()',
      'AddressEmptyCode(address target)',
      'FailedDeployment()',
      'EnforcedPause()',
      'ExpectedPause()',
      'ReentrancyGuardReentrantCall()',
      'Reentrancy()',
      'InternalFunction()',
      'SignatureValidationFailed(address aggregator)',
      'InvalidBeneficiary(address beneficiary)',
      'FailedSendToBeneficiary(address beneficiary, uint256 amount, bytes revertData)',
      'InvalidStake(uint256 msgValue, uint256 currentStake)',
      'InvalidUnstakeDelay(uint256 newUnstakeDelaySec, uint256 currentUnstakeDelaySec)',
      'NotStaked(uint256 currentStake, uint256 unstakeDelaySec, bool staked)',
      'StakeNotUnlocked(uint256 withdrawTime, uint256 blockTimestamp)',
      'WithdrawalNotDue(uint256 withdrawTime, uint256 blockTimestamp)',
      'StakeWithdrawalFailed(address account, address withdrawAddress, uint256 amount, bytes revertReason)',
      'DepositWithdrawalFailed(address account, address withdrawAddress, uint256 amount, bytes revertReason)',
      'ERC20InvalidSender(address sender)',
      'ERC20InvalidReceiver(address receiver)',
      'ERC20InvalidApprover(address approver)',
      'ERC20InvalidSpender(address spender)',
      'ERC721InvalidReceiver(address receiver)',
      'ERC1155InvalidReceiver(address receiver)',
      'ERC2612ExpiredSignature(uint256 deadline)',
      'ERC2612InvalidSigner(address signer, address owner)',
      'InvalidAccountNonce(address account, uint256 currentNonce)',
      'UUPSUnauthorizedCallContext()',
      'UUPSUnsupportedProxiableUUID(bytes32 slot)',
      'ERC1967InvalidImplementation(address implementation)',
      'ERC1967NonPayable()',
      'FailedOp(uint256 opIndex, string reason)',
    ],
  },
];

/** Errors that carry the revert data of another contract, which says more than they do, and the value that holds them. */
export const wrappingErrors: Readonly<Record<string, string>> = {
  'ExecuteError(uint256 index, bytes error)': 'error',
  'PostOpReverted(bytes returnData)': 'returnData',
  'FailedOpWithRevert(uint256 opIndex, string reason, bytes inner)': 'inner',
  'WrappedError(address target, bytes4 selector, bytes reason, bytes details)': 'reason',
};

/** Remedies for what EntryPoints write at the beginning of a reason, and for texts of accounts that have no errors. */
export const knownReasons: readonly { readonly prefixes: readonly string[]; readonly remedy: string }[] = [
  {
    prefixes: ['AA10'],
    remedy:
      'The account exists already: leave out initCode (EntryPoint 0.6) or factory and factoryData (0.7 and 0.8).',
  },
  {
    prefixes: ['AA13', 'AA14', 'AA15'],
    remedy:
      'The factory does not deploy the account at the address of the sender: compare factory, factoryData and sender, and that the factory belongs to this EntryPoint.',
  },
  {
    prefixes: ['AA20'],
    remedy:
      'The account is not deployed: add initCode (EntryPoint 0.6) or factory and factoryData (0.7 and later), or deploy it first.',
  },
  {
    prefixes: ['AA21'],
    remedy: 'The account would have to pay: send the paymaster data with the operation.',
  },
  {
    prefixes: ['AA22', 'AA27'],
    remedy:
      'The account signed a window of time or blocks that is over or has not begun: sign the operation again with another window.',
  },
  {
    prefixes: ['AA24'],
    remedy:
      'The account does not accept the signature: sign the hash of exactly this operation, with its final paymaster data, for this EntryPoint and chain.',
  },
  {
    prefixes: ['AA25'],
    remedy: 'Ask the EntryPoint for the nonce of the account (getNonce), with the nonce key that you use.',
  },
  {
    prefixes: ['AA33'],
    remedy:
      'The paymaster contract refuses. Where a token pays, the account most likely does not hold enough of it, or has not allowed the paymaster to take it: send it tokens, and approve the paymaster.',
  },
  { prefixes: ['AA31'], remedy: 'Deposit more in the EntryPoint for the paymaster contract.' },
  {
    prefixes: ['AA32', 'AA37'],
    remedy:
      'The window that the paymaster signed is over or has not begun: ask for the paymaster data again.',
  },
  {
    prefixes: ['AA34'],
    remedy:
      'The paymaster data belong to another operation: ask for them again, and change no field of the operation afterwards.',
  },
  { prefixes: ['AA26', 'AA40'], remedy: 'Raise verificationGasLimit, or send calculateGasLimits: true.' },
  { prefixes: ['AA94'], remedy: 'Send gas limits and fees below 2^120.' },
  {
    prefixes: ['ECDSA: invalid signature'],
    remedy: unreadableSignature,
  },
  {
    prefixes: ['account: not from EntryPoint', 'account: not Owner or EntryPoint'],
    remedy: 'The account belongs to another EntryPoint: name the EntryPoint that it was made for.',
  },
];
