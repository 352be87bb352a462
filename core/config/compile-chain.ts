import { given } from '../units/given.js';
import { quote } from '../errors.js';
import { entryPointVersion } from '../entry-point/address.js';
import type { SponsorshipCodec, TokenCodec } from '../paymaster/layout.js';
import type { EntryPointVersion } from '../entry-point/version.js';
import type { Chain } from '../resources/chain.js';
import type { ProfileSpec } from '../resources/profile.js';
import { finding, type Finding } from '../meta/conditions.js';
import { compileFunctions } from '../userop/added-functions.js';
import type { FeeToken } from '../resources/fee-token.js';
import { inDollars } from '../pricing/native-price.js';
import { acceptedLossAnnotation } from '../meta/meta.js';
import { isHexBytes } from '../units/hex.js';
import { isAddressText, parseAddress, zeroAddress, type Address } from '../units/address.js';
import type { ChainConfig, ProfileConfig } from './chain-config.js';
import { compileAddressList, type AddressList } from '../policy/address-list.js';
import { isRefusal, checkAddresses, checksumFinding, worstOf } from './checksum.js';
import {
  checksumOfFeeds,
  compileFeeTokens,
  servedTokens,
  type CompiledFeeToken,
} from './compile-fee-tokens.js';

/** What the compiler has to know about layouts: which exist, and which EntryPoint each one is for. */
export type LayoutFacts = Readonly<
  Record<
    string,
    {
      readonly entryPointVersion: EntryPointVersion;
      readonly sponsorship: Pick<SponsorshipCodec, 'domainCall'>;
      readonly token: Pick<TokenCodec, 'namesTreasury'> | undefined;
    }
  >
>;

type ChainSources = {
  readonly chain: Chain;
  readonly feeTokens: readonly FeeToken[];
  readonly layouts: LayoutFacts;
  readonly previous: ChainConfig | undefined;
  /**
   * `left`: the caller cannot know which addresses are served already, so checksums are not judged; the ChainConfig
   * then decides which profiles count. Default: judged.
   */
  readonly checksums?: 'judged' | 'left';
};

export type CompiledChain = {
  readonly config: ChainConfig;
  /** Lists of addresses that `config` names, to be stored before it. */
  readonly lists: readonly AddressList[];
  readonly accepted: Finding;
  /** Set when an address in the Chain's own lists stays in use although its checksum is wrong. */
  readonly checksum?: Finding;
  /** Names rows of accountFunctions that have no effect. */
  readonly ignoredFunctions?: Finding;
  /** One per profile of the spec, in the same order; `served` is absent when the profile is not accepted. */
  readonly profiles: readonly {
    readonly version: string;
    readonly accepted: Finding;
    readonly served?: ProfileConfig;
    /** Set when an address with a wrong checksum stays in use. */
    readonly checksum?: Finding;
  }[];
  readonly feeTokens: readonly CompiledFeeToken[];
};

/**
 * Compiles a Chain and its FeeTokens into what is served, and reports what is wrong with each profile and token.
 * Pure. A profile or token that is not accepted is left out; the others are served.
 */
