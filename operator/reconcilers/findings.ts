import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import { unreachable } from '../../core/errors.js';
import { conditionReasons, type ConditionReason } from '../../core/meta/condition-reasons.js';
import { finding, type Finding } from '../../core/meta/conditions.js';
import { acceptedLossAnnotation, type Condition } from '../../core/meta/meta.js';
import type { Signers } from '../../core/paymaster/signer.js';
import { chainSubject, followingTroubles } from '../../core/reports/serving-reports.js';
import { defaultTokenLossBudget } from '../../core/policy/token-loss.js';
import type { PriceAnswer, PriceFault, PriceRefusal } from '../../core/pricing/price-source.js';
import type { Chain } from '../../core/resources/chain.js';
import type { Address } from '../../core/units/address.js';
import { formatInstant } from '../../core/units/time.js';
import type { DataFeeLevel } from '../facts/data-fee-facts.js';
import { type CodeLevel, profileSignerFiles, type ProfileFacts, type Reachability } from '../facts/facts.js';
import type { ServingFacts, UsageFact } from '../facts/reported-facts.js';

/** What chains answered, in sentences for people: which address, which file, and what to do. */

/** `urlPlace`: the source of the mounted URL files, e.g. `Secret paymaster-system/paymaster-chain-urls`. */
export function reachabilityFinding(
  reachability: Reachability,
  { chainId, rpc }: Pick<ChainConfig, 'chainId' | 'rpc'>,
  urlPlace: string | undefined,
): Finding {
  const file = urlPlace === undefined ? `file "${rpc.file}"` : `key "${rpc.file}" of ${urlPlace}`;
  const noAnswer =
    rpc.file === undefined
      ? 'No URL of spec.rpc answers: check the URLs, the network and the node.'
      : `No URL of ${file} answers, which spec.rpc.file names: check that it exists, its URLs, the network and the node.`;
  const messages: Partial<Record<Reachability, string>> = {
    Unreachable: noAnswer,
    WrongChain: `A URL of spec.rpc serves another chain than ${chainId}: correct spec.rpc.`,
  };
  return finding('Reachable', reachability, messages[reachability]);
}

type SignerFiles = Pick<Signers, 'get' | 'place' | 'problem'>;

/** Which keys are missing and where they belong: on Kubernetes, the name of the Secret. */
export function missingKeys(
  { place = 'The signer directory' }: SignerFiles,
  files: readonly string[],
): string {
  return `${place} has no usable key ${files.map((file) => `"${file}"`).join(', ')}: add it (0x and 64 hex digits, or a signer of another kind).`;
}

/** What is wrong with the files of signers; undefined when nothing is. A good signer of before goes on. */
export function badKeys({ problem }: SignerFiles, files: readonly string[]): string | undefined {
  const problems = files.flatMap((file) => problem?.(file) ?? []);
  return problems.length === 0 ? undefined : `${problems.join('; ')}.`;
}

/** Signers that are described here and cannot sign from here; undefined when all can. */
export function troubledKeys(signers: SignerFiles, files: readonly string[]): string | undefined {
  const troubles = files.flatMap((file) => {
    const trouble = signers.get(file)?.trouble?.();
    return trouble === undefined ? [] : [`"${file}": ${trouble}`];
  });
  return troubles.length === 0 ? undefined : `The operator cannot sign with ${troubles.join('; ')}.`;
}

/** Conditions of a profile of a chain. Those about the contract come first, because the signer's depends on them. */
export function profileFindings(
  facts: ProfileFacts,
  of: ProfilePlace,
  signers: SignerFiles,
): readonly Finding[] {
  return [...contractFindings(facts, of.profile), signerFinding(facts, of, signers)];
}

/** A profile, and the chain that it is on. */
type ProfilePlace = Pick<ChainConfig, 'chainId' | 'stake'> & { readonly profile: ProfileConfig };

/** What to type. Only the owner of a contract knows who that is. */
function formatCommand(verb: string, { chainId, profile }: ProfilePlace, signers: SignerFiles): string {
  const { layout, sponsorship } = profile;
  const signer =
    profileSignerFiles(profile).flatMap((file) => signers.get(file)?.address ?? [])[0] ?? 'SIGNER';
  return `paymaster contract ${verb} --chain ${chainId} --layout ${layout} --address ${sponsorship} --signer ${signer} --owner OWNER`;
}

