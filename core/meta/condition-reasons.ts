import type { ConditionStatus } from './meta.js';

export type ReasonText = { readonly status: ConditionStatus; readonly text: string };

const yes = (text: string): ReasonText => ({ status: 'True', text });
const no = (text: string): ReasonText => ({ status: 'False', text });
const unknown = (text: string): ReasonText => ({ status: 'Unknown', text });

const chainNotAsked = unknown('The chain was not asked yet, or does not answer.');
const contractNotAsked = unknown('The contract was not asked yet, or the chain does not answer.');

/**
 * Every condition that a status may show, with each of its reasons. The documentation for users is rendered from this
 * table. `status` is the value that goes with the reason.
 */
export const conditionReasons = {
  Accepted: {
    Accepted: yes('The spec is valid and its names are unique.'),
    Invalid: no('A field is wrong; the message names it.'),
    BadChecksum: no('An address in mixed case is not its EIP-55 checksum; the message names the field.'),
    NameConflict: no('An older or already programmed object uses the name or address.'),
    NoOrganisation: no('No Organisation names this namespace.'),
    FundingNotProven: no('The funding wallet has not proven that it agrees; nothing is signed until it has.'),
    ChainNotAllowed: no('The Organisation may not use this chain.'),
    NoNativePrice: no('A limit or budget in dollars needs `nativePrice` of the Chain.'),
    QuotaExceeded: no('A quota of the Organisation is used up by older objects.'),
    TooMany: no(
      'Only so many contracts, and active policies of a type, of a paymaster count: those in force, then the oldest. The message says how many.',
    ),
  },
  ResolvedRefs: {
    ResolvedRefs: yes('Everything that the spec refers to exists.'),
    ChainNotFound: no('No Chain offers this chainId; the message lists those offered.'),
    VersionNotFound: no('The Chain has no such profile; the message lists those offered.'),
    AccountSignatureUnsupported: no(
      'The Paymaster demands the signature of the account, and the contract of its version cannot sign after the account.',
    ),
    PaymasterNotFound: no('The paymasterRef names no Paymaster of this namespace.'),
    PaymasterDeleted: no('The Paymaster that the paymasterRef names was deleted, and this object was not.'),
    SignerNotFound: no('No key is mounted under the file name of a profile.'),
    SignerUnusable: no(
      'The file of a signer is wrong, or its signer is away, refuses, has another key than the file says, or one that everybody knows; the message says which.',
    ),
  },
  Programmed: {
    Programmed: yes('The served config contains this object as it is.'),
    NotAccepted: no('Accepted or ResolvedRefs is False; see its message.'),
    TooLarge: no(
      'There are too many contracts and methods: those that fitted last and are still wanted are served.',
    ),
    StoreRejected: no('The config store refused the compiled form.'),
    Deleting: no('The object is being deleted: it is served no longer.'),
    Pending: unknown('Waits for the Paymaster or Chain that it belongs to.'),
  },
  Ready: {
    Ready: yes('In use.'),
    NotAccepted: no('Accepted is False; see its message.'),
    NotResolved: no('ResolvedRefs is False; see its message.'),
    NotProgrammed: no('Programmed is False; see its message.'),
    PolicyInvalid: no('An active policy has never been valid, so every request is refused.'),
    NoNativePrice: no(
      'A budget of the Organisation counts in dollars, and the Chain has no `nativePrice`: nothing is sponsored.',
    ),
    NotFunded: no('Nobody has given a funding wallet.'),
    NoCode: no('The contract has no code on the chain; see ContractCode.'),
    NoAccess: no(
      'The namespace has been missing for a minute, or the dashboard may not work in it; see DashboardAccess.',
    ),
    SecretNotWritten: no(
      'The Secret of writeConnectionSecretToRef is not written; see ConnectionSecret. Requests are signed all the same.',
    ),
    SignerNotAuthorized: no('The contract does not accept the signer.'),
    ChainNotReady: no('The profile of the chain is not usable; see the Chain.'),
    PriceNotUsable: no('The token on chain is not as the fee token describes it; see PriceUsable.'),
    ClockSkew: no('The chain is too far ahead of our clock; see ClockSkew.'),
    UsageStoreLost: no('The usage store has lost its data; see UsageStoreLost.'),
    NothingToServe: no('The Chain has no contract profile, so no paymaster can use it.'),
    Suspended: no('Suspended by spec.suspended of the Paymaster or its Chain.'),
    Paused: no('Its field active is false.'),
    Deleting: no(
      'The object is being deleted, and counts as absent; `metadata.finalizers` names what keeps it.',
    ),
    NotServed: unknown('No rpc replica has said yet that it serves what was compiled.'),
    Pending: unknown('Not checked against the chain yet.'),
  },
  Serving: {
    Serving: yes('Operations that pass its rules are signed.'),
    NotReady: no('Ready is False; see its message.'),
    DepositEmpty: no('What pays for gas covers no ordinary operation; see Funded.'),
    UsageLost: no(
      'The usage store lost what was used of a limit, which refuses every operation until it begins anew.',
    ),
    LimitFull: no('A limit that all users share is full, so operations are refused.'),
    WebhookFailing: no(
      'A webhook was asked for a minute and gave no answer to any replica, and its policy then refuses.',
    ),
    TokenBudgetFull: yes(
      'Sponsorships are signed; payments in tokens that are taken after the call are refused, since the budget for losses is promised or lost.',
    ),
    TokensUnpriced: yes(
      'Sponsorships are signed; payments in some tokens are refused, which have had no usable price for a minute.',
    ),
    Unknown: unknown('Not checked against the chain yet.'),
    ContractUnusable: no(
      'Its chain has shown twice that signed data could not be mined, so nothing is signed; the message says why.',
    ),
  },
  Funded: {
    Ok: yes('The deposit covers many operations.'),
    Low: yes('The deposit covers fewer than 100 ordinary operations at the recent fees: top it up soon.'),
    Empty: no('A deposit covers no ordinary operation at the recent fees: top it up.'),
    Promised: no(
      'What is not promised to operations that are not mined yet covers no ordinary operation: wait until they are mined or expire, or top up.',
    ),
    ShareFull: no(
      "Promises that are not mined yet take all of the organisation's share of a deposit that several organisations use.",
    ),
    NoFundingWallet: no('Neither spec.funding nor a default of the profile.'),
    Unknown: unknown('The deposit was not read yet, or the chain does not answer.'),
  },
  Exhausted: {
    UsageLost: yes(
      'The usage store lost what was used of the limit, so it refuses every operation (USAGE_LOST) until its window turns or a person begins the count anew; the message says how.',
    ),
    LimitFull: yes('All users share the limit, and it is full: it refuses operations.'),
    BudgetFull: yes('A budget of the Organisation is full: its paymasters refuse operations.'),
  },
  HostFailing: {
    WebhookFailing: yes(
      'The host was asked for a minute and gave no answer to any replica, so the policy refuses operations.',
    ),
  },
  SignerAuthorized: {
    Authorized: yes('The contract accepts the signer of the profile.'),
    NotAuthorized: no('The contract accepts another signer: replace the key or the contract.'),
    SignerNotFound: no('No key is mounted under the file name of the profile.'),
    Unknown: contractNotAsked,
  },
  OpenSponsorship: {
    NoContracts: yes(
      'No SmartContract is registered and defaultContractAction is Allow: anything is sponsored.',
    ),
    ContractsInShadow: yes(
      'What is registered is judged and refuses nothing (contractsEnforcement: Shadow), so anything is sponsored.',
    ),
    Denied: no('No SmartContract is registered and defaultContractAction is Deny: nothing is sponsored.'),
    ContractsRegistered: no('Only calls of registered contracts are sponsored.'),
  },
  OpenFunding: {
    EveryOrganisation: yes(
      'A defaultFunding names "*": every Organisation, also one that is made later, spends from the wallet. List those that may.',
    ),
  },
  CapsLimited: {
    WiderThanPlatform: yes(
      "A cap of the spec is wider than the platform's, which counts instead; the message has both figures.",
    ),
  },
  FunctionsIgnored: {
    NoEffect: yes(
      'Rows of accountFunctions have no effect, since their functions are read already: built in, by the Chain, or by an earlier row.',
    ),
  },
  AddressChecksum: {
    Wrong: no(
      'An address in mixed case is not its EIP-55 checksum. It was in use before this was checked, and stays in use.',
    ),
  },
  ContractCode: {
    CodePresent: yes('The address has code on the chain.'),
    NoCode: no('The address has no code: a wrong address, or not deployed yet.'),
    Unknown: chainNotAsked,
  },
  Reachable: {
    Reachable: yes('The chain answers and its chain id is right.'),
    Unreachable: no('No RPC URL answers.'),
    WrongChain: no('The RPC URL serves another chain.'),
    Unknown: unknown('Not asked yet.'),
  },
  ClockSkew: {
    InStep: no('The newest block is not ahead of the clock of this service.'),
    Ahead: yes(
      'The newest block is more than 30 seconds ahead of the clock of this service: check both clocks.',
    ),
    FarAhead: yes(
      'The newest block is more than 2 minutes ahead of the clock of this service: nothing is signed.',
    ),
    Unknown: unknown('No block was read yet.'),
  },
  CodePresent: {
    CodePresent: yes('EntryPoint and paymaster contract have code.'),
    NoCode: no('The EntryPoint or the paymaster contract has no code.'),
    Unknown: chainNotAsked,
  },
  EntryPointMatches: {
    EntryPointMatches: yes('The contract names the EntryPoint of the profile.'),
    OtherEntryPoint: no('The contract was deployed for another EntryPoint.'),
    Unknown: unknown('The contract was not asked yet, or does not answer.'),
  },
  HashMatches: {
    HashMatches: yes('The contract hashes an operation as this service does.'),
    OtherHash: no(
      'The contract hashes differently, or has another EIP-712 domain: the layout or its options are wrong for it.',
    ),
    OtherInitCodeHash: no(
      'The contract hashes the `initCode` of an EIP-7702 account in another way than `options.openZeppelin.initCodeHash` says.',
    ),
    TailNotRead: no(
      'The contract does not take its signature from the tail of `paymasterAndData`, although `options.openZeppelin.readsPaymasterSignature` says so.',
    ),
    Unknown: unknown('The contract was not asked yet, or does not answer.'),
  },
  CodeUnchanged: {
    CodeUnchanged: yes('The contract runs the code that was seen first, or that codeHash names.'),
    CodeChanged: no('The contract, or the code behind its proxy, was replaced: nothing is signed.'),
    Unknown: contractNotAsked,
  },
  Deposited: {
    Deposited: yes('The EntryPoint holds a deposit of the contract.'),
    Empty: no('The EntryPoint holds nothing for the contract, so none of its operations can be mined.'),
    Unknown: contractNotAsked,
  },
  Staked: {
    Staked: yes('The contract has a stake in its EntryPoint.'),
    Unstaked: no(
      'The contract has no stake in its EntryPoint: bundlers with the rules of ERC-7562 refuse its operations, or take about ten at a time.',
    ),
    TooLow: no(
      'The stake of the contract is less than bundlers of the chain ask for (`stake` of the Chain), or can be taken out sooner: they may refuse its operations.',
    ),
    Unlocked: no('The stake of the contract is unlocked and no longer counts: as Unstaked.'),
    Unknown: contractNotAsked,
  },
  UsageStoreLost: {
    Kept: no('The usage store holds every promise and every used amount.'),
    Lost: yes(
      'The usage store has lost its data or came back with old ones, so nothing is signed until every promise made before has expired: for twelve minutes, or two more than the longest expiry. Then limits refuse with USAGE_LOST until their window turns or they are updated. A backup does not help: it lacks the latest promises. Find out what emptied or replaced the store.',
    ),
    LossAccepted: yes(
      'An annotation of the Chain accepts this loss: signing begins again as soon as the server that follows the chain has seen it. Promises that were made before the loss may still be mined, and count nowhere.',
    ),
    Unknown: unknown('No server has opened the usage of this chain yet.'),
  },
  MasterKeys: {
    InForce: yes('The master keys of the Secret are in force.'),
    Switching: yes(
      'The Secret of the master keys has changed: every paymaster is made to accept keys of both. The new key is shown when that is done and every pod has had time to load it.',
    ),
    Refused: no(
      'The Secret of the master keys has changed in a way that would end keys that are in use, or cannot be read: nothing of the change is applied. The message says what is missing.',
    ),
    Unknown: unknown('The master keys were not read yet.'),
  },
  TokenSecured: {
    Secured: yes(
      'The contract takes tokens in validation when they are allowed: such payments cannot be lost.',
    ),
    AfterCall: no(
      'The contract takes tokens after the call, which may move them away: payments draw on tokenLossBudget.',
    ),
    NoRefunds: no(
      'The treasury does not allow the contract to refund the excess in every fee token: payments in the tokens left out are taken after the call.',
    ),
    Unknown: contractNotAsked,
  },
  TokenLoss: {
    WithinBudget: no('Losses of the day leave every version more than half of its tokenLossBudget.'),
    BudgetLow: yes(
      'Operations that paid no token cost more than half of tokenLossBudget: payments that are not taken in validation become few for the day.',
    ),
    Unknown: unknown('No server has reported losses of token payments yet.'),
  },
  Following: {
    Following: yes('Mined operations are settled.'),
    Failing: no(
      'The settled block has not moved for five minutes although the chain has: reading the chain fails. Promises stay reserved in full, so limits and deposits fill early.',
    ),
    Waiting: no(
      'The settled block has not moved for five minutes: the node does not show it. Promises stay reserved in full, so limits and deposits fill early.',
    ),
    NoFinality: no(
      'The Chain settles what is final, and the node does not say which block is. Promises stay reserved in full, so limits and deposits fill early.',
    ),
    Unknown: unknown('The reports of the servers were not read yet.'),
  },
  DataFeeUsable: {
    Usable: yes('The chain says what it charges for posted data.'),
    Unreachable: no('The chain does not answer: the last figure counts for 15 minutes.'),
    Unsupported: no(
      'The chain does not charge as dataFee.kind says: nothing is estimated, and no cap follows the fee.',
    ),
    Unknown: unknown('The chain was not asked yet.'),
  },
  PriceUsable: {
    Usable: yes('The source gives a price, and a token on chain is as described.'),
    Stale: no('The price is older than its maximum age.'),
    Deviation: no('Sources are further apart than maxDeviationPercent.'),
    Jump: no('The price has fallen too far below the last one that was accepted, or below its floor.'),
    TooFewSources: no('Fewer sources than needed give a price.'),
    DecimalsMismatch: no('The token on chain has other decimals than spec.decimals.'),
    SymbolMismatch: no('The token on chain has another symbol than spec.symbol.'),
    Unreachable: no('The source, or the chain, does not answer.'),
    Reverted: no('The feed or the token refuses to answer.'),
    Malformed: no('The source answers something other than a price.'),
    OutOfRange: no('The source answers zero, a negative or an implausible price.'),
    SequencerDown: no("The roll-up's sequencer is down, or was less than an hour ago."),
    Incomplete: no('The newest round of the feed has no answer.'),
    Unknown: unknown('The source was not asked yet.'),
  },
  ConnectionSecret: {
    Written: yes('The Secret of writeConnectionSecretToRef is up to date.'),
    NotOurs: no('The Secret exists and belongs to somebody else: name another one.'),
    NotAllowed: no(
      'The operator may not write Secrets in the namespace: an Organisation has to name it, and the platform has to label it paymasters.dev/organisation=true.',
    ),
    WriteFailed: no('The Secret could not be written; it is tried again.'),
  },
  DashboardAccess: {
    Granted: yes('The dashboard may work in the namespace.'),
    NamespaceNotFound: no('The namespace does not exist: create it, and access follows.'),
    NamespaceNotLabelled: no(
      'The namespace lacks the label paymasters.dev/organisation=true, with which the platform lets the operator work in it.',
    ),
    NotOurs: no(
      'The namespace has a RoleBinding "paymaster-dashboard" or "paymaster-connection-secrets" of somebody else: rename or delete it.',
    ),
  },
} as const satisfies Record<string, Readonly<Record<string, ReasonText>>>;

export type ConditionType = keyof typeof conditionReasons;
export type ConditionReason<T extends ConditionType> = Extract<keyof (typeof conditionReasons)[T], string>;

/** Conditions for which `True` is a warning. */
export const warnsWhenTrue: ReadonlySet<string> = new Set<ConditionType>([
  'OpenSponsorship',
  'CapsLimited',
  'FunctionsIgnored',
  'OpenFunding',
  'ClockSkew',
  'TokenLoss',
  'UsageStoreLost',
]);
