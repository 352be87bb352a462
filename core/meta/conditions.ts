import { formatInstant } from '../units/time.js';
import type { EpochMs } from '../units/time.js';
import type { Condition, ConditionStatus } from './meta.js';

/**
 * Every condition that a status may show, with each of its reasons. The documentation for users is rendered from this
 * table. `status` is the value that goes with the reason.
 */
export const conditionReasons = {
  Accepted: {
    Accepted: { status: 'True', text: 'The spec is valid and its names are unique.' },
    Invalid: { status: 'False', text: 'A field is wrong; the message names it.' },
    BadChecksum: {
      status: 'False',
      text: 'An address in mixed case is not its EIP-55 checksum; the message names the field.',
    },
    NameConflict: {
      status: 'False',
      text: 'An older or already programmed object uses the name or address.',
    },
    NoOrganisation: { status: 'False', text: 'No Organisation names this namespace.' },
    FundingNotProven: {
      status: 'False',
      text: 'Nothing shows that the funding wallet agreed; nothing is signed until something does.',
    },
    ChainNotAllowed: { status: 'False', text: 'The Organisation may not use this chain.' },
    QuotaExceeded: { status: 'False', text: 'A quota of the Organisation is used up by older objects.' },
    TooMany: {
      status: 'False',
      text: 'Only so many contracts, and policies of a type, of a paymaster count: the oldest. The message says how many.',
    },
  },
  ResolvedRefs: {
    ResolvedRefs: { status: 'True', text: 'Everything that the spec refers to exists.' },
    ChainNotFound: {
      status: 'False',
      text: 'No Chain offers this chainId; the message lists those offered.',
    },
    VersionNotFound: {
      status: 'False',
      text: 'The Chain has no such profile; the message lists those offered.',
    },
    PaymasterNotFound: { status: 'False', text: 'The paymasterRef names no Paymaster of this namespace.' },
    SignerNotFound: { status: 'False', text: 'No key is mounted under the file name of a profile.' },
  },
  Programmed: {
    Programmed: { status: 'True', text: 'What is served contains this object as it stands.' },
    NotAccepted: { status: 'False', text: 'Accepted or ResolvedRefs is False; see its message.' },
    TooLarge: {
      status: 'False',
      text: 'Contracts and methods are over their bound; of them those are served that fitted last and are still wanted.',
    },
    StoreRejected: { status: 'False', text: 'The config store refused the compiled form.' },
    Pending: { status: 'Unknown', text: 'Waits for the Paymaster or Chain that it belongs to.' },
  },
  Ready: {
    Ready: { status: 'True', text: 'In use.' },
    NotAccepted: { status: 'False', text: 'Accepted is False; see its message.' },
    NotResolved: { status: 'False', text: 'ResolvedRefs is False; see its message.' },
    NotProgrammed: { status: 'False', text: 'Programmed is False; see its message.' },
    PolicyInvalid: {
      status: 'False',
      text: 'An active policy has never been valid, so every request is refused.',
    },
    NotFunded: { status: 'False', text: 'There is no funding wallet.' },
    NoCode: { status: 'False', text: 'The contract has no code on the chain; see ContractCode.' },
    NoAccess: {
      status: 'False',
      text: 'The namespace is not there for a minute, or the dashboard may not work in it; see DashboardAccess.',
    },
    SecretNotWritten: {
      status: 'False',
      text: 'The Secret of writeConnectionSecretToRef is not written for a minute; see ConnectionSecret.',
    },
    SignerNotAuthorized: { status: 'False', text: 'The contract does not accept the signer.' },
    ChainNotReady: { status: 'False', text: 'The profile of the chain is not usable; see the Chain.' },
    PriceNotUsable: {
      status: 'False',
      text: 'The token on chain is not as the fee token describes it; see PriceUsable.',
    },
    ClockSkew: { status: 'False', text: 'The chain is too far ahead of our clock; see ClockSkew.' },
    UsageStoreLost: { status: 'False', text: 'The usage store has lost its data; see UsageStoreLost.' },
    Suspended: { status: 'False', text: 'Suspended by spec.suspended of the Paymaster or its Chain.' },
    Paused: { status: 'False', text: 'Its field active is false.' },
    Pending: { status: 'Unknown', text: 'Not checked against the chain yet.' },
  },
  Serving: {
    Serving: { status: 'True', text: 'Data are signed.' },
    NotReady: { status: 'False', text: 'Ready is False; see its message.' },
    DepositEmpty: { status: 'False', text: 'The deposit that pays is empty; see Funded.' },
    LimitFull: {
      status: 'False',
      text: 'A limit that all users share is full: a request was refused by it in the last five minutes.',
    },
    WebhookFailing: {
      status: 'False',
      text: 'A webhook does not answer, and its policy refuses then: a request was refused in the last five minutes.',
    },
    TokensUnpriced: {
      status: 'True',
      text: 'Sponsorships are signed; payments in some tokens are refused, which have had no usable price for a minute.',
    },
    Unknown: { status: 'Unknown', text: 'Not checked against the chain yet.' },
    ContractUnusable: {
      status: 'False',
      text: 'Its chain has said twice that what is signed cannot be mined, so nothing is signed; the message says why.',
    },
  },
  Funded: {
    Ok: { status: 'True', text: 'The deposit covers many operations.' },
    Low: {
      status: 'True',
      text: 'The deposit covers fewer than 100 ordinary operations at the recent fees: top it up soon.',
    },
    Empty: { status: 'False', text: 'The deposit is zero: top it up.' },
    NoFundingWallet: { status: 'False', text: 'Neither spec.funding nor a default of the profile.' },
    Unknown: { status: 'Unknown', text: 'The deposit was not read yet, or the chain does not answer.' },
  },
  SignerAuthorized: {
    Authorized: { status: 'True', text: 'The contract accepts the signer of the profile.' },
    NotAuthorized: {
      status: 'False',
      text: 'The contract accepts another signer: replace the key or the contract.',
    },
    SignerNotFound: { status: 'False', text: 'No key is mounted under the file name of the profile.' },
    Unknown: { status: 'Unknown', text: 'The contract was not asked yet, or the chain does not answer.' },
  },
  OpenSponsorship: {
    NoContracts: {
      status: 'True',
      text: 'No SmartContract is registered and defaultContractAction is Allow: anything is sponsored.',
    },
    Denied: {
      status: 'False',
      text: 'No SmartContract is registered and defaultContractAction is Deny: nothing is sponsored.',
    },
    ContractsRegistered: { status: 'False', text: 'Only calls of registered contracts are sponsored.' },
  },
  OpenFunding: {
    EveryOrganisation: {
      status: 'True',
      text: 'A defaultFunding names "*": every Organisation, also one that is made later, spends from the wallet. List those that may.',
    },
  },
  CapsLimited: {
    WiderThanPlatform: {
      status: 'True',
      text: "A cap of the spec is wider than the platform's, which counts instead; the message has both figures.",
    },
  },
  AddressChecksum: {
    Wrong: {
      status: 'False',
      text: 'An address in mixed case is not its EIP-55 checksum. It was in use before this was checked, and stays in use.',
    },
  },
  ContractCode: {
    CodePresent: { status: 'True', text: 'The address has code on the chain.' },
    NoCode: { status: 'False', text: 'The address has no code: a wrong address, or not deployed yet.' },
    Unknown: { status: 'Unknown', text: 'The chain was not asked yet, or does not answer.' },
  },
  Reachable: {
    Reachable: { status: 'True', text: 'The chain answers and its chain id is right.' },
    Unreachable: { status: 'False', text: 'No RPC URL answers.' },
    WrongChain: { status: 'False', text: 'The RPC URL serves another chain.' },
    Unknown: { status: 'Unknown', text: 'Not asked yet.' },
  },
  ClockSkew: {
    InStep: { status: 'False', text: 'The newest block is not ahead of the clock of this service.' },
    Ahead: {
      status: 'True',
      text: 'The newest block is more than 30 seconds ahead of the clock of this service: check both clocks.',
    },
    FarAhead: {
      status: 'True',
      text: 'The newest block is more than 2 minutes ahead of the clock of this service: nothing is signed.',
    },
    Unknown: { status: 'Unknown', text: 'No block was read yet.' },
  },
  CodePresent: {
    CodePresent: { status: 'True', text: 'EntryPoint and paymaster contract have code.' },
    NoCode: { status: 'False', text: 'The EntryPoint or the paymaster contract has no code.' },
    Unknown: { status: 'Unknown', text: 'The chain was not asked yet, or does not answer.' },
  },
  EntryPointMatches: {
    EntryPointMatches: { status: 'True', text: 'The contract names the EntryPoint of the profile.' },
    OtherEntryPoint: { status: 'False', text: 'The contract was deployed for another EntryPoint.' },
    Unknown: { status: 'Unknown', text: 'The contract was not asked yet, or does not answer.' },
  },
  HashMatches: {
    HashMatches: { status: 'True', text: 'The contract hashes an operation as this service does.' },
    OtherHash: { status: 'False', text: 'The contract hashes differently: the layout is wrong for it.' },
    Unknown: { status: 'Unknown', text: 'The contract was not asked yet, or does not answer.' },
  },
  UsageStoreLost: {
    Kept: { status: 'False', text: 'The usage store holds what was promised and used.' },
    Lost: {
      status: 'True',
      text: 'The usage store has lost its data or came back with old ones, so nothing is signed until every promise made before has expired. Then limits refuse with USAGE_LOST until their window turns or they are updated. A backup does not help: it lacks the latest promises. Find out what emptied or replaced the store.',
    },
    LossAccepted: {
      status: 'True',
      text: 'An annotation of the Chain accepts this loss: signing begins again as soon as the server that follows the chain has seen it. Promises that were made before the loss may still be mined, and count nowhere.',
    },
    Unknown: { status: 'Unknown', text: 'No server has opened the usage of this chain yet.' },
  },
  MasterKeys: {
    InForce: { status: 'True', text: 'The master keys of the Secret are in force.' },
    Switching: {
      status: 'True',
      text: 'The Secret of the master keys has changed: every paymaster is made to accept keys of both. The new key is shown when that is done and every pod has had time to load it.',
    },
    Refused: {
      status: 'False',
      text: 'The Secret of the master keys has changed in a way that would end keys that are in use, or cannot be read: nothing of the change is applied. The message says what is missing.',
    },
    Unknown: { status: 'Unknown', text: 'The master keys were not read yet.' },
  },
  TokenSecured: {
    Secured: {
      status: 'True',
      text: 'The contract takes tokens in validation when they are allowed: such payments cannot be lost.',
    },
    AfterCall: {
      status: 'False',
      text: 'The contract takes tokens after the call, which may move them away: payments draw on tokenLossBudget.',
    },
    NoRefunds: {
      status: 'False',
      text: 'The treasury does not allow the contract to give back what it took too much of every fee token: payments in the others are taken after the call.',
    },
    Unknown: { status: 'Unknown', text: 'The contract was not asked yet, or the chain does not answer.' },
  },
  TokenLoss: {
    WithinBudget: {
      status: 'False',
      text: 'Losses of the day leave every version more than half of its tokenLossBudget.',
    },
    BudgetLow: {
      status: 'True',
      text: 'Operations that paid no token cost more than half of tokenLossBudget: payments that are not taken in validation become few for the day.',
    },
    Unknown: { status: 'Unknown', text: 'No server has reported yet what token payments have lost.' },
  },
  PriceUsable: {
    Usable: { status: 'True', text: 'The source gives a price, and the token on chain is as described.' },
    Stale: { status: 'False', text: 'The price is older than its maximum age.' },
    Deviation: { status: 'False', text: 'Sources are further apart than maxDeviationPercent.' },
    TooFewSources: { status: 'False', text: 'Fewer sources than needed give a price.' },
    DecimalsMismatch: { status: 'False', text: 'The token on chain has other decimals than spec.decimals.' },
    SymbolMismatch: { status: 'False', text: 'The token on chain has another symbol than spec.symbol.' },
    Unreachable: { status: 'False', text: 'The source, or the chain, does not answer.' },
    Reverted: { status: 'False', text: 'The feed or the token refuses to answer.' },
    Malformed: { status: 'False', text: 'The source answers something else than a price.' },
    OutOfRange: { status: 'False', text: 'The source answers zero, a negative or an implausible price.' },
    Incomplete: { status: 'False', text: 'The newest round of the feed has no answer of its own.' },
    Unknown: { status: 'Unknown', text: 'The source was not asked yet.' },
  },
  ConnectionSecret: {
    Written: { status: 'True', text: 'The Secret of writeConnectionSecretToRef is up to date.' },
    NotOurs: { status: 'False', text: 'The Secret exists and belongs to somebody else: name another one.' },
    WriteFailed: { status: 'False', text: 'The Secret could not be written; it is tried again.' },
  },
  DashboardAccess: {
    Granted: { status: 'True', text: 'The dashboard may work in the namespace.' },
    NamespaceNotFound: {
      status: 'False',
      text: 'The namespace does not exist: create it, and access follows.',
    },
    NotOurs: {
      status: 'False',
      text: 'The namespace has a RoleBinding "paymaster-dashboard" or "paymaster-connection-secrets" of somebody else: rename or delete it.',
    },
  },
} as const satisfies Record<string, Readonly<Record<string, ReasonText>>>;

