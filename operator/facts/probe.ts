import type { Block, BlockTag, Chain } from '../../core/chain/chain.js';
import { clockSkew } from '../../core/chain/heads.js';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import { unlessUnavailable, isDomainError } from '../../core/errors.js';
import type { Layout, LayoutId, SponsorshipCodec, SponsorshipTerms } from '../../core/paymaster/layout.js';
import type { Signer, Signers } from '../../core/paymaster/signer.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import { toAddressKey, parseAddressKey, type Address } from '../../core/units/address.js';
import { bytesToHex, type Hex } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import {
  addressWord,
  askCall,
  balanceOf,
  readAcceptances,
  readCode,
  wordPattern,
  worstOf,
  type Acceptance,
} from './acceptance.js';
import { readContractFacts } from './contract-facts.js';
import {
  profileSignerFiles,
  mayDemandAdvance,
  unknownProfile,
  type ClockLevel,
  type CodeLevel,
  type FundingQuestion,
  type ProfileFacts,
  type Reachability,
  type UnsignedLevel,
} from './facts.js';
import {
  callValidation,
  probeOperation,
  probeSignatures,
  probeTerms,
  probeTokenPayment,
  probeTokenTerms,
  saysAccepted,
  validationCall,
} from './probe-operation.js';

/** Questions to one chain. Each answer is a documented reason; `Unknown` when the chain does not answer now. */
export type Probe = ReturnType<typeof createProbe>;

type ProbeDeps = {
  readonly chain: Chain;
  readonly config: Pick<ChainConfig, 'chainId'> & Partial<Pick<ChainConfig, 'feeTokens' | 'stake'>>;
  readonly layouts: Readonly<Record<LayoutId, Layout>>;
  readonly signers: Pick<Signers, 'get'>;
  readonly clock: Clock;
};

export function createProbe({ chain, config, layouts, signers, clock }: ProbeDeps) {
  return {
    async reachability(): Promise<Reachability> {
      const chainId = await unlessUnavailable(chain.chainId());
      if (chainId === undefined) return 'Unreachable';
      return chainId === config.chainId ? 'Reachable' : 'WrongChain';
    },

    /** The newest block; undefined when the chain does not answer now. */
    head: (): Promise<Block | undefined> => unlessUnavailable(chain.block('latest')),
    /** How far that block is ahead of our clock. */
    clock: ({ timestamp }: Pick<Block, 'timestamp'>): ClockLevel => clockSkew(timestamp, clock.now()),

    /** All answers from one block, by default the latest. */
    async profile(profile: ProfileConfig, block: BlockTag = 'latest'): Promise<ProfileFacts> {
      const [acceptance] = await readAcceptances({ chain, layouts, signers }, [profile], block);
      if (acceptance?.code !== 'CodePresent') return { ...unknownProfile, ...acceptance };
      const trusted = profileSignerFiles(profile).find((file) => acceptance.signers[file] === 'Authorized');
      const [held, ...hashes] = await Promise.all([
        readContractFacts(chain, profile, block, config.stake),
        ...listHashCalls(config.chainId, profile, layouts[profile.layout]).map((call) =>
          compareHash(call, block),
        ),
        probeHash(profile, trusted === undefined ? undefined : signers.get(trusted), block),
      ]);
      return {
        ...acceptance,
        ...held,
        hash: worstOf<ProfileFacts['hash']>('HashMatches', hashes),
        tokens: await probeTokens(profile, signers.get(trusted ?? profile.signerFile), block),
        unsigned: await probeUnsigned({
          chain,
          profile,
          layout: layouts[profile.layout],
          feeTokens: config.feeTokens ?? [],
          block,
        }),
      };
    },

    /** Of each profile only what decides whether it can be used, all from that block; one request if all is well. */
    acceptances: (profiles: readonly ProfileConfig[], block: BlockTag): Promise<readonly Acceptance[]> =>
      readAcceptances({ chain, layouts, signers }, profiles, block),

    /** Base fee of that block and the suggested priority fee, in wei per gas. */
    async fee({ baseFeePerGas }: Pick<Block, 'baseFeePerGas'>): Promise<bigint> {
      return baseFeePerGas + ((await unlessUnavailable(chain.priorityFee())) ?? 0n);
    },

    /** Wei of each, together in one request; undefined when the chain does not answer now. */
    async deposits(questions: readonly FundingQuestion[]): Promise<readonly (bigint | undefined)[]> {
      const calls = questions.map(({ profile, wallet }) => {
        const ownBalance = layouts[profile.layout].sponsorship.fundingBalanceCall;
        return ownBalance === undefined || wallet === undefined
          ? { to: profile.entryPoint, data: `${balanceOf}${addressWord(profile.sponsorship)}` as const }
          : { to: profile.sponsorship, data: ownBalance(toAddressKey(wallet)) };
      });
      return (await unlessUnavailable(chain.words(calls, 'latest'))) ?? questions.map(() => undefined);
    },

    code: (address: Address): Promise<CodeLevel> => readCode(chain, [address], 'latest'),
  };

  /**
   * A contract that shows no hash is asked to validate. With a key that it does not accept it refuses everything, which
   * SignerAuthorized reports.
   */
  async function probeHash(
    profile: ProfileConfig,
    signer: Signer | undefined,
    block: BlockTag,
  ): Promise<ProfileFacts['hash']> {
    const layout = layouts[profile.layout];
    if (signer === undefined || layout.sponsorship.getHashCall !== undefined) return 'HashMatches';
    return probeSignatures({ chain, chainId: config.chainId, profile, layout, signer, block });
  }

  /** A contract takes a payment only with a signature by one of our keys; without such a key the answer stays open. */
  async function probeTokens(
    profile: ProfileConfig,
    signer: Signer | undefined,
    block: BlockTag,
  ): Promise<ProfileFacts['tokens']> {
    const layout = layouts[profile.layout];
    if (signer === undefined || profile.token === undefined || layout.token === undefined) return 'Unknown';
    if (!mayDemandAdvance(profile)) return 'AfterCall';
    const contract = profile.token;
    const found = await probeTokenPayment({
      chain,
      chainId: config.chainId,
      profile,
      contract,
      layout,
      signer,
    });
    const { treasury } = profile.options;
    if (found !== 'Secured' || !layout.token.namesTreasury || treasury === undefined) return found;
    const allowed = await Promise.all(
      (config.feeTokens ?? []).map(({ address }) =>
        askCall(chain, {
          to: address,
          data: `${allowance}${addressWord(treasury)}${addressWord(contract)}`,
          block,
        }),
      ),
    );
    if (allowed.includes(undefined)) return 'Unknown';
    return allowed.every((answer) => answer !== undefined && wordPattern.test(answer) && BigInt(answer) > 0n)
      ? 'Secured'
      : 'NoRefunds';
  }

  /** Signatures are worthless when the contract hashes an operation differently than we do. */
  async function compareHash({ isSame, ...call }: HashCall, block: BlockTag): Promise<ProfileFacts['hash']> {
    const answer = await askCall(chain, { ...call, block });
    if (answer === undefined) return 'Unknown';
    return isSame(answer) ? 'HashMatches' : 'OtherHash';
  }
}

