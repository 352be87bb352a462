import { numberToHex, type Hex } from 'viem';
import {
  formatUserOperationRequest,
  type GetPaymasterDataParameters,
  type GetPaymasterStubDataParameters,
  type PaymasterActions,
  type UserOperation,
} from 'viem/account-abstraction';
import { explainMode, type Explanation, type ExplainOptions } from './explain.js';
import { call, type Endpoint } from './json-rpc.js';
import { readAnswer, readSignature } from './answer.js';

export type PaymasterOptions = {
  /** The service's JSON-RPC address, with chain and apiKey: `https://…/api/v1/{chainId}/{apiKey}`. */
  readonly url: string;
  /**
   * Who estimates gas. `bundler`: the bundler, with the service's stub data; then the service signs those limits. `paymaster`: the
   * service, in the one call that also signs them, which saves two round trips. Default: `bundler`.
   */
  readonly gasLimits?: 'bundler' | 'paymaster';
  /**
   * EntryPoint 0.9: the service reserves first (`commit`) and signs once the account has signed ({@link Paymaster.finalize}). Only for
   * contracts that read the signature at the end of the data. Default: false.
   */
  readonly signingPhases?: boolean;
  /** Token of the paymaster's organisation, for `explainSponsorship` only. Never put one into a wallet. */
  readonly authToken?: string;
  /** Deadline of a request in milliseconds. Default: 20,000. */
  readonly timeoutMs?: number;
};

/** The `paymaster` of viem's `createBundlerClient`, and what is asked beside it. All of it throws PaymasterError. */
export type Paymaster = Partial<Pick<PaymasterActions, 'getPaymasterStubData'>> &
  Pick<PaymasterActions, 'getPaymasterData'> & {
    /**
     * With `signingPhases`: the paymaster's signature for an operation that its account has signed, in place of the placeholder.
     * Everything else of the operation must be as it was prepared, and `context` the one that it was prepared with. Asked again, it
     * answers the same.
     */
    finalize(
      signed: GetPaymasterDataParameters & { readonly signature: Hex },
    ): Promise<{ readonly paymasterSignature: Hex }>;
    /** Why this operation would be sponsored or refused. Signs and reserves nothing. Needs `authToken`. */
    explainSponsorship(userOperation: UserOperation, options?: ExplainOptions): Promise<Explanation>;
  };

/**
 * A paymaster client for the EntryPoints that the service supports.
 *
 * Unlike viem's `createPaymasterClient` (since 2.57.18) it hands on every field that the service signed, gas limits included, so
 * the signed operation is the one that is sent.
 *
 * @example
 * const paymaster = createPaymaster({ url, gasLimits: 'paymaster' });
 * const wallet = createBundlerClient({ account, client, paymaster, transport: http(url) });
 */
export function createPaymaster(options: PaymasterOptions): Paymaster {
  const { url, gasLimits = 'bundler', signingPhases = false, authToken, timeoutMs = 20_000 } = options;
  const phase = signingPhases ? { signingPhase: 'commit' } : {};
  const endpoint: Endpoint = { url, timeoutMs, headers: {} };
  const ask = (method: string, parameters: GetPaymasterDataParameters, extra: object): Promise<unknown> => {
    const { chainId, entryPointAddress, context, ...userOperation } = parameters;
    const operation = formatUserOperationRequest(userOperation as UserOperation);
    return call(endpoint, method, [
      operation,
      entryPointAddress,
      numberToHex(chainId),
      mergeContext(context, extra),
    ]);
  };

  const shared: Pick<Paymaster, 'explainSponsorship' | 'finalize'> = {
    finalize: async (signed) =>
      readSignature(await ask('pm_getPaymasterData', signed, { signingPhase: 'finalize' })),
    explainSponsorship: async (userOperation, explainOptions = {}) => {
      const headers: Record<string, string> = authToken === undefined ? {} : { authToken };
      const params = [formatUserOperationRequest(userOperation), explainMode(explainOptions)];
      return (await call({ ...endpoint, headers }, 'pm_explainSponsorship', params)) as Explanation;
    },
  };
  if (gasLimits === 'paymaster')
    return {
      // viem calls it in place of the stub, finds every limit in the answer, and estimates nothing.
      getPaymasterData: async (parameters) =>
        readAnswer(await ask('pm_getPaymasterData', parameters, { ...phase, calculateGasLimits: true })),
      ...shared,
    };
  return {
    getPaymasterStubData: async (parameters: GetPaymasterStubDataParameters) =>
      readAnswer(await ask('pm_getPaymasterStubData', parameters, phase)),
    getPaymasterData: async (parameters) => readAnswer(await ask('pm_getPaymasterData', parameters, phase)),
    ...shared,
  };
}

/** The caller's context with our members; a context that is not an object is the service's to refuse. */
function mergeContext(context: unknown, extra: object): unknown {
  if (context === undefined || context === null) return extra;
  return typeof context === 'object' ? { ...context, ...extra } : context;
}