export type ReasonText = { readonly status: ConditionStatus; readonly text: string };
export type ConditionType = keyof typeof conditionReasons;
export type ConditionReason<T extends ConditionType> = Extract<keyof (typeof conditionReasons)[T], string>;

/** A condition before it is merged into the stored status: without generation and time. */
export type Finding = {
  readonly type: ConditionType;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
};

/**
 * Longest message of a condition, in characters. When a message lists many things, readers need only the first ones.
 */
export const maxMessageLength = 32_768;

/**
 * A finding with a documented reason; its status follows from the reason. `message` says exactly what is wrong and
 * what to do, without times and changing figures; it defaults to the documented text. A message that is too long for
 * a condition is cut, because a store that refuses the whole status would show nothing.
 */
export function finding<T extends ConditionType>(
  type: T,
  reason: ConditionReason<T>,
  message?: string,
): Finding {
  const reasons: Readonly<Record<string, ReasonText>> = conditionReasons[type];
  const documented = reasons[reason];
  if (documented === undefined) throw new RangeError(`condition ${type} has no reason ${reason}`);
  return { type, status: documented.status, reason, message: shortened(message ?? documented.text) };
}

function shortened(message: string): string {
  if (message.length <= maxMessageLength) return message;
  // The cut may split a surrogate pair.
  return `${message.slice(0, maxMessageLength - 1).toWellFormed()}…`;
}

