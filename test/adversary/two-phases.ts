import { pass, refuse } from '../../core/refusal.js';
import type { Hex } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { AccountValidator } from '../../core/userop/account-validation.js';
import type { SponsorshipTerms, TokenTerms } from '../../core/paymaster/layout.js';
import { draftPayment, tokenMode, type TokenCase } from '../../server/decision/in-tokens.js';
import type { Sponsorship, SponsorRequest } from '../../server/decision/request.js';
import type { SponsorCase } from '../../server/decision/sponsored-case.js';
import { sponsoredMode } from '../../server/decision/sponsored.js';
import type { Case, Finalize, Mode, Window } from '../../server/decision/step.js';
import { createCommit, createFinalize, type TwoPhaseDeps } from '../../server/decision/two-phase.js';
import { signingKeys } from './chain/signing-keys.js';
import { factsOf, tokenCaseOf, tokenTermsOf, type Asked, type Behind, type Sign } from './service.js';
import type { Configs } from './configs.js';

/** What the account of an operation answers to its own signature. */
export const accountSignature: Hex = '0x5161';
export const foreignSignature: Hex = '0xbad0';

export type PhaseContext = {
  readonly clock: Clock;
  readonly chainTime: number;
  readonly sign: Sign;
  readonly behind: Behind;
  readonly accounts: AccountValidator;
};

/** An answer to a commit or a finalize. `signedBy`: which of the service's keys signs. */
export type PhaseAnswer = { readonly sponsorship: Sponsorship; readonly signedBy: number };

/** Accounts that accept {@link accountSignature} alone. `simulated` is called before an answer. */
export function createAccounts(simulated: () => void): AccountValidator {
  return {
    validate: async ({ op }) => {
      simulated();
      if (op.signature === accountSignature) return pass;
      return refuse('ACCOUNT_VALIDATION_FAILED', 'the account does not accept the signature');
    },
  };
}

/** The first phase. Undefined when nothing is served, or the key is not known; throws what the store throws. */
export async function commit(
  usage: UsageStore,
  configs: Configs,
  asked: Asked,
  context: PhaseContext,
): Promise<PhaseAnswer | undefined> {
  const found = signing(usage, configs, asked, context);
  if (found === undefined) return undefined;
  const { deps, facts, signedBy } = found;
  const run = <C extends Case, Terms extends Window>(mode: Phases<C, Terms>) =>
    createCommit(deps, mode)(facts.paymaster, requestOf(asked));
  return {
    sponsorship: await (asked.mode === 'ERC20' ? run(inTokens(found)) : run(sponsored(found))),
    signedBy,
  };
}

/** The second phase, of data that a commit has answered. */
export async function finalize(
  usage: UsageStore,
  configs: Configs,
  { committed, ...asked }: Asked & { readonly committed: Hex },
  context: PhaseContext,
): Promise<PhaseAnswer | undefined> {
  const found = signing(usage, configs, asked, context);
  if (found === undefined) return undefined;
  const { deps, facts, signedBy } = found;
  const run = <C extends Case, Terms extends Window>(mode: Phases<C, Terms>) =>
    createFinalize(deps, mode, mode.finalize)(facts.paymaster, { ...requestOf(asked), committed });
  return {
    sponsorship: await (asked.mode === 'ERC20' ? run(inTokens(found)) : run(sponsored(found))),
    signedBy,
  };
}

type Phases<C extends Case, Terms extends Window> = Mode<SponsorRequest, C, Terms> & {
  readonly finalize: Finalize<C, Terms>;
};
type Signing = NonNullable<ReturnType<typeof signing>>;

const sponsoredParts = sponsoredMode({} as never);
const tokenParts = tokenMode({} as never);

/** The serving code's mode, without rules of the operation, and with limits that the caller gave. */
function sponsored({ facts, asked, signer }: Signing): Phases<SponsorCase, SponsorshipTerms> {
  const on = { ...facts, ...caseOf(asked), signer } as unknown as SponsorCase;
  const { redraft } = sponsoredParts.finalize;
  return { ...sponsoredParts, gather: () => on, steps: [], finalize: { steps: [], redraft } };
}

/** The same in mode ERC20, without prices and simulations of the payment. */
function inTokens({ facts, asked, signer }: Signing): Phases<TokenCase, TokenTerms> {
  const on = { ...tokenCaseOf(facts), ...caseOf(asked), signer } as TokenCase;
  const { redraft } = tokenParts.finalize;
  return {
    ...tokenParts,
    gather: () => on,
    steps: [],
    draft: (_, op, now) => draftPayment(on, op, tokenTermsOf(on, asked, now), now),
    finalize: { steps: [], redraft },
  };
}

function caseOf(asked: Asked) {
  return { request: requestOf(asked), op: asked.op, estimating: false };
}

function requestOf({ op }: Asked): SponsorRequest {
  return {
    op,
    calculateGasLimits: false,
    expirySeconds: undefined,
    webhookData: {},
    requestId: 'adversary',
    method: 'pm_getPaymasterData',
  };
}

/** A replica of this config, and its key; undefined when it signs nothing. */
function signing(
  usage: UsageStore,
  configs: Configs,
  asked: Asked,
  { clock, chainTime, sign, behind, accounts }: PhaseContext,
) {
  const facts = factsOf(configs, asked, { chainTime, behind });
  const signer = facts?.profile.signer();
  if (facts === undefined || signer === undefined || facts.profile.unusable !== undefined) return undefined;
  const signedBy = signingKeys.indexOf(signer.address);
  const deps: TwoPhaseDeps = {
    // A replica that is behind does not hear of a newer config either.
    view: { refresh: async () => undefined, isCurrent: () => true },
    usage,
    accounts,
    clock,
    signing: { sign: async (_, digest) => sign(digest, signedBy) },
  };
  return { deps, facts, asked, signer, signedBy };
}
