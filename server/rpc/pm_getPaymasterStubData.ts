import type { SponsorInfo } from '../../core/resources/paymaster.js';
import type { Hex } from '../../core/units/hex.js';
import { requireProfile } from '../decision/facts.js';
import type { TokenPaymentRequest } from '../decision/request.js';
import type { Stub } from '../decision/sign/stub.js';
import type { ConfigView } from '../view/config-view.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { parseErc7677Params, type ModeRequest } from './entry-point-form.js';
import { answering, type RpcMethod } from './method.js';
import { elsePay } from './otherwise.js';
import { isJoined } from './paymaster-fields.js';
import { renderErc7677 } from './results.js';
import { renderPhase } from './signing-phases.js';

export type StubMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  readonly sponsorStub: Stub;
  readonly tokenStub: Stub<TokenPaymentRequest>;
};

type StubData = { readonly paymasterAndData: Hex; readonly sponsor?: SponsorInfo | undefined };

/** ERC-7677, first call of a wallet: data of the final shape that nobody has signed. */
export function pm_getPaymasterStubData({ view, sponsorStub, tokenStub }: StubMethodDeps): RpcMethod {
  /** In mode ERC20 the user pays, so no sponsor is shown. */
  async function composeStub(asked: ModeRequest, paymaster: ServedPaymaster): Promise<StubData> {
    if (asked.mode === 'ERC20') return { paymasterAndData: await tokenStub(paymaster, asked.request) };
    const { request, otherwise } = asked;
    try {
      const { sponsor } = paymaster;
      return { paymasterAndData: await sponsorStub(paymaster, request), sponsor };
    } catch (error) {
      if (otherwise === undefined) throw error;
      return elsePay(error, async () => ({
        paymasterAndData: await tokenStub(paymaster, { ...request, ...otherwise }),
      }));
    }
  }

  return answering(async (params, context) => {
    const { paymaster } = context;
    const profile = requireProfile(view, paymaster);
    const asked = parseErc7677Params(params, profile, paymaster, context);
    const { paymasterAndData, sponsor } = await composeStub(asked, paymaster);
    // Not final: the signature covers the gas limits, and the wallet has not estimated those yet.
    const rendered =
      asked.request.phase === undefined
        ? renderErc7677(profile, paymasterAndData)
        : renderPhase(profile, paymasterAndData, isJoined(params[0]));
    return { ...rendered, isFinal: false, sponsor };
  });
}
