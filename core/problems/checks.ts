import type { ConditionReason, ConditionType } from '../meta/condition-reasons.js';

/** Critical: something is not signed, or money is at risk. Warning: it soon will be, or may be. Note: it may be meant so. */
export const severities = ['critical', 'warning', 'note'] as const;
export type Severity = (typeof severities)[number];

type Shown = { [T in ConditionType]: `${T}/${ConditionReason<T>}` }[ConditionType];

/** One thing that can be wrong. */
export type Check = {
  readonly severity: Severity;
  /** What is wrong, as a sentence. */
  readonly what: string;
  /** What to do. A condition with its reason has a remedy of its own, which goes before it. */
  readonly remedy: string;
  /** Conditions, with their reasons, by which a status shows it. */
  readonly conditions?: readonly Shown[];
  /** Checks of `/readyz` that fail then. */
  readonly readiness?: readonly string[];
  /** The alert that sounds then; docs/runbooks.md has a section for it. */
  readonly alert?: string;
  /** True: it is shown to the platform alone, also where it is in the status of a chain that an organisation uses. */
  readonly isOfPlatform?: true;
};

/**
 * Everything that can be wrong, the one list behind `paymaster doctor`, `GET /manage/v1/problems`, the console's page "What is wrong"
 * and the table in docs/runbooks.md. A condition belongs to at most one check. Those that only sum up others belong to none.
 */
