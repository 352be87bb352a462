import {
  drainingExpirySeconds,
  type ChainConfig,
  type ProfileConfig,
} from '../../core/config/chain-config.js';
import { dataFeeKinds } from '../../core/chain/data-fee/kinds.js';
import type { DataFeeSpec } from '../../core/chain/data-fee/spec.js';
import { signersOn } from '../../core/paymaster/public-keys.js';
import type { Signer, Signers } from '../../core/paymaster/signer.js';
import { defaultMaxExpirySeconds } from '../../core/config/caps.js';
import { serveFunctions } from '../../core/userop/added-functions.js';
import type { Logger } from '../../core/log.js';
import type { Layout, TokenOptions } from '../../core/paymaster/layout.js';
import { layouts } from '../../core/paymaster/layouts.js';
import { compilePriceGuard, type PriceGuard } from '../../core/policy/rules/price-guard/compile.js';
import { parseLossBudget } from '../../core/policy/token-loss.js';
import type { AccountId } from '../../core/usage/reservation.js';
import { toDollarSpec } from '../../core/pricing/native-price.js';
import type { FeeTokenSpec } from '../../core/pricing/fee-token-spec.js';
import type { GasCaps } from '../../core/policy/rules/price-guard/gas-caps.js';
import { parseAddress, toAddressKey, type Address, type AddressKey } from '../../core/units/address.js';
import { SharedNames } from '../../core/usage/shared-names.js';
import type { ServedPaymaster } from './served-paymaster.js';

/** One chain as requests need it. Replaced as a whole when its config changes. */
export type ServedChain = ReturnType<typeof serveChain>;

/** One way to sponsor on a chain, with everything resolved that does not depend on the request. */
export type ServedProfile = ReturnType<typeof compileProfile>;

/** How a profile is paid in tokens. */
export type ServedTokenMode = NonNullable<ReturnType<typeof compileTokenMode>>;

/** A wallet that pays for paymasters without a funding wallet. */
type DefaultFunding = {
  readonly address: AddressKey;
  /** Undefined: every organisation. */
  readonly organisations: ReadonlySet<string> | undefined;
};

/** The names of a paymaster's counters on this chain. */
export function sharedNames({ names }: Pick<ServedChain, 'names'>, paymaster: ServedPaymaster): SharedNames {
  let known = names.get(paymaster);
  if (known === undefined) names.set(paymaster, (known = new SharedNames(paymaster)));
  return known;
}

/** Compiles a chain config; throws on caps that are not integers. A profile whose layout this build does not know is skipped and logged. */
export function serveChain(config: ChainConfig, signers: Signers, log: Logger) {
  const compiled = new Map<string, ServedProfile>();
  for (const profile of config.profiles) {
    if (!Object.hasOwn(layouts, profile.layout)) {
      log.error('unknown layout, profile is not served', {
        chainId: config.chainId,
        version: profile.version,
        layout: profile.layout,
      });
      continue;
    }
    compiled.set(profile.version, compileProfile(profile, signersOn(signers, config.chainId)));
  }
  const profiles: ReadonlyMap<string, ServedProfile> = compiled;
  const toAddressKeys = (addresses: readonly Address[]): ReadonlySet<AddressKey> =>
    new Set(addresses.map(toAddressKey));
  const feeTokens: ReadonlyMap<AddressKey, FeeTokenSpec> = new Map(
    config.feeTokens.map((token) => [toAddressKey(parseAddress(token.address)), token]),
  );
  return Object.freeze({
    chainId: config.chainId,
    config,
    suspended: config.suspended,
    gas: config.gas,
    dataFee: chooseDataFee(config, log),
    /** The coin's price in US dollars, as a token's; undefined: the chain names no source. */
    dollar: config.nativePrice && toDollarSpec(config.chainId, config.nativePrice),
    /** The caps in force for paymasters without caps of their own. */
    guard: compilePriceGuard({}, config.gas, config.minPriorityFeePerGas),
    /** Guards by the paymasters' own caps: compiled at the first use, and dropped with this object. */
    guards: new WeakMap<GasCaps, PriceGuard>(),
    /** Names of counters by paymaster: made at the first use, and dropped with this object. */
    names: new WeakMap<ServedPaymaster, SharedNames>(),
    maxExpirySeconds: config.maxExpirySeconds ?? defaultMaxExpirySeconds,
    rateLimit: config.rateLimit,
    /** EIP-7702 delegates that operations may name. */
    delegates: toAddressKeys(config.delegates),
    /** Factories that operations may create accounts with; undefined means any. */
    accountFactories: config.accountFactories && toAddressKeys(config.accountFactories),
    /** Functions of accounts, beside the built-in ones; undefined: none. */
    accountFunctions: serveFunctions(config.accountFunctions),
    /** Modules that the set-up of an account may install, beside the built-in ones; undefined: none. */
    accountModules: config.accountModules && toAddressKeys(config.accountModules),
    /** Uses the library that also signs. */
    recover: signers.recover,
    /** By the `version` that paymasters name. */
    profiles,
    /** Tokens that can pay for gas, by lowercase address, in the order of quotes for all tokens. */
    feeTokens,
  });
}