export function compileChain(sources: ChainSources): CompiledChain {
  const { chain, feeTokens, layouts, previous, checksums = 'judged' } = sources;
  const seen = new Set<string>();
  const profiles = chain.spec.profiles.map((profile): CompiledChain['profiles'][number] => {
    const problem = seen.has(profile.version)
      ? `Version "${profile.version}" is given twice: the first one counts.`
      : problemOfProfile(profile, layouts);
    const isJudged = problem === undefined && checksums === 'judged';
    const checksum = isJudged ? checksumOfProfile(profile, previous) : undefined;
    seen.add(profile.version);
    const { version } = profile;
    if (problem !== undefined) return { version, accepted: finding('Accepted', 'Invalid', problem) };
    if (checksum?.type === 'Accepted') return { version, accepted: checksum };
    return {
      version,
      accepted: finding('Accepted', 'Accepted'),
      served: compileProfile(profile),
      ...(checksum === undefined ? {} : { checksum }),
    };
  });
  const tokens = compileFeeTokens(feeTokens, previous);
  const { spec, metadata } = chain;
  // A caller that does not know what is in use treats every address as in use.
  const known = checksums === 'judged' ? previous : spec;
  const delegates = checkAddresses('spec.delegates', spec.delegates ?? [], known?.delegates);
  const factories =
    spec.accountFactories &&
    checkAddresses('spec.accountFactories', spec.accountFactories, known?.accountFactories);
  const modules = checkAddresses('spec.accountModules', spec.accountModules ?? [], known?.accountModules);
  const functions = compileFunctions(spec.accountFunctions ?? []);
  const denied = compileDenied(spec.deniedSenders);
  const nativePrice = spec.nativePrice && inDollars(spec.nativePrice);
  const native =
    nativePrice &&
    checksumOfFeeds('spec.nativePrice', nativePrice, known === spec ? nativePrice : previous?.nativePrice);
  const checksum = worstOf([delegates.told, factories?.told, modules.told, native]);
  const wrong = profiles.filter(({ accepted }) => accepted.status !== 'True');
  const config: ChainConfig = {
    chainId: spec.chainId,
    objectName: metadata.name,
    configGeneration: previous?.configGeneration ?? 0,
    suspended: spec.suspended === true,
    rpc: spec.rpc,
    ...given({ bundlers: spec.bundlers }),
    nativeCurrency: spec.nativeCurrency,
    confirmations: spec.confirmations ?? 12,
    delegates: delegates.kept,
    ...given({ deniedSenders: denied?.list.hash }),
    ...(factories === undefined ? {} : { accountFactories: factories.kept }),
    ...(functions.served.length === 0 ? {} : { accountFunctions: functions.served }),
    ...(modules.kept.length === 0 ? {} : { accountModules: modules.kept }),
    gas: spec.gas ?? {},
    ...given({ stake: spec.stake, minPriorityFeePerGas: spec.minPriorityFeePerGas }),
    ...given({ dataFee: spec.dataFee, maxExpirySeconds: spec.maxExpirySeconds, rateLimit: spec.rateLimit }),
    ...given({ nativePrice: isRefusal(native) ? undefined : nativePrice }),
    ...compileAcceptedLoss(chain),
    profiles: profiles.flatMap(({ served }) => (served === undefined ? [] : [served])),
    feeTokens: servedTokens(tokens),
  };
  const refused = [
    ...wrong.map((each) => ({ ...each.accepted, message: `${each.version}: ${each.accepted.message}` })),
    ...(checksum !== undefined && isRefusal(checksum) ? [checksum] : []),
    ...(denied?.told ?? []),
  ];
  const areChecksums = refused.every(({ reason }) => reason === 'BadChecksum');
  const accepted =
    refused.length === 0
      ? finding('Accepted', 'Accepted')
      : finding(
          'Accepted',
          areChecksums ? 'BadChecksum' : 'Invalid',
          refused.map(({ message }) => message).join(' '),
        );
  const warning = checksums === 'left' || isRefusal(checksum) ? undefined : checksum;
  return {
    config,
    lists: denied === undefined ? [] : [denied.list],
    accepted,
    ...given({ checksum: warning, ignoredFunctions: functions.ignored }),
    profiles,
    feeTokens: tokens,
  };
}

/** An address with a wrong checksum is reported and denied too: leaving it out could let somebody in. */
function compileDenied(texts: readonly string[] | undefined) {
  if (texts === undefined) return undefined;
  const { list, wrongAt } = compileAddressList(texts);
  const wrong = texts[wrongAt];
  const told = wrong === undefined ? [] : [checksumFinding(`spec.deniedSenders[${wrongAt}]`, wrong, false)];
  return { list, told: told.filter((found) => found !== undefined) };
}

/** An id and a time; any other text does not name a loss. */
const lossPattern = /^[\w-]{1,64}\.\d{1,16}$/;

function compileAcceptedLoss({ metadata }: Chain): Pick<ChainConfig, 'acceptedLoss'> {
  const acceptedLoss = metadata.annotations?.[acceptedLossAnnotation];
  return acceptedLoss !== undefined && lossPattern.test(acceptedLoss) ? { acceptedLoss } : {};
}

const openZeppelinDefaults = { initCodeHash: 'AsGiven', readsPaymasterSignature: false } as const;

