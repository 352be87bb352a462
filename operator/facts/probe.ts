import { CallReverted } from '../../core/chain/chain.js';
import type { Block, BlockTag, Chain } from '../../core/chain/chain.js';
import { clockSkew } from '../../core/chain/clock-skew.js';
import type { ChainConfig, ProfileConfig } from '../../core/config/chain-config.js';
import { isDomainError } from '../../core/errors.js';
import type { Layout, LayoutId, SponsorshipCodec } from '../../core/paymaster/layout.js';
import type { Signer, Signers } from '../../core/paymaster/signer.js';
import { toAddressKey } from '../../core/units/address.js';
import type { Address } from '../../core/units/address.js';
import { bytesToHex } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import type { Hex } from '../../core/units/hex.js';
import { probeOperation, probeTerms, probeTokenTerms } from './probe-operation.js';
import { probeTokenPayment } from './token-probe.js';
import { bestSigner, filesOf, mayDemandAdvance, unknownProfile } from './facts.js';
import type {
  ClockLevel,
  CodeLevel,
  FundingQuestion,
  ProfileFacts,
  Reachability,
  SignerLevel,
} from './facts.js';

/** Questions to one chain. Each answer is a documented reason; `Unknown` when the chain does not answer now. */
export type Probe = {
  reachability(): Promise<Reachability>;
  /** The newest block; undefined when the chain does not answer now. */
  head(): Promise<Block | undefined>;
  /** How far that block is ahead of our clock. */
  clock(head: Pick<Block, 'timestamp'>): ClockLevel;
  /** All answers from one block, by default the latest. */
  profile(profile: ProfileConfig, block?: BlockTag): Promise<ProfileFacts>;
  /** Base fee of that block and the suggested priority fee, in wei per gas. */
  fee(head: Pick<Block, 'baseFeePerGas'>): Promise<bigint>;
  /** Wei; undefined when the chain does not answer now. */
  deposit(question: FundingQuestion): Promise<bigint | undefined>;
  code(address: Address): Promise<CodeLevel>;
};

export type ProbeDeps = {
  readonly chain: Chain;
  readonly config: Pick<ChainConfig, 'chainId'> & Partial<Pick<ChainConfig, 'feeTokens'>>;
  readonly layouts: Readonly<Record<LayoutId, Layout>>;
  readonly signers: Pick<Signers, 'get'>;
  readonly clock: Clock;
};

export function createProbe({ chain, config, layouts, signers, clock }: ProbeDeps): Probe {
  return {
    async reachability() {
      const chainId = await unlessUnavailable(chain.chainId());
      if (chainId === undefined) return 'Unreachable';
      return chainId === config.chainId ? 'Reachable' : 'WrongChain';
    },

    head: () => unlessUnavailable(chain.block('latest')),
    clock: ({ timestamp }) => clockSkew(timestamp, clock.now()),

    async profile(profile, block = 'latest') {
      const keys = new Map(filesOf(profile).map((file) => [file, signers.get(file)]));
      const contracts = contractsOf(config.chainId, profile, layouts[profile.layout]);
      const code = await codeOf([profile.entryPoint, ...contracts.map(({ address }) => address)], block);
      if (code !== 'CodePresent') {
        const known = levelsOf(keys, () => 'Unknown');
        return { ...unknownProfile, signers: known, signer: bestSigner(known), code };
      }
      const ofAll = <T extends string>(
        good: T,
        asked: (contract: ProbedContract) => Promise<T | 'Unknown'>,
      ) => Promise.all(contracts.map(asked)).then((answers) => worstOf(good, answers));
      const accepted = new Map<Signer, SignerLevel>();
      for (const key of keys.values())
        if (key !== undefined)
          accepted.set(
            key,
            await ofAll<SignerLevel>('Authorized', (contract) => signerOf(contract, key.address, block)),
          );
      const found = levelsOf(keys, (key) => accepted.get(key) ?? 'Unknown');
      const trusted = [...keys.values()].find(
        (key) => key !== undefined && accepted.get(key) === 'Authorized',
      );
      return {
        code,
        entryPoint: await ofAll<ProfileFacts['entryPoint']>('EntryPointMatches', (contract) =>
          entryPointOf(profile, contract, block),
        ),
        hash: await ofAll<ProfileFacts['hash']>('HashMatches', (contract) => hashOf(contract, block)),
        tokens: await tokensOf(profile, trusted ?? signers.get(profile.signerFile), block),
        signer: bestSigner(found),
        signers: found,
      };
    },

    async fee({ baseFeePerGas }) {
      return baseFeePerGas + ((await unlessUnavailable(chain.priorityFee())) ?? 0n);
    },

    async deposit({ profile, wallet }) {
      const ownBalance = layouts[profile.layout].sponsorship.fundingBalanceCall;
      const request =
        ownBalance === undefined || wallet === undefined
          ? { to: profile.entryPoint, data: callWithAddress(balanceOf, profile.sponsorship) }
          : { to: profile.sponsorship, data: ownBalance(toAddressKey(wallet)) };
      const answer = await ask(request);
      return typeof answer === 'string' && wordPattern.test(answer) ? BigInt(answer) : undefined;
    },

    code: (address) => codeOf([address], 'latest'),
  };

  async function codeOf(addresses: readonly Address[], block: BlockTag): Promise<CodeLevel> {
    const codes = await unlessUnavailable(
      Promise.all(addresses.map((address) => chain.code(address, block))),
    );
    if (codes === undefined) return 'Unknown';
    return codes.includes('0x') ? 'NoCode' : 'CodePresent';
  }

  async function entryPointOf(
    { entryPoint }: ProfileConfig,
    { address }: ProbedContract,
    block: BlockTag,
  ): Promise<ProfileFacts['entryPoint']> {
    const answer = await ask({ to: address, data: entryPointSelector, block });
    if (answer === undefined) return 'Unknown';
    return answer === addressWord(entryPoint) ? 'EntryPointMatches' : 'OtherEntryPoint';
  }

  /** A contract takes a payment only with a signature by one of our keys; without such a key the answer stays open. */
  async function tokensOf(
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
        ask({ to: address, data: `${allowance}${word(treasury)}${word(contract)}`, block }),
      ),
    );
    if (allowed.includes(undefined)) return 'Unknown';
    return allowed.every((answer) => answer !== undefined && wordPattern.test(answer) && BigInt(answer) > 0n)
      ? 'Secured'
      : 'NoRefunds';
  }

  /** Signatures are worthless when the contract hashes an operation differently than we do. */
  async function hashOf(
    { address, hash, getHashCall }: ProbedContract,
    block: BlockTag,
  ): Promise<ProfileFacts['hash']> {
    const answer = await ask({ to: address, data: getHashCall(), block });
    if (answer === undefined) return 'Unknown';
    return answer === bytesToHex(hash()) ? 'HashMatches' : 'OtherHash';
  }

  async function signerOf(
    { address, signerCall }: ProbedContract,
    signer: Address,
    block: BlockTag,
  ): Promise<SignerLevel> {
    const { data, isAuthorised } = signerCall(signer);
    const answer = await ask({ to: address, data, block });
    if (answer === undefined) return 'Unknown';
    return wordPattern.test(answer) && isAuthorised(answer) ? 'Authorized' : 'NotAuthorized';
  }

  /**
   * The answer of a call; `0x` when the contract reverts, which is also an answer; undefined when the chain does not
   * answer.
   */
  async function ask(request: {
    readonly to: string;
    readonly data: Hex;
    readonly block?: BlockTag;
  }): Promise<Hex | undefined> {
    const call = chain.call(request).catch((error: unknown) => {
      if (error instanceof CallReverted) return '0x' as const;
      throw error;
    });
    return unlessUnavailable(call);
  }
}