export function contractFindings(facts: ProfileFacts, profile: ProfileConfig): readonly Finding[] {
  const { sponsorship, entryPoint, layout } = profile;
  const noCode = `EntryPoint ${entryPoint} or contract ${sponsorship} has no code on this chain: deploy it, or correct the profile.`;
  const other = `Contract ${sponsorship} does not name EntryPoint ${entryPoint}: correct entryPoint or addresses of the profile.`;
  const { openZeppelin } = profile.options;
  const otherHash =
    openZeppelin === undefined
      ? `Contract ${sponsorship} hashes an operation differently: layout ${layout} or its options are wrong for it.`
      : `eip712Domain() of contract ${sponsorship} does not answer name "${openZeppelin.domainName}" and version "${openZeppelin.domainVersion}", with this chain and contract: correct options.openZeppelin of the profile.`;
  const hash: Partial<Record<ProfileFacts['hash'], string>> = {
    OtherHash: otherHash,
    OtherInitCodeHash: `Contract ${sponsorship} refuses signatures for EIP-7702 accounts that are made with initCodeHash "${openZeppelin?.initCodeHash}": set options.openZeppelin.initCodeHash of the profile to the other value.`,
    TailNotRead: `Contract ${sponsorship} does not take its signature from the tail of paymasterAndData: set options.openZeppelin.readsPaymasterSignature of the profile to false.`,
  };
  return [
    finding('CodePresent', facts.code, facts.code === 'NoCode' ? noCode : undefined),
    finding(
      'EntryPointMatches',
      facts.entryPoint,
      facts.entryPoint === 'OtherEntryPoint' ? other : undefined,
    ),
    finding('HashMatches', facts.hash, hash[facts.hash]),
    ...codeUnchanged(facts, profile),
  ];
}

function codeUnchanged({ codeHash }: ProfileFacts, profile: ProfileConfig): readonly Finding[] {
  // What was seen first is in the config of the Chain, and not everybody has it.
  if (profile.codeHash === undefined) return [];
  if (codeHash === undefined) return [finding('CodeUnchanged', 'Unknown')];
  if (codeHash === profile.codeHash) return [finding('CodeUnchanged', 'CodeUnchanged')];
  const message = `The code of contract ${profile.sponsorship} was ${profile.codeHash} and is ${codeHash}: find out who replaced it; to sign for it, set codeHash of the profile to the new one.`;
  return [finding('CodeUnchanged', 'CodeChanged', message)];
}

function stakeOptions({ stake }: ProfilePlace): string {
  const { amount = 'AMOUNT', unstakeDelaySeconds } = stake ?? {};
  return `--up-to ${amount}${unstakeDelaySeconds === undefined ? '' : ` --unstake-delay ${unstakeDelaySeconds}`}`;
}

/** What the EntryPoint holds for the contract. Signing does not depend on it: an operation without a deposit is not mined. */
export function holdingFindings(
  { deposit, stake }: ProfileFacts,
  of: ProfilePlace,
  signers: SignerFiles,
): readonly Finding[] {
  const { sponsorship, token = sponsorship, entryPoint } = of.profile;
  const contracts = token === sponsorship ? sponsorship : `${sponsorship} or ${token}`;
  const empty = `EntryPoint ${entryPoint} holds no deposit of contract ${contracts}: top it up: ${formatCommand('deposit', of, signers)} --up-to AMOUNT`;
  const why: Partial<Record<ProfileFacts['stake'], string>> = {
    Unstaked: 'has no stake',
    Unlocked: 'has unlocked its stake, which no longer counts,',
    TooLow: 'has a lower stake than stake of the Chain, or has it locked for a shorter time,',
  };
  const unstaked = `Contract ${contracts} ${why[stake]} in EntryPoint ${entryPoint}: bundlers refuse its operations, or take few. Stake it: ${formatCommand('stake', of, signers)} ${stakeOptions(of)}`;
  return [
    finding('Deposited', deposit, deposit === 'Empty' ? empty : undefined),
    finding('Staked', stake, why[stake] === undefined ? undefined : unstaked),
  ];
}