/** A kind of a newer release counts as None, with which estimates and caps are lowest. */
function chooseDataFee({ chainId, dataFee = { kind: 'None' } }: ChainConfig, log: Logger): DataFeeSpec {
  if (Object.hasOwn(dataFeeKinds, dataFee.kind)) return dataFee;
  log.error('unknown kind of data fee, none is added', { chainId, kind: dataFee.kind });
  return { kind: 'None' };
}

function compileProfile(profile: ProfileConfig, signers: Signers) {
  const layout = layouts[profile.layout];
  const { priceMarkup, unaccountedGas, openZeppelin } = profile.options;
  const options = { priceMarkup, unaccountedGas, ...(openZeppelin === undefined ? {} : { openZeppelin }) };
  return Object.freeze({
    version: profile.version,
    layout,
    entryPoint: profile.entryPoint,
    entryPointKey: toAddressKey(profile.entryPoint),
    entryPointVersion: layout.entryPointVersion,
    /** Contract that pays in mode SPONSORED. */
    contract: profile.sponsorship,
    contractKey: toAddressKey(profile.sponsorship),
    options,
    paymasterGas: layout.sponsorship.gas(options),
    /** Mode ERC20; undefined if no contract is deployed for it, or the layout has no such mode. */
    token: compileTokenMode(layout, profile),
    /** Called per request, since keys are mounted and replaced while a process runs. Undefined: nothing can be signed. */
    signer: (): Signer | undefined => firstMounted(profile, signers),
    /** Whether it is the address of a key of the profile that is mounted here. */
    isSigner: (address: Address): boolean =>
      (profile.signerFiles ?? [profile.signerFile]).some((file) => signers.get(file)?.address === address),
    /** Set when nothing is signed, because the operator has found on the chain that it could not be mined. */
    unusable: profile.unusable,
    /** Longest window in seconds; Infinity if the profile sets no bound. */
    maxExpirySeconds: profile.draining === true ? drainingExpirySeconds : Number.POSITIVE_INFINITY,
    defaultFunding: compileDefaultFunding(profile.defaultFunding),
    /** True if the contract reads its signature from the tail too: then it can be made after the account's. */
    readsTail: layout.readsTail(options),
    /** True if the contract keeps a balance per sponsor. */
    keepsBalances: layout.sponsorship.fundingBalanceCall !== undefined,
    /** How much of an account that the platform pays from one organisation may take, in percent; undefined: see organisationPercent. */
    organisationShare: profile.organisationShare,
  });
}

/**
 * The first accepted key that is mounted here and can sign: a key may be mounted a minute later than on other pods, or its signer may
 * be away, and until then another one signs. If none can sign, the first that is mounted: it says why.
 */
