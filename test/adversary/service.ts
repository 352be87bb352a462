import { entryPointRules } from '../../core/entry-point/table.js';
import type { FinalUserOperation, PaymasterGas } from '../../core/entry-point/user-operation.js';
import type { Hex } from '../../core/units/hex.js';
import type { AddressKey } from '../../core/units/address.js';
import { plusSeconds, type EpochMs } from '../../core/units/time.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import { Shadow } from '../../core/policy/shadow.js';
import type { SponsorshipTerms, TokenTerms } from '../../core/paymaster/layout.js';
import { draftPayment } from '../../server/decision/token/in-tokens.js';
import type { TokenCase } from '../../server/decision/token/token-case.js';
import type { SponsorCase } from '../../server/decision/steps/sponsored-case.js';
import { choosePaymasterGas } from '../../server/decision/paymaster-gas.js';
import { draftSponsorship } from '../../server/decision/steps/sponsored.js';
import { chooseValidity } from '../../server/decision/steps/validity.js';
import { servesByDefault, type ServedProfile } from '../../server/view/served-chain.js';
import { apiKeyHash } from './ownership.js';
import { type Configs } from './configs.js';
import { feeToken, secondsOf, treasury } from './world.js';

/** Gas limits of the paymaster that the caller gives: none, the least that the contract works with, or the most that is signed. */
export type GivenGas = 'none' | 'least' | 'most';

/** A request to a replica to sign. */
export type Asked = {
  readonly paymaster: number;
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly op: FinalUserOperation;
  /** Pays for it in a contract that keeps balances. */
  readonly wallet: AddressKey;
  readonly expirySeconds: number;
  /** The paymaster's gas limits that the caller gives. */
  readonly paymasterGas: GivenGas;
  /** Mode ERC20: with data that demand the tokens in validation. */
  readonly inAdvance: boolean;
  /** Which of the paymaster's past and present keys the caller shows. */
  readonly keyGeneration: number;
};

/** Changes that a replica does not know: of the paymaster's config, and whether the last one of the chain's. */
export type Behind = { readonly generations: number; readonly isChain: boolean };

/** Data that were signed. `signedBy`: which of the service's keys has signed. */
export type Signed = {
  readonly paymasterAndData: Hex;
  readonly validUntil: number;
  readonly signedBy: number;
};

export const rate = 3_000_000_000n;
/** Signs 32 bytes as they are, with one of the service's keys. */
export type Sign = (digest: Uint8Array, key: number) => Uint8Array;
/** The model does not check the signature: the test tells the contract whether it is valid. */
export const signNothing: Sign = () => stubSignature();

/** How much more than ours is signed for a caller that asks for it. */
const mostAboveOurs = 100_000n;

const current: Behind = { generations: 0, isChain: false };

/** What is signed, and the data once it is. */
type Drafted = {
  readonly toSign: Uint8Array;
  readonly terms: SponsorshipTerms | TokenTerms;
  readonly dataWith: (signature: Uint8Array) => Hex;
};

/** The data that the service would sign, signed with a key that the contract accepts, without the service. */
export function forge(
  configs: Configs,
  asked: Asked,
  {
    chainTime,
    sign,
    now,
    signedBy,
  }: {
    readonly chainTime: number;
    readonly sign: Sign;
    readonly now: EpochMs;
    readonly signedBy: number;
  },
): Signed | undefined {
  const drafted = draft(configs, asked, { chainTime, now, behind: current });
  if (drafted === undefined) return undefined;
  return {
    paymasterAndData: drafted.dataWith(sign(drafted.toSign, signedBy)),
    validUntil: drafted.terms.validUntil,
    signedBy,
  };
}