export function signerFinding(facts: ProfileFacts, of: ProfilePlace, signers: SignerFiles): Finding {
  const { profile } = of;
  const files = profileSignerFiles(profile);
  const mounted = files.flatMap((file) => {
    const signer = signers.get(file);
    return signer === undefined ? [] : [`${signer.address} of file "${file}"`];
  });
  // Known without the chain, and the first thing to fix.
  if (mounted.length === 0) return finding('SignerAuthorized', 'SignerNotFound', missingKeys(signers, files));
  // The key has been mounted since the chain was asked.
  if (facts.signer === 'SignerNotFound') return finding('SignerAuthorized', 'Unknown');
  const message = `Contract ${profile.sponsorship} does not accept signer ${mounted.join(' or ')}. Mount the right key, or authorise this one as the owner of the contract: ${formatCommand('authorise', of, signers)}`;
  return finding('SignerAuthorized', facts.signer, facts.signer === 'NotAuthorized' ? message : undefined);
}

export function noFundingWallet({ version }: ProfileConfig): Finding {
  const message = `Give spec.funding, or ask the platform for a default funding wallet of version ${version}.`;
  return finding('Funded', 'NoFundingWallet', message);
}

export function codeFinding(level: CodeLevel, address: Address): Finding {
  const message = `${address} has no code on this chain: check the address, or deploy the contract.`;
  return finding('ContractCode', level, level === 'NoCode' ? message : undefined);
}

/** Says how to end the wait early, and whether the Chain's annotation does so. */
export function usageFinding(fact: UsageFact | undefined, { metadata }: Chain): Finding {
  if (fact === undefined) return finding('UsageStoreLost', 'Unknown');
  if (fact.lossId === undefined) return finding('UsageStoreLost', fact.level);
  const accepted = metadata.annotations?.[acceptedLossAnnotation];
  if (accepted === fact.lossId) return finding('UsageStoreLost', 'LossAccepted');
  const other = accepted === undefined ? '' : ` The annotation that is there names another loss.`;
  const end = fact.endsAt === undefined ? '' : ` Nothing is signed before ${formatInstant(fact.endsAt)}.`;
  const howTo = `To end the wait early, at the risk that docs/runbooks.md#paymasterusagestorelost states: kubectl annotate --overwrite chain ${metadata.name} ${acceptedLossAnnotation}=${fact.lossId} (without Kubernetes: the same annotation in its manifest)`;
  return finding(
    'UsageStoreLost',
    'Lost',
    `${conditionReasons.UsageStoreLost.Lost.text}${end} ${howTo}${other && `.${other}`}`,
  );
}

/** Empty where nothing is read: the condition would say nothing. */
export function dataFeeFindings(level: DataFeeLevel): readonly Finding[] {
  switch (level) {
    case 'none':
      return [];
    case 'unknown':
      return [finding('DataFeeUsable', 'Unknown')];
    case 'usable':
      return [finding('DataFeeUsable', 'Usable')];
    default: {
      const { outcome, oracle, detail } = level;
      const reason = outcome === 'unsupported' ? 'Unsupported' : 'Unreachable';
      return [finding('DataFeeUsable', reason, `${oracle} ${detail}.`)];
    }
  }
}

/** Servers report only chains whose settled block does not move. Empty where nothing is reported. */
export function followingFindings(
  serving: Pick<ServingFacts, 'of' | 'isKnown'> | undefined,
  chainId: number,
): readonly Finding[] {
  if (serving === undefined) return [];
  if (!serving.isKnown()) return [finding('Following', 'Unknown')];
  const trouble = serving.of(chainSubject(chainId));
  const following = followingTroubles.find((each) => each === trouble);
  return [finding('Following', following ?? 'Following')];
}