function firstMounted({ signerFile, acceptedSigners }: ProfileConfig, signers: Signers): Signer | undefined {
  if (acceptedSigners === undefined) return signers.get(signerFile);
  let inTrouble: Signer | undefined;
  for (const file of acceptedSigners) {
    const signer = signers.get(file);
    if (signer === undefined) continue;
    if (signer.trouble?.() === undefined) return signer;
    inTrouble ??= signer;
  }
  return inTrouble;
}

function compileTokenMode(
  { token: codec }: Layout,
  {
    token: contract,
    options: { treasury },
    tokenLossBudget,
    tokenPayment,
    tokenSecured,
    requireAllowance,
  }: ProfileConfig,
) {
  if (codec === undefined || contract === undefined) return undefined;
  const options: TokenOptions = {
    ...(treasury === undefined ? {} : { treasury }),
    ...(tokenPayment === 'preFund' ? { takesPreFund: true } : {}),
  };
  return Object.freeze({
    codec,
    /** Contract that pays in mode ERC20; users allow it to take their tokens. */
    contract,
    contractKey: toAddressKey(contract),
    options,
    gas: codec.gas(options),
    /** Most that operations that pay no token may cost in a day, including operations in flight that might not pay. */
    lossBudget: parseLossBudget(tokenLossBudget),
    /** True if the contract takes tokens in validation when its data demand this. */
    isSecured: tokenSecured === true,
    /** True if only payments that are taken in validation are signed. */
    requiresAllowance: requireAllowance === true,
  });
}

function compileDefaultFunding(funding: ProfileConfig['defaultFunding']): DefaultFunding | undefined {
  if (funding === undefined) return undefined;
  const { address, organisations } = funding;
  return {
    address: toAddressKey(address),
    organisations: organisations.includes('*') ? undefined : new Set(organisations),
  };
}

/** The caps in force for a paymaster on this chain. */
export function findGuard(
  { guard, guards, gas, config }: ServedChain,
  caps: GasCaps | undefined,
): PriceGuard {
  if (caps === undefined) return guard;
  const known = guards.get(caps);
  if (known !== undefined) return known;
  const own = compilePriceGuard(caps, gas, config.minPriorityFeePerGas);
  guards.set(caps, own);
  return own;
}

/** The default wallets of a chain's profiles, each in its contract. */
export function defaultFundingAccounts({ profiles }: ServedChain): readonly AccountId[] {
  const accounts = new Map<string, AccountId>();
  for (const { keepsBalances, contractKey: contract, defaultFunding } of profiles.values()) {
    if (!keepsBalances || defaultFunding === undefined) continue;
    const fundingAddress = defaultFunding.address;
    accounts.set(`${contract} ${fundingAddress}`, { contract, fundingAddress });
  }
  return [...accounts.values()];
}

/** True when the platform lets this organisation draw on the profile's default wallet. */
export function servesByDefault({ defaultFunding }: ServedProfile, namespace: string): boolean {
  if (defaultFunding === undefined) return false;
  return defaultFunding.organisations === undefined || defaultFunding.organisations.has(namespace);
}

/** One organisation's share of an account that several may draw on, when the profile does not set it. */
const defaultPercent = 25;

/**
 * The percentage of a platform account that an organisation's live promises may take: `organisationShare` if the profile sets
 * it, 100 if the platform's list names this organisation alone, else 25. The list decides, not the number of organisations
 * that exist: a tenant who is added later must find room.
 */
export function organisationPercent(
  { organisationShare, defaultFunding }: Pick<ServedProfile, 'organisationShare' | 'defaultFunding'>,
  namespace: string,
): number {
  if (organisationShare !== undefined) return organisationShare;
  const listed = defaultFunding?.organisations;
  return listed !== undefined && listed.size === 1 && listed.has(namespace) ? 100 : defaultPercent;
}
