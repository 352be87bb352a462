import type { ChainConfig, ProfileConfig, UnusableReason } from '../../core/config/chain-config.js';
import type { CompiledChain } from '../../core/config/compile-chain.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import { profileSignerFiles, profileKey } from '../facts/facts.js';

type Facts = Pick<ChainFacts, 'profile' | 'usability'>;

/**
 * The part of a chain's config that is not in its spec but was last seen on the chain. Every replica must decide alike,
 * so it is written into the ChainConfig, one object however many paymasters there are. Until a contract has been asked,
 * the values stored for the very same contract stay.
 */
export function withSeen(
  facts: Facts,
  compiled: CompiledChain,
  previous: ChainConfig | undefined,
): CompiledChain {
  const { config } = compiled;
  const profiles = config.profiles.map((profile) => {
    const before = previous?.profiles.find(({ version }) => version === profile.version);
    const seen = { facts, chainId: config.chainId, profile, before };
    return {
      ...profile,
      ...seenSecured(seen),
      ...seenUnsigned(seen),
      ...seenSigners(seen),
      ...seenCode(seen),
    };
  });
  return { ...compiled, config: { ...config, profiles } };
}

/** A profile as its Chain says it, and as it was stored before. */
type Seen = {
  readonly facts: Facts;
  readonly chainId: number;
  readonly profile: ProfileConfig;
  readonly before: ProfileConfig | undefined;
};

/** Whether the contract takes tokens in validation. */
function seenSecured({ facts, chainId, profile, before }: Seen): Pick<ProfileConfig, 'tokenSecured'> {
  if (profile.token === undefined) return {};
  const { tokens } = facts.profile(chainId, profile);
  const isSecured =
    tokens === 'Unknown' ? isSame(profile, before) && before?.tokenSecured === true : tokens !== 'AfterCall';
  return isSecured ? { tokenSecured: true } : {};
}

/** Whether the contract accepts data that nobody signed. */
function seenUnsigned({ facts, chainId, profile, before }: Seen): Pick<ProfileConfig, 'acceptsUnsigned'> {
  const { unsigned } = facts.profile(chainId, profile);
  const known = isSame(profile, before) ? before?.acceptsUnsigned : undefined;
  const acceptsUnsigned = unsigned === 'Unknown' ? known : unsigned === 'Accepted';
  return acceptsUnsigned === undefined ? {} : { acceptsUnsigned };
}

/**
 * The keys that the contract accepts, the preferred one first. While it accepts none, or has not been asked, the former
 * keys: a key that was put in front must not sign before the contract accepts it.
 */
function seenSigners({
  facts,
  chainId,
  profile,
  before,
}: Seen): Pick<ProfileConfig, 'signerFile' | 'acceptedSigners'> {
  const files = profileSignerFiles(profile);
  const { signers } = facts.profile(chainId, profile);
  const accepted = files.filter((file) => signers[file] === 'Authorized');
  const stored = before === undefined ? [] : (before.acceptedSigners ?? [before.signerFile]);
  const chosen =
    accepted.length > 0 || !isSameContract(profile, before)
      ? accepted
      : stored.filter((file) => files.includes(file));
  const [signerFile = profile.signerFile] = chosen;
  return chosen.length > 1 ? { signerFile, acceptedSigners: chosen } : { signerFile };
}

/** The code that may be signed for, and whether anything may be: a contract whose code was replaced gets no signature. */
function seenCode(seen: Seen): Pick<ProfileConfig, 'codeHash' | 'unusable'> {
  const { facts, chainId, profile, before } = seen;
  const found = facts.profile(chainId, profile).codeHash;
  const stored = isSameContract(profile, before) ? before?.codeHash : undefined;
  const codeHash = profile.codeHash ?? stored ?? found;
  if (codeHash === undefined) return seenUnusable(seen);
  if (found === undefined || found === codeHash) return { codeHash, ...seenUnusable(seen) };
  return { codeHash, ...unusable('CODE_CHANGED', chainId, profile) };
}

function seenUnusable({ facts, chainId, profile, before }: Seen): Pick<ProfileConfig, 'unusable'> {
  const usability = facts.usability(chainId, profile);
  if (usability === 'usable') return {};
  if (usability !== undefined) return unusable(usability, chainId, profile);
  return isSame(profile, before) && before?.unusable !== undefined ? { unusable: before.unusable } : {};
}

function isSame(profile: ProfileConfig, before: ProfileConfig | undefined): boolean {
  return before !== undefined && profileKey(before) === profileKey(profile);
}

function isSameContract({ sponsorship, token }: ProfileConfig, before: ProfileConfig | undefined): boolean {
  return before?.sponsorship === sponsorship && before.token === token;
}

/** The message is for callers and people alike: it names no file. */
function unusable(
  reason: UnusableReason,
  chainId: number,
  { version, entryPoint, sponsorship, token }: ProfileConfig,
): Required<Pick<ProfileConfig, 'unusable'>> {
  const contracts = token === undefined || token === sponsorship ? sponsorship : `${sponsorship} or ${token}`;
  const causes: Readonly<Record<UnusableReason, string>> = {
    WRONG_CHAIN: `a node of chain ${chainId} serves another chain`,
    CONTRACT_NOT_DEPLOYED: `EntryPoint ${entryPoint} or contract ${contracts} has no code on chain ${chainId}`,
    ENTRY_POINT_MISMATCH: `contract ${contracts} does not name EntryPoint ${entryPoint}`,
    SIGNER_NOT_AUTHORIZED: `contract ${contracts} accepts no signer of this service`,
    CODE_CHANGED: `the code of contract ${contracts} was replaced`,
    SIGNATURE_REFUSED: `contract ${contracts} refuses what this service would sign`,
  };
  return { unusable: { reason, message: `Nothing is signed for version "${version}": ${causes[reason]}.` } };
}
