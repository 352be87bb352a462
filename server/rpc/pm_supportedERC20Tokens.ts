import { entryPointRules } from '../../core/entry-point/table.js';
import { hexQuantity, type Hex } from '../../core/units/hex.js';
import { requireProfile } from '../decision/facts.js';
import type { TokenList } from '../decision/token/token-list.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedProfile } from '../view/served-chain.js';
import { requireEntryPoint } from './entry-point-form.js';
import { answering, type RpcMethod } from './method.js';

export type TokenListMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly supportedTokens: TokenList;
};

/** `params`: `[entryPoint]`, or none. The answer has the names and forms that AbstractionKit reads. */
export function pm_supportedERC20Tokens({ view, supportedTokens }: TokenListMethodDeps): RpcMethod {
  return answering(async ([entryPoint], { paymaster }) => {
    const profile = requireProfile(view, paymaster);
    if (entryPoint !== undefined) requireEntryPoint(entryPoint, profile, 'params[0]');
    const { tokens, stub, spender, eventTopic } = await supportedTokens(paymaster);
    const { name = profile.layout.title, icon } = paymaster.sponsor ?? {};
    return {
      paymasterMetadata: {
        name,
        description: profile.layout.title,
        icons: icon === undefined ? [] : [icon],
        address: spender,
        sponsoredEventTopic: eventTopic,
        dummyPaymasterAndData: renderStub(profile, stub),
      },
      tokens: tokens.map(({ symbol, address, decimals, rate }) => ({
        // FeeTokens have no other name.
        name: symbol,
        symbol,
        address,
        decimals,
        exchangeRate: hexQuantity(rate),
      })),
    };
  });
}

function renderStub({ entryPointVersion }: ServedProfile, stub: Hex): unknown {
  const { hasPaymasterFields, renderPaymaster } = entryPointRules[entryPointVersion].form;
  return hasPaymasterFields ? renderPaymaster(stub) : stub;
}
