import type { ConditionReason } from '../../core/meta/condition-reasons.js';
import type { Address } from '../../core/units/address.js';
import { given } from '../../core/units/given.js';
import type { Hex } from '../../core/units/hex.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';
import { coversOrdinary, ordinaryGas } from '../../core/policy/ordinary-operation.js';
import type { FundsTrouble } from '../../core/reports/serving-reports.js';

/** Facts from a chain as levels rather than figures: a level changes when somebody should know, not with each block. */
export type Reachability = ConditionReason<'Reachable'>;
export type ClockLevel = ConditionReason<'ClockSkew'>;
/** What an account holds on chain. What is promised of it is reported by the servers: see `fundsReports`. */
export type FundingLevel = Exclude<ConditionReason<'Funded'>, 'NoFundingWallet' | FundsTrouble>;
export type SignerLevel = ConditionReason<'SignerAuthorized'>;
export type CodeLevel = ConditionReason<'ContractCode'>;

/**
 * Answers of a deployed paymaster contract; `Unknown` until it was asked and whenever the answer depends on another
 * one.
 */
export type ProfileFacts = {
  readonly code: ConditionReason<'CodePresent'>;
  readonly entryPoint: ConditionReason<'EntryPointMatches'>;
  readonly hash: ConditionReason<'HashMatches'>;
  /** The level of the best key. */
  readonly signer: SignerLevel;
  /** The level of each key file that may sign. */
  readonly signers: Readonly<Record<string, SignerLevel>>;
  /** Whether its token mode takes payments in validation; also `Unknown` without a token mode. */
  readonly tokens: ConditionReason<'TokenSecured'>;
  /** Whether its token mode accepts data that nobody signed; also `Unknown` where no contract of the layout does. */
  readonly unsigned: UnsignedLevel;
  /** What its EntryPoint holds for it. */
  readonly deposit: ConditionReason<'Deposited'>;
  readonly stake: ConditionReason<'Staked'>;
  /** keccak-256 of the code of its contracts and, behind proxies, of the code that these run; absent until it was read. */
  readonly codeHash?: Hex;
};

export type UnsignedLevel = 'Accepted' | 'Refused' | 'Unknown';

export const unknownProfile: ProfileFacts = {
  code: 'Unknown',
  entryPoint: 'Unknown',
  hash: 'Unknown',
  signer: 'Unknown',
  signers: {},
  tokens: 'Unknown',
  unsigned: 'Unknown',
  deposit: 'Unknown',
  stake: 'Unknown',
};

/** Whether nothing of the profile is wrong or unknown, apart from payments in tokens. */
export function isGoodProfile({ code, entryPoint, hash, signer }: ProfileFacts): boolean {
  return (
    code === 'CodePresent' &&
    entryPoint === 'EntryPointMatches' &&
    hash === 'HashMatches' &&
    signer === 'Authorized'
  );
}

/** A deposit: of a funding wallet inside a contract, or of the contract itself, if it has one deposit for all. */
export type FundingQuestion = { readonly profile: ProfileConfig; readonly wallet?: Address };

/** What a paymaster asks about its chain. */
export type PaymasterQuestions = {
  readonly chainId: number;
  readonly profile: ProfileConfig | undefined;
  /** Every account that an operation draws on. */
  readonly fundings: readonly FundingQuestion[];
  readonly contracts: readonly Address[];
};

/** A deposit that covers fewer operations is `Low`. */
export const fewOperations = 100n;

/**
 * How long a deposit (wei) lasts at the recent fee (wei per gas); undefined fee: not known yet. A level ends only at twice the balance
 * at which it begins, so that the condition does not follow a swinging fee.
 */
export function fundingLevel(
  balance: bigint,
  recentFee: bigint | undefined,
  before: FundingLevel | undefined,
): FundingLevel {
  if (balance === 0n) return 'Empty';
  if (recentFee === undefined) return before === undefined || before === 'Unknown' ? 'Ok' : before;
  if (!coversOrdinary(balance, recentFee, before === 'Empty')) return 'Empty';
  const isFew = before === 'Low' || before === 'Empty';
  return balance < (isFew ? 2n : 1n) * fewOperations * ordinaryGas * recentFee ? 'Low' : 'Ok';
}

/** The recent fee with one more reading: a single expensive block says little. */
export function smoothFee(recent: bigint | undefined, fee: bigint): bigint {
  return recent === undefined ? fee : (7n * recent + fee) / 8n;
}

/**
 * Whether data of the profile may demand payment in validation. For the singleton layouts only if the platform asks for
 * it, because their contracts read the token's storage in validation, which bundlers may refuse.
 */
export function mayDemandAdvance({ layout, tokenPayment }: ProfileConfig): boolean {
  return !layout.startsWith('singleton-') || tokenPayment === 'preFund';
}

/** Every key file that may sign for a profile, in the order of preference. */
export function profileSignerFiles({ signerFile, signerFiles }: ProfileConfig): readonly string[] {
  return signerFiles ?? [signerFile];
}

const bestFirst: readonly SignerLevel[] = ['Authorized', 'Unknown', 'NotAuthorized', 'SignerNotFound'];

/** A profile can sign when one of its keys can. */
export function bestSigner(signers: ProfileFacts['signers']): SignerLevel {
  const levels = Object.values(signers);
  return bestFirst.find((level) => levels.includes(level)) ?? 'Unknown';
}

/** Facts with newer answers; questions without an answer keep the known one. */
export function mergeProfile(known: ProfileFacts | undefined, next: ProfileFacts): ProfileFacts {
  // Without code nothing else can be known, whatever was known before.
  if (known === undefined || next.code === 'NoCode') return next;
  const signers = Object.fromEntries(
    Object.entries(next.signers).map(([file, level]) => [
      file,
      level === 'Unknown' ? (known.signers[file] ?? level) : level,
    ]),
  );
  return {
    code: next.code === 'Unknown' ? known.code : next.code,
    entryPoint: next.entryPoint === 'Unknown' ? known.entryPoint : next.entryPoint,
    hash: next.hash === 'Unknown' ? known.hash : next.hash,
    signer: bestSigner(signers),
    signers,
    tokens: next.tokens === 'Unknown' ? known.tokens : next.tokens,
    unsigned: next.unsigned === 'Unknown' ? known.unsigned : next.unsigned,
    deposit: next.deposit === 'Unknown' ? known.deposit : next.deposit,
    stake: next.stake === 'Unknown' ? known.stake : next.stake,
    ...given({ codeHash: next.codeHash ?? known.codeHash }),
  };
}

/** Profiles that differ only in their version use the same contracts, so they are asked about once. */
export function profileKey(profile: ProfileConfig): string {
  const { layout, entryPoint, sponsorship, token, tokenPayment, options } = profile;
  const contracts = [sponsorship, token ?? null, tokenPayment ?? null];
  return `profile:${JSON.stringify([layout, entryPoint, contracts, profileSignerFiles(profile), options])}`;
}

export function fundingKey({ profile, wallet }: FundingQuestion): string {
  return `funding:${profile.layout}:${profile.entryPoint}:${profile.sponsorship}:${wallet ?? ''}`;
}

export function codeKey(address: Address): string {
  return `code:${address}`;
}

/** Every fact that a paymaster's conditions depend on. */
export function keysOfQuestions({ profile, fundings, contracts }: PaymasterQuestions): readonly string[] {
  return [
    ...(profile === undefined ? [] : [profileKey(profile)]),
    ...fundings.map(fundingKey),
    ...contracts.map(codeKey),
  ];
}