/**
 * The conditions with one of them set. `lastTransitionTime` moves only when `status` does. If nothing changes, it
 * returns the very same array, so that callers can compare by identity whether to write.
 */
export function setCondition(
  conditions: readonly Condition[],
  next: Finding,
  observedGeneration: number,
  now: EpochMs,
): readonly Condition[] {
  const present = conditions.find((condition) => condition.type === next.type);
  if (present === undefined)
    return [...conditions, { ...next, observedGeneration, lastTransitionTime: formatInstant(now) }];
  if (isSame(present, next, observedGeneration)) return conditions;
  const lastTransitionTime = present.status === next.status ? present.lastTransitionTime : formatInstant(now);
  const changed: Condition = { ...next, observedGeneration, lastTransitionTime };
  return conditions.map((condition) => (condition === present ? changed : condition));
}

/** Exactly the given findings as conditions, in their order; conditions of other types disappear. */
export function setConditions(
  conditions: readonly Condition[],
  findings: readonly Finding[],
  observedGeneration: number,
  now: EpochMs,
): readonly Condition[] {
  const types = new Set<string>(findings.map((next) => next.type));
  const kept = conditions.filter((condition) => types.has(condition.type));
  const start = kept.length === conditions.length ? conditions : kept;
  return findings.reduce((list, next) => setCondition(list, next, observedGeneration, now), start);
}

export function findCondition(
  conditions: readonly Condition[] | undefined,
  type: ConditionType,
): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** True when the condition holds for the present spec: a `True` for an older generation does not count. */
export function isConditionTrue(
  resource: { readonly metadata: { readonly generation: number }; readonly status?: StatusWithConditions },
  type: ConditionType,
): boolean {
  const condition = findCondition(resource.status?.conditions, type);
  return condition?.status === 'True' && condition.observedGeneration === resource.metadata.generation;
}

type StatusWithConditions = { readonly conditions?: readonly Condition[] };

function isSame(present: Condition, next: Finding, observedGeneration: number): boolean {
  return (
    present.status === next.status &&
    present.reason === next.reason &&
    present.message === next.message &&
    present.observedGeneration === observedGeneration
  );
}
