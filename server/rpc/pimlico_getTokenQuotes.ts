import { invalidInput, quote } from '../../core/errors.js';
import { isObject } from '../../core/schema/json-value.js';
import { hexQuantity } from '../../core/units/hex.js';
import { requireProfile } from '../decision/facts.js';
import type { TokenRates } from '../decision/token/token-rates.js';
import type { ConfigView } from '../view/config-view.js';
import { requireChainId, requireEntryPoint } from './entry-point-form.js';
import { answering, type RpcMethod } from './method.js';
import { parseTokens } from './params.js';

export type TokenRatesDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly tokenRates: TokenRates;
};

/**
 * As Pimlico's clients ask. `params`: `[{tokens}, entryPoint, chainId]`. From a quote a client computes what to allow: (gas + postOpGas) ×
 * maxFeePerGas × exchangeRate / 10^18, which covers the most that is taken. A token without a usable price has no quote.
 */
export function pimlico_getTokenQuotes({ view, tokenRates }: TokenRatesDeps): RpcMethod {
  return answering(async ([asked, entryPoint, chainId], { paymaster }) => {
    requireEntryPoint(entryPoint, requireProfile(view, paymaster), 'params[1]');
    requireChainId(chainId, paymaster, 'params[2]');
    if (!isObject(asked) || !Array.isArray(asked['tokens']))
      throw invalidInput({
        field: 'params[0]',
        expected: 'an object with tokens, a list of addresses',
        value: quote(asked),
      });
    const { spender, rates } = await tokenRates(paymaster, parseTokens(asked['tokens'], 'params[0].tokens'));
    const quotes = rates.map(({ address, rate, extraGas, usdPerNative = 0n }) => ({
      paymaster: spender,
      token: address,
      postOpGas: hexQuantity(extraGas),
      exchangeRate: hexQuantity(rate),
      // Six decimals; 0: not known.
      exchangeRateNativeToUsd: hexQuantity(usdPerNative / 10n ** 12n),
    }));
    return { quotes };
  });
}
