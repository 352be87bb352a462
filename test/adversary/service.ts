import type { FinalUserOperation } from '../../core/userop/user-operation.js';
import type { Hex } from '../../core/units/hex.js';
import type { AddressKey } from '../../core/units/address.js';
import { plusSeconds } from '../../core/units/time.js';
import { stubSignature } from '../../core/paymaster/signature.js';
import type { TokenTerms } from '../../core/paymaster/layout.js';
import { reserve, type Reserved } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import { planReservation } from '../../server/decision/reservation.js';
import type { SponsorCase } from '../../server/sponsorship/case.js';
import { draftSponsorship } from '../../server/sponsorship/promise.js';
import type { TokenCase } from '../../server/token-payment/case.js';
import { unsecuredOf } from '../../server/token-payment/draft.js';
import { draftPayment } from '../../server/token-payment/promise.js';
import { windowOf } from '../../server/sponsorship/terms.js';
import { servesByDefault, type ServedProfile } from '../../server/view/served-chain.js';
import { feeToken, secondsOf, treasury, type Configs } from './world.js';

/** What somebody asks a replica to sign. */
export type Asked = {
  readonly paymaster: number;
  readonly mode: 'SPONSORED' | 'ERC20';
  readonly op: FinalUserOperation;
  readonly expirySeconds: number;
  /** Mode ERC20: with data that demand the tokens in validation. */
  readonly inAdvance: boolean;
};

export type Answer = {
  readonly result: Reserved['result'];
  readonly paymasterAndData: Hex;
  readonly validUntil: number;
};

export const rate = 3_000_000_000n;
/** Signs a contract's hash. */
export type Sign = (hash: Uint8Array) => Uint8Array;
/** On the model nobody compares it: the contract is told whether it is good. */
export const signNothing: Sign = () => stubSignature();

/**
 * A replica that serves these configs over a usage store: terms, promise, reservation and data by the code that serves requests,
 * without HTTP, prices and simulations. `generations`: of a config that this replica has not been told of, older ones. Undefined when
 * nothing is served; throws what the store throws.
 */
export async function ask(
  usage: UsageStore,
  configs: Configs,
  asked: Asked,
  {
    chainTime,
    sign = signNothing,
    generationsBehind = 0,
  }: { readonly chainTime: number; readonly sign?: Sign; readonly generationsBehind?: number },
): Promise<Answer | undefined> {
  const chain = configs.chain();
  const served = configs.paymaster(asked.paymaster);
  const paymaster = { ...served, configGeneration: served.configGeneration - generationsBehind };
  const profile = chain.profiles.get(paymaster.version);
  if (profile === undefined) return undefined;
  const now = usage.now();
  // Of a case, what the steps below read.
  const facts = {
    paymaster,
    chain,
    profile,
    expirySeconds: Math.min(asked.expirySeconds, paymaster.maxExpirySeconds, chain.maxExpirySeconds),
    head: { timestamp: chainTime },
  };
  if (asked.mode === 'SPONSORED') {
    const funding = profile.keepsBalances
      ? (paymaster.fundingAddress ?? defaultOf(profile, paymaster.namespace))
      : defaultOf(profile, paymaster.namespace);
    const draft = draftSponsorship({ ...facts, funding } as unknown as SponsorCase, asked.op, now);
    const { result } = await reserve(usage, planReservation(draft.promised, usage.capacity()));
    const paymasterAndData = profile.layout.sponsorship.encode(asked.op, draft.terms, sign(draft.hash));
    return { result, paymasterAndData, validUntil: draft.terms.validUntil };
  }
  const mode = profile.token!;
  const tokenFacts = { ...facts, mode } as unknown as TokenCase;
  const terms: TokenTerms = {
    chainId: paymaster.chainId,
    paymaster: mode.contract,
    token: feeToken,
    exchangeRate: rate,
    priceMarkup: 1_000_000,
    ...windowOf(tokenFacts, secondsOf(now)),
    validUntil: plusSeconds(secondsOf(now), facts.expirySeconds),
    options: mode.options,
    ...(asked.inAdvance ? { inAdvance: true as const } : {}),
  };
  const payer: AddressKey | undefined = profile.keepsBalances ? treasury : undefined;
  const stake = { payer, token: feeToken, unsecured: unsecuredOf(tokenFacts, asked.op, terms) };
  const { promised, hash } = draftPayment(tokenFacts, asked.op, terms, { stake, now });
  const { result } = await reserve(usage, planReservation(promised, usage.capacity()));
  return {
    result,
    paymasterAndData: mode.codec.encode(asked.op, terms, sign(hash)),
    validUntil: terms.validUntil,
  };
}

function defaultOf(profile: ServedProfile, namespace: string): AddressKey | undefined {
  return servesByDefault(profile, namespace) ? profile.defaultFunding?.address : undefined;
}
