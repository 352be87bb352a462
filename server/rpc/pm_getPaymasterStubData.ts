import { requireProfile } from '../decision/facts.js';
import type { TokenPaymentRequest } from '../decision/request.js';
import type { Stub } from '../decision/sign/stub.js';
import type { ConfigView } from '../view/config-view.js';
import { parseErc7677Params } from './entry-point-form.js';
import type { RpcMethod } from './method.js';
import { isJoined } from './paymaster-fields.js';
import { renderErc7677 } from './results.js';
import { renderPhase } from './signing-phases.js';

export type StubMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly sponsorStub: Stub;
  readonly tokenStub: Stub<TokenPaymentRequest>;
};

/** ERC-7677, first call of a wallet: data of the final shape that nobody has signed. */
export function pm_getPaymasterStubData({ view, sponsorStub, tokenStub }: StubMethodDeps): RpcMethod {
  return {
    async handle(params, context) {
      const { paymaster } = context;
      const profile = requireProfile(view, paymaster);
      const asked = parseErc7677Params(params, profile, paymaster, context);
      const paymasterAndData =
        asked.mode === 'ERC20'
          ? await tokenStub(paymaster, asked.request)
          : await sponsorStub(paymaster, asked.request);
      // In mode ERC20 the user pays, so no sponsor is shown.
      const sponsor = asked.mode === 'ERC20' ? undefined : paymaster.sponsor;
      // Not final: the signature covers the gas limits, and the wallet has not estimated those yet.
      const rendered =
        asked.request.phase === undefined
          ? renderErc7677(profile, paymasterAndData)
          : renderPhase(profile, paymasterAndData, isJoined(params[0]));
      const stub = { ...rendered, isFinal: false, sponsor };
      return { json: JSON.stringify(stub), outcome: 'answered' };
    },
    answersErrorsWithOk: () => true,
  };
}