function levelsOf(
  keys: ReadonlyMap<string, Signer | undefined>,
  levelOf: (key: Signer) => SignerLevel,
): ProfileFacts['signers'] {
  return Object.fromEntries(
    [...keys].map(([file, key]) => [file, key === undefined ? 'SignerNotFound' : levelOf(key)]),
  );
}

/** One of a profile's contracts, with the calls of its mode. */
type ProbedContract = Pick<SponsorshipCodec, 'signerCall'> & {
  readonly address: Address;
  readonly hash: () => Uint8Array;
  readonly getHashCall: () => Hex;
};

/** The contract of mode SPONSORED and that of mode ERC20, which may be at the same address. */
function contractsOf(
  chainId: number,
  profile: ProfileConfig,
  { sponsorship, token }: Layout,
): readonly ProbedContract[] {
  const terms = probeTerms(chainId, profile);
  const sponsoring: ProbedContract = {
    address: profile.sponsorship,
    hash: () => sponsorship.hash(probeOperation, terms),
    getHashCall: () => sponsorship.getHashCall(probeOperation, terms),
    signerCall: sponsorship.signerCall,
  };
  if (profile.token === undefined || token === undefined) return [sponsoring];
  const tokenTerms = probeTokenTerms(chainId, profile, profile.token);
  const paidInTokens: ProbedContract = {
    address: profile.token,
    hash: () => token.hash(probeOperation, tokenTerms),
    getHashCall: () => token.getHashCall(probeOperation, tokenTerms),
    signerCall: token.signerCall,
  };
  return [sponsoring, paidInTokens];
}

/** A fault of one contract is a fault of the profile; if one answer is unknown, the profile's is unknown. */
function worstOf<T extends string>(good: T, answers: readonly (T | 'Unknown')[]): T | 'Unknown' {
  const bad = answers.find((answer) => answer !== good && answer !== 'Unknown');
  return bad ?? (answers.includes('Unknown') ? 'Unknown' : good);
}

async function unlessUnavailable<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return undefined;
    throw error;
  }
}

const wordPattern = /^0x[0-9a-f]{64}$/;
/** `entryPoint()` and `balanceOf(address)`. */
const entryPointSelector: Hex = '0xb0d691fe';
const balanceOf: Hex = '0x70a08231';
/** `allowance(address,address)`. */
const allowance: Hex = '0xdd62ed3e';

function callWithAddress(selector: Hex, address: Address): Hex {
  return `${selector}${addressWord(address).slice(2)}`;
}

function addressWord(address: Address): Hex {
  return `0x${word(address)}`;
}

function word(address: Address): string {
  return toAddressKey(address).slice(2).padStart(64, '0');
}