/** A call whose answer shows whether the contract hashes as we do. */
type HashCall = { readonly to: Address; readonly data: Hex; readonly isSame: (answer: Hex) => boolean };

/** Of the contract of mode SPONSORED and of that of mode ERC20, which may be at the same address. */
function listHashCalls(
  chainId: number,
  profile: ProfileConfig,
  { sponsorship, token }: Layout,
): readonly HashCall[] {
  const sponsored = sponsoredHashCall(sponsorship, probeTerms(chainId, profile));
  const sponsoring = { to: profile.sponsorship, ...sponsored };
  if (profile.token === undefined || token === undefined) return [sponsoring];
  const terms = probeTokenTerms(chainId, profile, profile.token);
  const hash = bytesToHex(token.hash(probeOperation, terms));
  const data = token.getHashCall(probeOperation, terms);
  return [sponsoring, { to: profile.token, data, isSame: (answer) => answer === hash }];
}

/** The contract's own hash of an operation, or its EIP-712 domain if it shows only that. */
function sponsoredHashCall(
  { domainCall, getHashCall, hash }: SponsorshipCodec,
  terms: SponsorshipTerms,
): Omit<HashCall, 'to'> {
  if (domainCall !== undefined) return domainCall(terms);
  if (getHashCall === undefined) throw new TypeError('a layout must have a view to compare hashes by');
  return {
    data: getHashCall(probeOperation, terms),
    isSame: (answer) => answer === bytesToHex(hash(probeOperation, terms)),
  };
}

/** `allowance(address,address)`. */
const allowance: Hex = '0xdd62ed3e';

type UnsignedProbe = {
  readonly chain: Pick<Chain, 'call'>;
  readonly profile: ProfileConfig;
  readonly layout: Layout;
  /** A contract may accept such data for some tokens alone. */
  readonly feeTokens: readonly Pick<FeeTokenSpec, 'address'>[];
  readonly block: BlockTag;
};

/** A token that no contract knows. */
const unknownToken = toAddressKey('0x8888888888888888888888888888888888888888');

/** Asks the token contract in the EntryPoint's name to validate data that nobody signed. */
async function probeUnsigned(probe: UnsignedProbe): Promise<UnsignedLevel> {
  const { chain, profile, layout, feeTokens, block } = probe;
  const unsigned = layout.token?.unsigned;
  const to = profile.token;
  if (unsigned === undefined || to === undefined) return 'Unknown';
  const tokens = [unknownToken, ...feeTokens.map(({ address }) => parseAddressKey(address))];
  try {
    const answers = await Promise.all(
      tokens.map((token) => {
        const data = validationCall(layout, probeOperation, unsigned(to, token), 1n);
        return callValidation(chain, { from: profile.entryPoint, to, data, block });
      }),
    );
    return answers.some((answer) => answer !== undefined && saysAccepted(answer)) ? 'Accepted' : 'Refused';
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return 'Unknown';
    throw error;
  }
}