function compileProfile(profile: ProfileSpec): ProfileConfig {
  const { defaultFunding, options, addresses } = profile;
  return {
    version: profile.version,
    layout: profile.layout,
    entryPoint: parseAddress(profile.entryPoint),
    sponsorship: parseAddress(addresses.sponsorship),
    ...given({ token: optionalAddress(addresses.token) }),
    ...compileSigners(profile),
    ...(isHexBytes(profile.codeHash) ? { codeHash: profile.codeHash } : {}),
    ...given({
      defaultFunding: defaultFunding && {
        address: parseAddress(defaultFunding.address),
        organisations: defaultFunding.organisations,
      },
    }),
    options: {
      priceMarkup: options?.priceMarkup ?? 1_000_000,
      unaccountedGas: options?.unaccountedGas ?? 50_000,
      ...given({
        treasury: optionalAddress(options?.treasury),
        openZeppelin: options?.openZeppelin && { ...openZeppelinDefaults, ...options.openZeppelin },
      }),
    },
    ...given({ organisationShare: profile.organisationShare }),
    ...(profile.tokenPayment === 'preFund' ? { tokenPayment: 'preFund' } : {}),
    ...(profile.requireAllowance === true ? { requireAllowance: true } : {}),
    ...given({ tokenLossBudget: profile.tokenLossBudget }),
    ...(profile.draining === true ? { draining: true } : {}),
  };
}

function optionalAddress(text: string | undefined): Address | undefined {
  return text === undefined ? undefined : parseAddress(text);
}

/** The first file, until the chain has said which keys it accepts. */
function compileSigners(profile: ProfileSpec): Pick<ProfileConfig, 'signerFile' | 'signerFiles'> {
  const files = listSignerFiles(profile);
  const [signerFile = ''] = files;
  return files.length > 1 ? { signerFile, signerFiles: files } : { signerFile };
}

/** Each file once, in the order of preference. */
export function listSignerFiles({
  signer,
  signers,
}: Pick<ProfileSpec, 'signer' | 'signers'>): readonly string[] {
  return [...new Set((signers ?? (signer === undefined ? [] : [signer])).map(({ file }) => file))];
}

/** What is wrong with a profile, as a sentence that names the field. */
function problemOfProfile(profile: ProfileSpec, layouts: LayoutFacts): string | undefined {
  const layout = Object.hasOwn(layouts, profile.layout) ? layouts[profile.layout] : undefined;
  if (layout === undefined)
    return `layout must be one of ${Object.keys(layouts).join(', ')}, got ${quote(profile.layout)}.`;
  if (listSignerFiles(profile).length === 0) return 'signer must be given: who signs for this contract.';
  const { entryPoint, addresses, options } = profile;
  for (const [field, text] of listAddresses(profile)) {
    if (text === undefined) continue;
    if (!isAddressText(text)) return `${field} must be 0x and 40 hex digits, got ${quote(text)}.`;
    if (text.toLowerCase() === zeroAddress) return `${field} must not be the zero address.`;
  }
  const version = entryPointVersion(entryPoint);
  if (version !== undefined && version !== layout.entryPointVersion)
    return `entryPoint is the EntryPoint of version ${version}, but layout ${profile.layout} is for ${layout.entryPointVersion}.`;
  if (layout.sponsorship.domainCall !== undefined && options?.openZeppelin === undefined)
    return `options.openZeppelin must be given: data of layout ${profile.layout} are signed for the EIP-712 domain of the contract.`;
  if (addresses.token === undefined) {
    if (profile.tokenLossBudget === undefined) return undefined;
    return `tokenLossBudget must be absent: without addresses.token nothing is paid in tokens.`;
  }
  if (layout.token === undefined)
    return `addresses.token must be absent: layout ${profile.layout} has no mode ERC20.`;
  if (layout.token.namesTreasury && options?.treasury === undefined)
    return `options.treasury must be given with addresses.token: data of layout ${profile.layout} names who receives the tokens.`;
  return undefined;
}

function listAddresses(profile: ProfileSpec): readonly (readonly [string, string | undefined])[] {
  const { entryPoint, addresses, defaultFunding, options } = profile;
  return [
    ['entryPoint', entryPoint],
    ['addresses.sponsorship', addresses.sponsorship],
    ['addresses.token', addresses.token],
    ['defaultFunding.address', defaultFunding?.address],
    ['options.treasury', options?.treasury],
  ];
}

/** A profile whose addresses are already served stays. Reports the first address with a wrong checksum. */
function checksumOfProfile(profile: ProfileSpec, previous: ChainConfig | undefined): Finding | undefined {
  const served = previous?.profiles.find(({ version }) => version === profile.version);
  const inUse = new Set(
    [
      served?.entryPoint,
      served?.sponsorship,
      served?.token,
      served?.defaultFunding?.address,
      served?.options.treasury,
    ]
      .filter((address) => address !== undefined)
      .map((address) => address.toLowerCase()),
  );
  for (const [field, text] of listAddresses(profile)) {
    const found =
      text === undefined ? undefined : checksumFinding(field, text, inUse.has(text.toLowerCase()));
    if (found !== undefined) return found;
  }
  return undefined;
}
