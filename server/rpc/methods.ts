import { pm_chainId } from './pm_chainId.js';
import { pm_explainSponsorship, type ExplainMethodDeps } from './pm_explainSponsorship.js';
import { pm_getFeeQuoteOrData, type QuoteMethodDeps } from './pm_getFeeQuoteOrData.js';
import { pm_getPaymasterData } from './pm_getPaymasterData.js';
import { pm_getPaymasterStubData, type StubMethodDeps } from './pm_getPaymasterStubData.js';
import { pm_sponsorUserOperation, type SponsorMethodDeps } from './pm_sponsorUserOperation.js';
import { pm_supportedEntryPoints } from './pm_supportedEntryPoints.js';
import { pm_supportedERC20Tokens, type TokenListMethodDeps } from './pm_supportedERC20Tokens.js';
import type { RpcMethod } from './method.js';
import type { PhaseDeps } from './signing-phases.js';

type MethodDeps = SponsorMethodDeps &
  QuoteMethodDeps &
  ExplainMethodDeps &
  StubMethodDeps &
  TokenListMethodDeps &
  PhaseDeps;

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
  } as const satisfies Record<string, RpcMethod>;
}

export type ServedMethods = ReturnType<typeof createMethods>;
export type RpcMethods = Readonly<Record<string, RpcMethod>>;