/** `profiles`: the profiles with a token mode. */
export function tokenLossFinding(
  stopped: ReadonlySet<string> | undefined,
  profiles: readonly ProfileConfig[],
): Finding {
  if (stopped === undefined) return finding('TokenLoss', 'Unknown');
  const affected = profiles.filter(({ version }) => stopped.has(version));
  if (affected.length === 0) return finding('TokenLoss', 'WithinBudget');
  const named = affected.map(
    ({ version, token, tokenLossBudget = defaultTokenLossBudget }) =>
      `${version} (contract ${token}, budget ${tokenLossBudget})`,
  );
  return finding(
    'TokenLoss',
    'BudgetLow',
    `Payments that are not taken in validation are few until the day (UTC) ends for ${named.join(', ')}: operations that were mined and paid no token cost more than half of the budget. Find out why they did not pay, then raise tokenLossBudget of the profile to go on today.`,
  );
}

/**
 * A finding about the chain. If the chain has not been asked yet: the finding of the former condition. Facts are kept
 * only in memory; without this, a restart would turn every condition into Unknown and back, and every `Ready` with it.
 * Only if the condition was found for the same spec.
 */
export function recall(
  finding: Finding,
  conditions: readonly Condition[] | undefined,
  generation: number,
): Finding {
  if (finding.status !== 'Unknown') return finding;
  const known = conditions?.find(({ type }) => type === finding.type);
  if (known === undefined || known.observedGeneration !== generation) return finding;
  return { type: finding.type, status: known.status, reason: known.reason, message: known.message };
}

const reasons = {
  STALE: 'Stale',
  DEVIATION: 'Deviation',
  JUMP: 'Jump',
  TOO_FEW: 'TooFewSources',
  DECIMALS_MISMATCH: 'DecimalsMismatch',
  SYMBOL_MISMATCH: 'SymbolMismatch',
  UNREACHABLE: 'Unreachable',
  REVERTED: 'Reverted',
  MALFORMED: 'Malformed',
  OUT_OF_RANGE: 'OutOfRange',
  INCOMPLETE: 'Incomplete',
  SEQUENCER_DOWN: 'SequencerDown',
} as const satisfies Record<PriceFault, ConditionReason<'PriceUsable'>>;

/**
 * Whether a price of a fee token or a native coin can be used. The message names sources and limits; rates and ages, which move all the
 * time, are metrics.
 */
export function priceFinding(answer: PriceAnswer | undefined): Finding {
  if (answer === undefined) return finding('PriceUsable', 'Unknown');
  if (answer.ok) return finding('PriceUsable', 'Usable');
  return finding('PriceUsable', reasons[answer.refusal.reason], `${capitalised(sentence(answer.refusal))}.`);
}

/** What is wrong and what to do, without figures that change by themselves. */
function sentence(refusal: PriceRefusal): string {
  const { source } = refusal;
  switch (refusal.reason) {
    case 'STALE':
      return `${source} is older than ${refusal.maxAgeSeconds} s: check the source, or raise its maximum age`;
    case 'DEVIATION':
      return `${refusal.lowest.source} and ${refusal.highest.source} are more than ${refusal.maxDeviationPercent} % apart: find out which one is wrong`;
    case 'JUMP':
      return `${source} has fallen too far below the last price that was accepted: find out which is wrong; where the fall is real, set acceptedAt beside the source to the present time`;
    case 'TOO_FEW':
      return `${refusal.needed} sources are needed, and these give no price: ${refusal.faults.map(sentence).join('; ')}`;
    case 'DECIMALS_MISMATCH':
      return `${source} has ${refusal.found} decimals: correct spec.decimals, which says ${refusal.declared}`;
    case 'SYMBOL_MISMATCH':
      return `${source} calls itself "${refusal.found}": correct spec.symbol, which says "${refusal.declared}"`;
    case 'OUT_OF_RANGE':
      return `${source} answers what is not a plausible price: check what it quotes`;
    case 'INCOMPLETE':
      return `${source} has no answer in its newest round: wait, or name another feed`;
    case 'SEQUENCER_DOWN':
    case 'UNREACHABLE':
    case 'REVERTED':
    case 'MALFORMED':
      return `${source} ${refusal.detail}`;
    default:
      return unreachable(refusal);
  }
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
