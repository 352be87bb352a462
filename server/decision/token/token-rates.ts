import { entryPointRules } from '../../../core/entry-point/table.js';
import type { FinalUserOperation } from '../../../core/entry-point/user-operation.js';
import type { Prices } from '../../../core/pricing/price-source.js';
import { parseAddressKey, toAddressKey, parseAddress, type Address } from '../../../core/units/address.js';
import { divideUp } from '../../../core/units/wei.js';
import type { ServedProfile, ServedTokenMode } from '../../view/served-chain.js';
import type { ServedPaymaster } from '../../view/served-paymaster.js';
import { requireHead, requireProfile, type FactDeps } from '../facts.js';
import { inRange } from '../steps/in-range.js';
import { nothing, listPricedTokens, type PricedToken } from './token-list.js';

/** From which a client computes what an operation can cost in a token at most. */
type TokenRate = {
  readonly address: Address;
  /** Base units per 10^18 wei, premium included, rounded up. */
  readonly rate: bigint;
  /** What the contract may take above the sum of the operation's gas limits, the paymaster's included, in gas. */
  readonly extraGas: bigint;
  /** US dollars per 10^18 wei with 18 implied decimals. */
  readonly usdPerNative: bigint | undefined;
};

type SpenderRates = {
  /** Contract that the account has to allow to take its tokens. */
  readonly spender: Address;
  /** In the order of the tokens; none for a token without a usable price. */
  readonly rates: readonly TokenRate[];
};

export type TokenRates = (paymaster: ServedPaymaster, tokens: readonly string[]) => Promise<SpenderRates>;

type RateDeps = Pick<FactDeps, 'view' | 'heads' | 'clock'> & { readonly prices: Prices };

/** Reads served configs, the head and prices. Throws UNAVAILABLE where the chain was not read lately. */
export function createTokenRates({ view, heads, clock, prices }: RateDeps): TokenRates {
  return async (paymaster, tokens) => {
    const profile = requireProfile(view, paymaster);
    const { token: mode } = profile;
    const { chainId } = paymaster;
    const served = view.chain(chainId)?.feeTokens;
    const named = tokens.flatMap((token) => served?.get(toAddressKey(parseAddress(token))) ?? []);
    if (mode === undefined || named.length === 0)
      return { spender: mode?.contract ?? profile.contract, rates: [] };
    const { baseFeePerGas, priorityFeePerGas } = requireHead(heads, chainId, clock.now());
    const now = baseFeePerGas + priorityFeePerGas;
    const fee = now > minFee ? now : minFee;
    const priced = await listPricedTokens(prices, named);
    const rates = priced.flatMap((one) => {
      // The contract's arithmetic would overflow: the token is left out.
      const gas = inRange(() => extraGas(profile, mode, one, { chainId, fee }));
      if (gas === undefined) return [];
      return [
        {
          address: parseAddress(one.token.address),
          rate: one.charged,
          extraGas: gas,
          usdPerNative: one.usdPerNative ?? prices.usdPerNative(chainId),
        },
      ];
    });
    return { spender: mode.contract, rates };
  };
}

/**
 * A client adds up the limits of its operation. EntryPoint 0.6 counts the limit of validation three times, and later ones charge a tenth of
 * unused gas, which the client does not know. The figure covers both for limits up to these. An operation with larger ones may allow too
 * few tokens; then it is refused before anything is signed.
 */
const largest = { callGasLimit: 500_000n, verificationGasLimit: 700_000n };
/** In wei. A constant fee is shown as gas, and at lower fees it would be millions. */
const minFee = 1_000_000n;
/** A client rounds down, and so may the rate. */
const rounding = 2n;

/** At a fee with which the operation is just mined, since a constant fee counts most there. */
function extraGas(
  { entryPointVersion }: ServedProfile,
  mode: ServedTokenMode,
  { token, exchangeRate, priceMarkup, charged }: PricedToken,
  { chainId, fee }: { readonly chainId: number; readonly fee: bigint },
): bigint {
  const { hasPaymasterFields } = entryPointRules[entryPointVersion].form;
  const op: FinalUserOperation = {
    ...nothing,
    ...largest,
    maxFeePerGas: fee,
  };
  const tokens = mode.codec.maxTokenCharge(op, {
    chainId,
    paymaster: mode.contract,
    token: parseAddressKey(token.address),
    exchangeRate,
    priceMarkup,
    validUntil: 0,
    validAfter: 0,
    options: mode.options,
  });
  const gas = divideUp((tokens + rounding) * 10n ** 18n, charged * fee);
  const { paymasterVerificationGasLimit, paymasterPostOpGasLimit } = mode.gas;
  const ofPaymaster = hasPaymasterFields ? paymasterVerificationGasLimit + paymasterPostOpGasLimit : 0n;
  const added = op.callGasLimit + op.verificationGasLimit + ofPaymaster;
  return gas > added ? gas - added : 0n;
}
