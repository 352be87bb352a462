import { errorCodes } from '../error-codes.js';

/** What to do about a condition with a reason, written `Type/Reason`; undefined: nothing. */
export function conditionRemedy(condition: string): string | undefined {
  return remedies[condition];
}

const seeOther = 'See the other condition, which has the message.';
const seeChain = 'Nothing on the object: see the status of the Chain.';
const priceSource =
  'Check the source in `spec.price` or `spec.nativePrice`; quotes in a FeeToken are refused until it answers.';
const topUp = 'Top up the deposit that the message names.';
const addKey = 'Add the key file to the Secret of the signers.';
const checkAddress = 'Check the address, or deploy the contract.';
const giveFunding = 'Give `spec.funding`, or ask the platform for a default funding wallet.';
const stake = '`paymaster contract stake` as the owner of the contract.';

const remedies: Readonly<Record<string, string>> = {
  'Accepted/Invalid': 'Correct the field that the message names.',
  'Accepted/BadChecksum': 'Copy the address again from its source.',
  'Accepted/NoNativePrice':
    'Ask the platform for `nativePrice` of the Chain, or use another `thresholdType`.',
  'Accepted/NameConflict': 'Delete one of the two objects, or give one another name or address.',
  'Accepted/NoOrganisation': 'Ask the platform for an Organisation that names this namespace.',
  'Accepted/FundingNotProven': 'Sign the funding message with the wallet, or leave `spec.funding` out.',
  'Accepted/ChainNotAllowed': 'Ask the platform to allow the chain for the Organisation.',
  'Accepted/QuotaExceeded': errorCodes.QUOTA_EXCEEDED.remedy,
  'Accepted/TooMany': 'Delete or pause what is not needed; the oldest count.',
  'ResolvedRefs/ChainNotFound': 'Use one of the chains that the message lists.',
  'ResolvedRefs/VersionNotFound': errorCodes.VERSION_NOT_SUPPORTED.remedy,
  'ResolvedRefs/AccountSignatureUnsupported':
    'Use a version on EntryPoint 0.9 whose contract reads the paymaster signature, e.g. `verifying-0.9`, or set `requireAccountSignature: false`.',
  'ResolvedRefs/PaymasterNotFound': 'Create the Paymaster, or correct `spec.paymasterRef`.',
  'ResolvedRefs/PaymasterDeleted':
    'Delete the object too, and remove it from the manifests that declare it; or create the Paymaster again, which goes on with it.',
  'ResolvedRefs/SignerNotFound': addKey,
  'ResolvedRefs/SignerUnusable':
    'Do what the message says: give the service accounts of operator and rpc the right to use the key, or correct the file (docs/keys.md).',
  'OpenFunding/EveryOrganisation':
    'List the namespaces that `defaultFunding.organisations` pays for, unless every Organisation of the cluster is meant.',
  'Programmed/NotAccepted': seeOther,
  'Programmed/TooLarge': 'Register fewer contracts or methods.',
  'Programmed/Deleting': seeOther,
  'Programmed/StoreRejected': 'Read the log of the operator; the message quotes the store.',
  'Ready/NotAccepted': seeOther,
  'Ready/NotResolved': seeOther,
  'Ready/NotProgrammed': seeOther,
  'Ready/NotServed': 'If it lasts for more than some seconds: see the pods of rpc and their logs.',
  'Ready/PolicyInvalid': 'Correct or pause the policies that the message names.',
  'Ready/NoNativePrice':
    'Ask the platform for `nativePrice` of the Chain, or for `enforcement: Shadow` of the budget.',
  'Ready/NotFunded': giveFunding,
  'Ready/NoCode': checkAddress,
  'Ready/NoAccess': seeOther,
  'Ready/SecretNotWritten': seeOther,
  'Ready/SignerNotAuthorized': 'Authorise the signer on the contract, or mount the key that it accepts.',
  'Ready/ChainNotReady': seeChain,
  'Ready/PriceNotUsable': seeOther,
  'Ready/ClockSkew': seeOther,
  'Ready/UsageStoreLost': seeOther,
  'Ready/NothingToServe': 'List at least one contract in `spec.profiles`, or delete the Chain.',
  'Ready/Suspended': 'Set `spec.suspended` to false when signing may go on.',
  'Ready/Deleting':
    'See what `metadata.finalizers` waits for, and remove them where that will not come. Create the object again once it is gone, if it is needed.',
  'Ready/Paused': 'Set `spec.active` to true when it should count again.',
  'Serving/NotReady': seeOther,
  'Serving/DepositEmpty': topUp,
  'Serving/UsageLost': 'Do what the message says, or wait until the limits reset.',
  'Serving/LimitFull': 'Wait until it resets, or raise the threshold of the limit that the message names.',
  'Serving/WebhookFailing': 'Repair the host of the webhook that the message names.',
  'Serving/TokenBudgetFull':
    'Wait until payments are mined or expire, or have the platform raise `tokenLossBudget` of the profile.',
  'Serving/TokensUnpriced': 'See PriceUsable of the FeeTokens that the message names.',
  'Serving/ContractUnusable':
    'Put right on chain or in the profile what the message names; signing goes on by itself, a minute after it stopped at the earliest.',
  'Funded/Low': topUp,
  'Funded/Empty': topUp,
  'Funded/Promised':
    'Wait until operations are mined or expire, or top up the deposit that the message names.',
  'Funded/ShareFull':
    'Wait until operations are mined or expire, use a funding wallet of your own, or have the platform raise `organisationShare`.',
  'Exhausted/UsageLost':
    'Find out how much was used before the loss, then do what the message says, or wait until it resets.',
  'Exhausted/LimitFull': 'Wait until it resets, or raise the threshold.',
  'Exhausted/BudgetFull':
    'Wait until it resets, or have the platform raise the budget that the message names.',
  'HostFailing/WebhookFailing': 'Repair the host of the webhook, or correct its URL.',
  'Funded/NoFundingWallet': giveFunding,
  'SignerAuthorized/NotAuthorized':
    '`paymaster contract authorise` as the owner of the contract, or mount the key that it accepts.',
  'SignerAuthorized/SignerNotFound': addKey,
  'OpenSponsorship/NoContracts': 'Register a SmartContract, or set `defaultContractAction: Deny`.',
  'OpenSponsorship/ContractsInShadow':
    'Set `contractsEnforcement` to Enforce once nothing is listed as `would_refuse`.',
  'CapsLimited/WiderThanPlatform': 'Lower the cap, or ask the platform to raise that of the Chain.',
  'FunctionsIgnored/NoEffect': 'Remove the rows that the message names.',
  'AddressChecksum/Wrong': 'Copy the address again from its source; the object works as it is.',
  'ContractCode/NoCode': checkAddress,
  'Reachable/Unreachable': 'Check the URLs of `spec.rpc`, the network and the node.',
  'Reachable/WrongChain': 'Correct `spec.rpc`, or `spec.chainId`.',
  'ClockSkew/Ahead': 'Compare the clock of the cluster with that of the chain.',
  'ClockSkew/FarAhead': 'Set the clock of the cluster; nothing is signed meanwhile.',
  'CodePresent/NoCode': 'Deploy the contract, or correct the addresses of the profile.',
  'EntryPointMatches/OtherEntryPoint': 'Correct `entryPoint` or `addresses` of the profile.',
  'HashMatches/OtherHash': 'Correct `layout` or `options` of the profile.',
  'HashMatches/OtherInitCodeHash':
    'Set `options.openZeppelin.initCodeHash` of the profile to the other value.',
  'HashMatches/TailNotRead': 'Set `options.openZeppelin.readsPaymasterSignature` of the profile to false.',
  'CodeUnchanged/CodeChanged':
    'Find out who replaced the code, and what it does. To go on, set `codeHash` of the profile to the hash that the message names.',
  'Deposited/Empty':
    '`paymaster contract deposit`, which chooses the call: `depositTo` of the EntryPoint is lost on a contract that keeps balances itself.',
  'Staked/Unstaked': stake,
  'Staked/TooLow': '`paymaster contract stake` as the owner of the contract: it adds what is missing.',
  'Staked/Unlocked': stake,
  'UsageStoreLost/Lost':
    'Wait until every earlier promise has expired, and find out what emptied the store. Do not restore a backup.',
  'UsageStoreLost/LossAccepted':
    'Nothing; watch the deposits, and resume contracts that stop for an operation from before the loss (docs/runbooks.md).',
  'MasterKeys/Refused':
    'Add the key that the message names to the Secret, or undo the change (docs/key-rotation.md).',
  'TokenSecured/AfterCall': 'Nothing, or set `tokenPayment: preFund` where the layout has it.',
  'TokenSecured/NoRefunds': 'Let the treasury allow the contract to spend each fee token.',
  'TokenLoss/BudgetLow': 'Find out why operations did not pay; raise `tokenLossBudget` to go on today.',
  'Following/Failing':
    'Read the log of the rpc pods; check the URLs of `spec.rpc` (PaymasterFollowerStalled in docs/runbooks.md).',
  'Following/Waiting': 'Put a node first in `spec.rpc` that is up to date and on the same chain.',
  'Following/NoFinality':
    'Put a node first in `spec.rpc` that knows the block tag `finalized`, or set `spec.confirmations` to a number of blocks.',
  'DataFeeUsable/Unreachable': 'Check the URLs of the Chain; see Reachable.',
  'DataFeeUsable/Unsupported':
    'Correct `spec.dataFee.kind`; a chain with another rule takes Bundler or Factor.',
  'PriceUsable/Stale': priceSource,
  'PriceUsable/Deviation': priceSource,
  'PriceUsable/Jump':
    'Find out whether the source errs; where the fall is real, set `acceptedAt` beside the source to the present time (docs/limits-in-dollars.md).',
  'PriceUsable/TooFewSources': priceSource,
  'PriceUsable/DecimalsMismatch': 'Correct `spec.decimals` or `spec.address`.',
  'PriceUsable/SymbolMismatch': 'Correct `spec.symbol` or `spec.address`.',
  'PriceUsable/Unreachable': priceSource,
  'PriceUsable/Reverted': priceSource,
  'PriceUsable/Malformed': priceSource,
  'PriceUsable/OutOfRange': priceSource,
  'PriceUsable/Incomplete': priceSource,
  'PriceUsable/SequencerDown': 'Wait: an hour after the sequencer is up again the price is used.',
  'ConnectionSecret/NotOurs': 'Name another Secret, or delete the one that is there.',
  'ConnectionSecret/NotAllowed':
    '`kubectl label namespace NAMESPACE paymasters.dev/organisation=true`, by somebody who may label namespaces; without an Organisation, the chart value `operator.connectionSecrets.namespaces`.',
  'ConnectionSecret/WriteFailed': 'Read the log of the operator.',
  'DashboardAccess/NamespaceNotFound': 'Create the namespace, or delete the Organisation.',
  'DashboardAccess/NamespaceNotLabelled':
    '`kubectl label namespace NAMESPACE paymasters.dev/organisation=true`, by somebody who may label namespaces. Access that was granted before stays.',
  'DashboardAccess/NotOurs': 'Rename or delete the RoleBinding of somebody else.',
};
