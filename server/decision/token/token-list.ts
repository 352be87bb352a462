import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import { isDomainError } from '../../../core/errors.js';
import { sponsorshipStub, tokenStubForLater } from '../../../core/paymaster/stub.js';
import { rateWithMarkup } from '../../../core/paymaster/token-price.js';
import type { FeeTokenSpec } from '../../../core/pricing/fee-token-spec.js';
import { parseMarkup } from '../../../core/pricing/rate.js';
import { type Prices, requirePrice } from '../../../core/pricing/price-source.js';
import { type Address, parseAddressKey } from '../../../core/units/address.js';
import type { Hex } from '../../../core/units/hex.js';
import type { ConfigView } from '../../view/config-view.js';
import type { ServedProfile, ServedTokenMode } from '../../view/served-chain.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import { requireProfile } from '../facts.js';
import { noWallet, choosePayer } from '../steps/sponsored-case.js';

/** What a wallet needs to estimate an operation, and to choose a token, before it asks for data. */
type SupportedTokens = {
  /** Tokens whose price may be used now; `rate` in base units per 10^18 wei, premium included, rounded up. */
  readonly tokens: readonly (Pick<FeeTokenSpec, 'symbol' | 'address' | 'decimals'> & {
    readonly rate: bigint;
  })[];
  /** `paymasterAndData` for an estimate. */
  readonly stub: Hex;
  /** Contract that the account has to allow to take its tokens. */
  readonly spender: Address;
  /** First topic of the event about a payment in tokens; `0x` without one. */
  readonly eventTopic: Hex;
};

export type TokenList = (paymaster: ServedPaymaster) => Promise<SupportedTokens>;

/** Reads the served configs and the cached prices only: no operation is known yet, so nothing is decided. */
export function createTokenList(deps: {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly prices: Pick<Prices, 'peek' | 'get'>;
}): TokenList {
  const { view, prices } = deps;
  return async (paymaster) => {
    const profile = requireProfile(view, paymaster);
    const { token: mode } = profile;
    const served = mode === undefined ? [] : [...(view.chain(paymaster.chainId)?.feeTokens.values() ?? [])];
    const priced = await listPricedTokens(prices, served);
    return {
      tokens: priced.map(({ token: { symbol, address, decimals }, charged }) => ({
        symbol,
        address,
        decimals,
        rate: charged,
      })),
      stub: composeStub(paymaster, profile, priced[0]),
      spender: mode?.contract ?? profile.contract,
      eventTopic: mode?.codec.chargeTopics[0] ?? '0x',
    };
  };
}

export type PricedToken = {
  readonly token: FeeTokenSpec;
  readonly exchangeRate: bigint;
  readonly priceMarkup: number;
  /** US dollars per 10^18 wei with 18 implied decimals, where the source knows it. */
  readonly usdPerNative: bigint | undefined;
  /** The rate with its premium. */
  readonly charged: bigint;
};

/** Those whose price may be used now. */
export async function listPricedTokens(
  prices: Pick<Prices, 'peek' | 'get'>,
  tokens: readonly FeeTokenSpec[],
): Promise<readonly PricedToken[]> {
  return (await Promise.all(tokens.map((token) => price(prices, token)))).flat();
}

/** Empty without a usable price, and for a rate that no contract could charge. */
async function price(
  prices: Pick<Prices, 'peek' | 'get'>,
  token: FeeTokenSpec,
): Promise<readonly PricedToken[]> {
  const answer = prices.peek(token) ?? (await prices.get(token));
  try {
    const { rate: exchangeRate, usdPerNative } = requirePrice(token, answer);
    const priceMarkup = Number(parseMarkup(token.premiumPercentage));
    const charged = rateWithMarkup({ exchangeRate, priceMarkup });
    return [{ token, exchangeRate, priceMarkup, usdPerNative, charged }];
  } catch (error) {
    if (isDomainError(error, 'FEE_TOKEN_UNSUPPORTED') || error instanceof RangeError) return [];
    throw error;
  }
}

/**
 * One stub for both modes, since clients ask for it before they know their mode. That of mode SPONSORED where somebody
 * pays: its simulation passes also for an account without tokens. Its gas limits are those of mode ERC20, the larger ones: mode SPONSORED
 * signs what a client has kept, and a payment is bounded by its own.
 */
function composeStub(
  paymaster: ServedPaymaster,
  profile: ServedProfile,
  first: PricedToken | undefined,
): Hex {
  const { token: mode } = profile;
  const payer = choosePayer(profile, paymaster);
  if (payer === undefined && mode !== undefined && first !== undefined)
    return stubInTokens(paymaster, mode, first);
  return sponsorshipStub(profile.layout.sponsorship, nothing, {
    chainId: paymaster.chainId,
    paymaster: profile.contract,
    fundingAddress: payer ?? noWallet,
    options:
      mode === undefined || first === undefined
        ? profile.options
        : { ...profile.options, paymasterGas: mode.gas },
  });
}

function stubInTokens(
  { chainId }: ServedPaymaster,
  { codec, contract, options }: ServedTokenMode,
  { token, exchangeRate, priceMarkup }: PricedToken,
): Hex {
  return tokenStubForLater(codec, nothing, {
    chainId,
    paymaster: contract,
    token: parseAddressKey(token.address),
    exchangeRate,
    priceMarkup,
    options,
  });
}

/** Data depend on no field of the operation but its limits, which nobody knows yet. */
export const nothing: FinalUserOperation = {
  sender: noWallet,
  nonce: 0n,
  initCode: '0x',
  callData: '0x',
  callGasLimit: 0n,
  verificationGasLimit: 0n,
  preVerificationGas: 0n,
  maxFeePerGas: 0n,
  maxPriorityFeePerGas: 0n,
  signature: '0x',
};
