import type { ConditionReason } from '../../core/meta/conditions.js';
import type { Address } from '../../core/units/address.js';
import type { ProfileConfig } from '../../core/config/chain-config.js';

/** What was read from a chain, as levels rather than figures: it changes when somebody should know, not each block. */
export type Reachability = ConditionReason<'Reachable'>;
export type ClockLevel = ConditionReason<'ClockSkew'>;
export type FundingLevel = Exclude<ConditionReason<'Funded'>, 'NoFundingWallet'>;
export type SignerLevel = ConditionReason<'SignerAuthorized'>;
export type CodeLevel = ConditionReason<'ContractCode'>;

/** What a deployed paymaster contract answered; `Unknown` until it was asked and whenever the answer depends on another. */
export type ProfileFacts = {
  readonly code: ConditionReason<'CodePresent'>;
  readonly entryPoint: ConditionReason<'EntryPointMatches'>;
  readonly hash: ConditionReason<'HashMatches'>;
  /** Of the key that is best off. */
  readonly signer: SignerLevel;
  /** Of each key file that may sign. */
  readonly signers: Readonly<Record<string, SignerLevel>>;
  /** Whether its token mode takes payments in validation; `Unknown` also where there is no token mode. */
  readonly tokens: ConditionReason<'TokenSecured'>;
};

export const unknownProfile: ProfileFacts = {
  code: 'Unknown',
  entryPoint: 'Unknown',
  hash: 'Unknown',
  signer: 'Unknown',
  signers: {},
  tokens: 'Unknown',
};

/** A deposit: of a funding wallet inside a contract, or without one of the contract itself, which keeps one for all. */
export type FundingQuestion = { readonly profile: ProfileConfig; readonly wallet?: Address };

/** What a paymaster wants to know of its chain. */
export type PaymasterQuestions = {
  readonly chainId: number;
  readonly profile: ProfileConfig | undefined;
  readonly funding: FundingQuestion | undefined;
  readonly contracts: readonly Address[];
};

/** What an ordinary operation of an account takes, its validation included. */
export const ordinaryGas = 300_000n;
/** A deposit for fewer operations is `Low`. */
export const fewOperations = 100n;

/**
 * How long a deposit (wei) lasts at the recent fee (wei per gas); undefined fee: not known yet. A low one is Ok again when it
 * covers twice as many operations, so that a condition does not follow fees that swing.
 */
export function fundingLevel(
  balance: bigint,
  recentFee: bigint | undefined,
  before: FundingLevel | undefined,
): FundingLevel {
  if (balance === 0n) return 'Empty';
  if (recentFee === undefined) return before === 'Low' ? 'Low' : 'Ok';
  const enough = before === 'Low' ? 2n * fewOperations : fewOperations;
  return balance < enough * ordinaryGas * recentFee ? 'Low' : 'Ok';
}

/** The recent fee after one more look at it: one block that is expensive says little. */
export function smoothFee(recent: bigint | undefined, fee: bigint): bigint {
  return recent === undefined ? fee : (7n * recent + fee) / 8n;
}

/**
 * Whether data of the profile may demand payment in validation: those of the singleton layouts only where the platform wants
 * it, because their contracts read the token's storage in validation, which bundlers may refuse.
 */
export function mayDemandAdvance({ layout, tokenPayment }: ProfileConfig): boolean {
  return !layout.startsWith('singleton-') || tokenPayment === 'preFund';
}

/** Every key file that may sign for a profile, in the order of preference. */
export function filesOf({ signerFile, signerFiles }: ProfileConfig): readonly string[] {
  return signerFiles ?? [signerFile];
}

const bestFirst: readonly SignerLevel[] = ['Authorized', 'Unknown', 'NotAuthorized', 'SignerNotFound'];

/** A profile can sign when one of its keys can. */
export function bestSigner(signers: ProfileFacts['signers']): SignerLevel {
  const levels = Object.values(signers);
  return bestFirst.find((level) => levels.includes(level)) ?? 'Unknown';
}

/** Profiles that differ only in their version bind the same contracts, so they are asked about once. */
export function profileKey(profile: ProfileConfig): string {
  const { layout, entryPoint, sponsorship, token, tokenPayment, options } = profile;
  const contracts = [sponsorship, token ?? null, tokenPayment ?? null];
  return `profile:${JSON.stringify([layout, entryPoint, contracts, filesOf(profile), options])}`;
}

export function fundingKey({ profile, wallet }: FundingQuestion): string {
  return `funding:${profile.layout}:${profile.entryPoint}:${profile.sponsorship}:${wallet ?? ''}`;
}

export function codeKey(address: Address): string {
  return `code:${address}`;
}

/** Every fact that a paymaster's conditions depend on. */
export function keysOfQuestions({ profile, funding, contracts }: PaymasterQuestions): readonly string[] {
  return [
    ...(profile === undefined ? [] : [profileKey(profile)]),
    ...(funding === undefined ? [] : [fundingKey(funding)]),
    ...contracts.map(codeKey),
  ];
}
