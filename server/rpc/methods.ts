import { alchemy_requestGasAndPaymasterAndData } from './alchemy_requestGasAndPaymasterAndData.js';
import { eth_estimateUserOperationGas } from './eth_estimateUserOperationGas.js';
import { eth_getUserOperationByHash } from './eth_getUserOperationByHash.js';
import { eth_getUserOperationReceipt } from './eth_getUserOperationReceipt.js';
import { eth_sendUserOperation, type BundlerMethodDeps } from './eth_sendUserOperation.js';
import type { FeeDeps } from './operation-with-fees.js';
import { pimlico_getTokenQuotes, type TokenRatesDeps } from './pimlico_getTokenQuotes.js';
import { pimlico_getUserOperationGasPrice } from './pimlico_getUserOperationGasPrice.js';
import { pm_chainId } from './pm_chainId.js';
import { pm_explainSponsorship, type ExplainMethodDeps } from './pm_explainSponsorship.js';
import { pm_getFeeQuoteOrData, type QuoteMethodDeps } from './pm_getFeeQuoteOrData.js';
import { pm_getPaymasterData } from './pm_getPaymasterData.js';
import { pm_getPaymasterStubData, type StubMethodDeps } from './pm_getPaymasterStubData.js';
import { pm_sponsorUserOperation, type SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { pm_supportedEntryPoints } from './pm_supportedEntryPoints.js';
import { pm_supportedERC20Tokens, type TokenListMethodDeps } from './pm_supportedERC20Tokens.js';
import { pm_validateSponsorshipPolicies, type PolicyMethodDeps } from './pm_validateSponsorshipPolicies.js';
import { rundler_maxPriorityFeePerGas } from './rundler_maxPriorityFeePerGas.js';
import { zd_getUserOperationGasPrice } from './zd_getUserOperationGasPrice.js';
import { zd_sponsorUserOperation } from './zd_sponsorUserOperation.js';
import type { RpcMethod } from './method.js';
import type { PhaseDeps } from './signing-phases.js';

type MethodDeps = SponsorMethodDeps &
  QuoteMethodDeps &
  ExplainMethodDeps &
  StubMethodDeps &
  TokenListMethodDeps &
  PhaseDeps &
  FeeDeps &
  TokenRatesDeps &
  PolicyMethodDeps &
  BundlerMethodDeps;

/** Every method that is served, by the name that clients call. */
export function createMethods(deps: MethodDeps) {
  return {
    pm_sponsorUserOperation: pm_sponsorUserOperation(deps),
    pm_getFeeQuoteOrData: pm_getFeeQuoteOrData(deps),
    pm_getPaymasterStubData: pm_getPaymasterStubData(deps),
    pm_getPaymasterData: pm_getPaymasterData(deps),
    pm_explainSponsorship: pm_explainSponsorship(deps),
    pm_chainId: pm_chainId(),
    pm_supportedEntryPoints: pm_supportedEntryPoints(deps),
    pm_supportedERC20Tokens: pm_supportedERC20Tokens(deps),
    // Of other services, whose clients know them alone.
    pm_validateSponsorshipPolicies: pm_validateSponsorshipPolicies(deps),
    pimlico_getTokenQuotes: pimlico_getTokenQuotes(deps),
    zd_sponsorUserOperation: zd_sponsorUserOperation(deps),
    alchemy_requestGasAndPaymasterAndData: alchemy_requestGasAndPaymasterAndData(deps),
    zd_getUserOperationGasPrice: zd_getUserOperationGasPrice(deps),
    biconomy_getGasFeeValues: zd_getUserOperationGasPrice(deps),
    rundler_maxPriorityFeePerGas: rundler_maxPriorityFeePerGas(deps),
    // Of bundlers, so that a client needs one URL.
    eth_chainId: pm_chainId(),
    eth_supportedEntryPoints: pm_supportedEntryPoints(deps),
    eth_estimateUserOperationGas: eth_estimateUserOperationGas(deps),
    eth_sendUserOperation: eth_sendUserOperation(deps),
    eth_getUserOperationByHash: eth_getUserOperationByHash(deps),
    eth_getUserOperationReceipt: eth_getUserOperationReceipt(deps),
    pimlico_getUserOperationGasPrice: pimlico_getUserOperationGasPrice(deps),
  } as const satisfies Record<string, RpcMethod>;
}

export type ServedMethods = ReturnType<typeof createMethods>;
export type RpcMethods = Readonly<Record<string, RpcMethod>>;