export const checks = {
  'no-organisation': {
    severity: 'critical',
    what: 'No Organisation names the namespace of an object, or no Organisation exists.',
    remedy: 'Apply an Organisation whose `spec.namespace` is that of the paymasters.',
    conditions: ['Accepted/NoOrganisation'],
  },
  'no-access': {
    severity: 'warning',
    what: 'The dashboard may not work in the namespace of an Organisation.',
    remedy: 'Do what the message says; paymasters that are served stay served.',
    conditions: [
      'DashboardAccess/NamespaceNotFound',
      'DashboardAccess/NamespaceNotLabelled',
      'DashboardAccess/NotOurs',
    ],
  },
  'signer-missing': {
    severity: 'critical',
    what: 'A signing key is not mounted.',
    remedy: 'Add the key file to the Secret of the signers (docs/keys.md).',
    conditions: ['ResolvedRefs/SignerNotFound', 'SignerAuthorized/SignerNotFound'],
    readiness: ['signers'],
  },
  'signer-unusable': {
    severity: 'critical',
    what: 'The file of a signer is wrong, or its signer is away or refuses.',
    remedy: 'Do what the message says (docs/keys.md).',
    conditions: ['ResolvedRefs/SignerUnusable'],
    alert: 'PaymasterSignerUnavailable',
  },
  'signer-not-authorized': {
    severity: 'critical',
    what: 'The contract does not accept the signing key.',
    remedy: '`paymaster contract authorise`, or mount the key that the contract accepts.',
    conditions: ['SignerAuthorized/NotAuthorized'],
    alert: 'PaymasterSigningStopped',
  },
  'deposit-empty': {
    severity: 'critical',
    what: 'The deposit that pays for gas is empty.',
    remedy: '`paymaster contract deposit`, or top up the wallet that the message names.',
    conditions: ['Funded/Empty', 'Deposited/Empty'],
    alert: 'PaymasterDepositLow',
  },
  'deposit-low': {
    severity: 'warning',
    what: 'The deposit that pays for gas covers few operations.',
    remedy: 'Top it up soon.',
    conditions: ['Funded/Low'],
    alert: 'PaymasterDepositLow',
  },
  'no-funding-wallet': {
    severity: 'critical',
    what: 'No wallet pays for a paymaster, or the wallet has not agreed to.',
    remedy: 'Give `spec.funding` with the signature of the wallet.',
    conditions: ['Funded/NoFundingWallet', 'Accepted/FundingNotProven'],
  },
  'stake-missing': {
    severity: 'warning',
    what: 'The contract has no stake that bundlers accept.',
    remedy: '`paymaster contract stake` as the owner of the contract.',
    conditions: ['Staked/Unstaked', 'Staked/TooLow', 'Staked/Unlocked'],
  },
  'database-away': {
    severity: 'critical',
    what: 'The database of limits and promises does not answer.',
    remedy: 'Bring the database back; nothing is signed without it.',
    readiness: ['usage-store'],
    alert: 'PaymasterDatabaseDown',
  },
  'database-lost': {
    severity: 'critical',
    what: 'The database has lost promises and used amounts of a chain.',
    remedy: 'Wait until every earlier promise has expired. Do not restore a backup.',
    conditions: ['UsageStoreLost/Lost'],
    readiness: ['usage-data'],
    alert: 'PaymasterUsageStoreLost',
  },
  'loss-accepted': {
    severity: 'note',
    what: 'A loss of usage data was accepted by an annotation.',
    remedy: 'Watch the deposits: promises from before the loss count nowhere.',
    conditions: ['UsageStoreLost/LossAccepted'],
  },
  'clock-ahead': {
    severity: 'critical',
    what: 'The chain is so far ahead of the clock that nothing is signed.',
    remedy: 'Set the clock of the cluster (NTP).',
    conditions: ['ClockSkew/FarAhead'],
    alert: 'PaymasterChainNotReady',
  },
  'clock-skew': {
    severity: 'warning',
    what: 'The chain is ahead of the clock.',
    remedy: 'Compare the clock of the cluster with that of the chain.',
    conditions: ['ClockSkew/Ahead'],
  },
  'price-unusable': {
    severity: 'warning',
    what: 'A price cannot be used: payments in the token, or limits in dollars, are refused.',
    remedy: 'Check the price source that the message names.',
    conditions: [
      'PriceUsable/Stale',
      'PriceUsable/Deviation',
      'PriceUsable/TooFewSources',
      'PriceUsable/DecimalsMismatch',
      'PriceUsable/SymbolMismatch',
      'PriceUsable/Unreachable',
      'PriceUsable/Reverted',
      'PriceUsable/Malformed',
      'PriceUsable/OutOfRange',
      'PriceUsable/SequencerDown',
      'PriceUsable/Incomplete',
      'Serving/TokensUnpriced',
    ],
  },
  'no-native-price': {
    severity: 'critical',
    what: 'A limit or a budget in dollars counts on a chain whose coin has no price.',
    remedy: 'Ask the platform for `nativePrice` of the Chain, or use another `thresholdType`.',
    conditions: ['Accepted/NoNativePrice', 'Ready/NoNativePrice'],
  },
  'data-fee-unknown': {
    severity: 'warning',
    what: 'What the chain charges for posted data cannot be read.',
    remedy: 'Check the node and `spec.dataFee` of the Chain.',
    conditions: ['DataFeeUsable/Unreachable', 'DataFeeUsable/Unsupported'],
    alert: 'PaymasterDataFeeUnknown',
  },
  'webhook-failing': {
    severity: 'critical',
    what: 'A webhook does not answer, so its policy refuses.',
    remedy: 'Repair the host of the webhook that the message names.',
    conditions: ['Serving/WebhookFailing'],
    alert: 'PaymasterWebhookFailing',
  },
  'limit-full': {
    severity: 'warning',
    what: 'A limit that all users share is full.',
    remedy: 'Wait for the next cycle, or raise the threshold.',
    conditions: ['Serving/LimitFull'],
    alert: 'PaymasterLimitFull',
  },
  'chain-away': {
    severity: 'critical',
    what: 'No node of the chain answers.',
    remedy: 'Check the URLs of `spec.rpc`, the network and the node.',
    conditions: ['Reachable/Unreachable'],
    readiness: ['chains-followed'],
    alert: 'PaymasterChainNotReady',
  },
  'wrong-chain': {
    severity: 'critical',
    what: 'The node serves another chain.',
    remedy: 'Correct `spec.rpc`, or `spec.chainId`.',
    conditions: ['Reachable/WrongChain'],
    alert: 'PaymasterChainNotReady',
  },
  'chain-not-followed': {
    severity: 'critical',
    what: 'Mined operations are not settled: limits and deposits fill early.',
    remedy: 'Put a node first in `spec.rpc` that is up to date.',
    conditions: ['Following/Failing', 'Following/Waiting', 'Following/NoFinality'],
    readiness: ['chains-settled'],
    alert: 'PaymasterFollowerStalled',
  },
  'contract-unusable': {
    severity: 'critical',
    what: 'The paymaster contract on chain is not as its profile says.',
    remedy: 'Correct the profile, or what the message names on chain.',
    conditions: [
      'CodePresent/NoCode',
      'EntryPointMatches/OtherEntryPoint',
      'HashMatches/OtherHash',
      'HashMatches/OtherInitCodeHash',
      'HashMatches/TailNotRead',
      'CodeUnchanged/CodeChanged',
      'Serving/ContractUnusable',
    ],
    alert: 'PaymasterSigningStopped',
  },
  'contract-without-code': {
    severity: 'warning',
    what: 'A registered contract has no code on the chain.',
    remedy: 'Check the address, or deploy the contract.',
    conditions: ['ContractCode/NoCode'],
  },
  'nothing-to-serve': {
    severity: 'warning',
    what: 'A Chain has no contract profile, so no paymaster can use it.',
    remedy: 'List at least one contract in `spec.profiles`, or delete the Chain.',
    conditions: ['Ready/NothingToServe'],
  },
  'stale-replica': {
    severity: 'critical',
    what: 'A replica serves a configuration that nobody has confirmed, or has none.',
    remedy: 'Check that the pod reaches the API server.',
    readiness: ['configs-synced', 'configs-confirmed'],
    alert: 'PaymasterConfigStale',
  },
  'api-server-away': {
    severity: 'warning',
    what: 'The store of the resources does not answer: no change and no pause arrives.',
    remedy: 'Bring the API server back; `paymaster suspend --direct` stops signing meanwhile.',
    readiness: ['resource-store'],
    alert: 'PaymasterConfigStale',
  },
  'replica-not-ready': {
    severity: 'warning',
    what: 'A replica takes no traffic: it starts, stops, or its checks fail.',
    remedy: 'Do what the check says.',
    readiness: ['serving', 'warm-up'],
    alert: 'PaymasterNotReady',
  },
  'nothing-served': {
    severity: 'warning',
    what: 'A replica has no paymaster to serve.',
    remedy: 'Apply a Chain, an Organisation and a Paymaster, and see their conditions.',
    readiness: ['paymasters'],
  },
  'operator-away': {
    severity: 'critical',
    what: 'The operator has not looked at an object for a minute since it was made.',
    remedy: 'Look at the operator: it may not run, or not reach the API server.',
    alert: 'PaymasterOperatorWithoutLeader',
  },
  'not-seen-yet': {
    severity: 'note',
    what: 'The operator has not looked at an object since it was made or changed.',
    remedy: 'Wait some seconds; if it stays so, look at the operator.',
    alert: 'PaymasterOperatorWithoutLeader',
  },
  'policy-invalid': {
    severity: 'critical',
    what: 'An active policy has never been valid, so every request is refused.',
    remedy: 'Correct or pause the policies that the message names.',
    conditions: ['Ready/PolicyInvalid'],
  },
  'object-invalid': {
    severity: 'warning',
    what: 'A field is wrong; what was in force before stays in force.',
    remedy: 'Correct the field that the message names.',
    conditions: ['Accepted/Invalid', 'Accepted/BadChecksum'],
  },
  'not-allowed': {
    severity: 'warning',
    what: 'An object is beyond what the Organisation may have, or counts twice.',
    remedy: 'Delete what is not needed, or ask the platform.',
    conditions: [
      'Accepted/NameConflict',
      'Accepted/ChainNotAllowed',
      'Accepted/QuotaExceeded',
      'Accepted/TooMany',
    ],
  },
  'reference-missing': {
    severity: 'warning',
    what: 'An object names a chain, version or paymaster that is not there, or cannot do what it asks for.',
    remedy: 'Correct the name, or create what it names.',
    conditions: [
      'ResolvedRefs/ChainNotFound',
      'ResolvedRefs/VersionNotFound',
      'ResolvedRefs/AccountSignatureUnsupported',
      'ResolvedRefs/PaymasterNotFound',
    ],
  },
  'not-programmed': {
    severity: 'critical',
    what: 'An object is too large for the served configuration, or its store refused it.',
    remedy: 'Register fewer contracts or methods; else read the log of the operator.',
    conditions: ['Programmed/TooLarge', 'Programmed/StoreRejected'],
    alert: 'PaymasterReconcileErrors',
  },
  'secret-not-written': {
    severity: 'warning',
    what: 'The connection Secret of a paymaster is not up to date.',
    remedy: 'Name another Secret, or read the log of the operator.',
    conditions: ['ConnectionSecret/NotOurs', 'ConnectionSecret/WriteFailed'],
  },
  'master-keys-refused': {
    severity: 'critical',
    what: 'A change of the master keys is not applied.',
    remedy: 'See docs/key-rotation.md.',
    conditions: ['MasterKeys/Refused'],
    alert: 'PaymasterMasterKeysNotApplied',
    isOfPlatform: true,
  },
  'open-sponsorship': {
    severity: 'critical',
    what: 'A paymaster pays for calls of any contract.',
    remedy: 'Register a SmartContract, or set `defaultContractAction: Deny`.',
    conditions: ['OpenSponsorship/NoContracts', 'OpenSponsorship/ContractsInShadow'],
    alert: 'PaymasterOpenSponsorship',
  },
  'no-limit': {
    severity: 'warning',
    what: 'A paymaster has no active limit and no budget: anyone who has its key can spend all that pays for it.',
    remedy: 'Add a PaymasterPolicy with a limit (docs/policies.md).',
  },
  'shadow-refuses-much': {
    severity: 'warning',
    what: 'What is in Shadow would have refused many of the operations that were sponsored.',
    remedy:
      'Look at `groupBy=wouldRefuse` of the usage before Enforce is set, and change the rule or the DApp.',
  },
  'caps-limited': {
    severity: 'note',
    what: "A cap is wider than the platform's, which counts instead.",
    remedy: 'Lower the cap, or ask the platform to raise that of the Chain.',
    conditions: ['CapsLimited/WiderThanPlatform'],
  },
  'address-checksum': {
    severity: 'note',
    what: 'An address in use is not its EIP-55 checksum.',
    remedy: 'Copy the address again from its source.',
    conditions: ['AddressChecksum/Wrong'],
  },
  'open-funding': {
    severity: 'note',
    what: 'Every Organisation spends from a default wallet.',
    remedy: 'List the namespaces that it pays for.',
    conditions: ['OpenFunding/EveryOrganisation'],
    isOfPlatform: true,
  },
  'token-loss': {
    severity: 'warning',
    what: 'Operations that paid no token cost more than half of the budget of the day.',
    remedy: 'Find out why they did not pay.',
    conditions: ['TokenLoss/BudgetLow'],
    alert: 'PaymasterTokenUnpaid',
  },
  'token-unsecured': {
    severity: 'note',
    what: 'A contract takes tokens after the call, so a payment can be lost.',
    remedy: 'Nothing, or set `tokenPayment: preFund` where the layout has it.',
    conditions: ['TokenSecured/AfterCall', 'TokenSecured/NoRefunds'],
  },
  suspended: {
    severity: 'note',
    what: 'A paymaster or its chain is suspended.',
    remedy: 'Set `spec.suspended` to false when signing may go on.',
    conditions: ['Ready/Suspended'],
  },
} as const satisfies Readonly<Record<string, Check>>;

export type CheckId = keyof typeof checks;
export const checkIds = Object.keys(checks) as readonly CheckId[];

/** Where the table of all checks has the row. */
export function runbookOf(id: CheckId): string {
  return `docs/runbooks.md#${id}`;
}