/** What a replica knows when it decides a request; undefined when it serves nothing, or does not know the key. */
export function factsOf(
  configs: Configs,
  asked: Pick<Asked, 'paymaster' | 'op' | 'keyGeneration' | 'expirySeconds' | 'paymasterGas'>,
  { chainTime, behind }: { readonly chainTime: number; readonly behind: Behind },
) {
  const chain = configs.chain(behind.isChain);
  const paymaster = configs.paymaster(asked.paymaster, behind.generations);
  // A replica that is behind knows the keys of that time.
  const key = apiKeyHash(paymaster.paymasterId, asked.keyGeneration);
  if (behind.generations === 0 && !paymaster.keys.includes(key)) return undefined;
  const profile = chain.profiles.get(paymaster.version);
  if (profile === undefined) return undefined;
  const byDefault = servesByDefault(profile, paymaster.namespace)
    ? profile.defaultFunding?.address
    : undefined;
  const paymasterGas = signedGas(profile, asked);
  // Of a case, what the drafts read.
  return {
    paymaster,
    chain,
    profile,
    paymasterGas,
    options: { ...profile.options, paymasterGas },
    funding: profile.keepsBalances ? (paymaster.fundingAddress ?? byDefault) : byDefault,
    expirySeconds: Math.min(asked.expirySeconds, paymaster.maxExpirySeconds, chain.maxExpirySeconds),
    // No policy ends.
    lastSecond: Number.POSITIVE_INFINITY,
    head: { timestamp: chainTime },
    shadow: new Shadow(),
    usdPerNative: configs.price === undefined ? undefined : configs.price * 10n ** 12n,
  };
}

/** For what the caller writes into the operation; on EntryPoint 0.6 it has no such members. */
function signedGas(
  profile: ServedProfile,
  { op, paymasterGas: asked }: Pick<Asked, 'op' | 'paymasterGas'>,
): PaymasterGas {
  const { layout, options, paymasterGas: own, entryPointVersion } = profile;
  if (asked === 'none' || !entryPointRules[entryPointVersion].form.hasPaymasterFields) return own;
  const most = {
    paymasterVerificationGasLimit: own.paymasterVerificationGasLimit + mostAboveOurs,
    paymasterPostOpGasLimit: own.paymasterPostOpGasLimit + mostAboveOurs,
  };
  const paymasterGas = asked === 'least' ? layout.sponsorship.minGas(options) : most;
  return choosePaymasterGas(profile, { op: { ...op, paymasterGas } });
}

function draft(
  configs: Configs,
  asked: Asked,
  { chainTime, now, behind }: { readonly chainTime: number; readonly now: EpochMs; readonly behind: Behind },
): Drafted | undefined {
  const facts = factsOf(configs, asked, { chainTime, behind });
  if (facts === undefined) return undefined;
  const { profile } = facts;
  if (asked.mode === 'SPONSORED') {
    const { terms, toSign } = draftSponsorship(facts as unknown as SponsorCase, asked.op, now);
    const dataWith = (signature: Uint8Array) => profile.layout.sponsorship.encode(asked.op, terms, signature);
    return { terms, toSign: toSign.digest, dataWith };
  }
  const tokenFacts = tokenCaseOf(facts);
  const { mode } = tokenFacts;
  const terms = tokenTermsOf(tokenFacts, asked, now);
  const { toSign } = draftPayment(tokenFacts, asked.op, terms, now);
  const dataWith = (signature: Uint8Array) => mode.codec.encode(asked.op, terms, signature);
  return { terms, toSign: toSign.digest, dataWith };
}

/** The same facts in mode ERC20: what the drafts read. */
export function tokenCaseOf(facts: NonNullable<ReturnType<typeof factsOf>>): TokenCase {
  const { profile } = facts;
  const payer = profile.keepsBalances ? treasury : undefined;
  const token = { address: feeToken, premiumPercentage: '0' };
  return { ...facts, mode: profile.token!, payer, token, feeToken } as unknown as TokenCase;
}

export function tokenTermsOf(
  facts: TokenCase,
  { inAdvance }: Pick<Asked, 'inAdvance'>,
  now: EpochMs,
): TokenTerms {
  const { mode, paymaster, expirySeconds } = facts;
  return {
    chainId: paymaster.chainId,
    paymaster: mode.contract,
    token: feeToken,
    exchangeRate: rate,
    priceMarkup: 1_000_000,
    ...chooseValidity(facts, secondsOf(now)),
    validUntil: plusSeconds(secondsOf(now), expirySeconds),
    options: mode.options,
    ...(inAdvance ? { inAdvance: true as const } : {}),
  };
}
