import { pass, refuse } from '../../core/refusal.js';
import type { Hex } from '../../core/units/hex.js';
import type { Clock } from '../../core/units/time.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { AccountValidator } from '../../core/userop/account-validation.js';
import type { Sponsorship } from '../../server/decision/request.js';
import type { SponsorCase } from '../../server/decision/sponsored-case.js';
import { draftSponsorship, sponsoredMode } from '../../server/decision/sponsored.js';
import { createCommit, createFinalize, type TwoPhaseDeps } from '../../server/decision/two-phase.js';
import { signingKeys } from './chain/signing-keys.js';
import { factsOf, type Asked, type Behind, type Sign } from './service.js';
import type { Configs } from './world.js';

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
  const found = phaseOf(usage, configs, asked, context);
  if (found === undefined) return undefined;
  const { deps, mode, on, signedBy } = found;
  return { sponsorship: await createCommit(deps, mode)(on.paymaster, on.request), signedBy };
}

/** The second phase, of data that a commit has answered. */
export async function finalize(
  usage: UsageStore,
  configs: Configs,
  { committed, ...asked }: Asked & { readonly committed: Hex },
  context: PhaseContext,
): Promise<PhaseAnswer | undefined> {
  const found = phaseOf(usage, configs, asked, context);
  if (found === undefined) return undefined;
  const { deps, mode, on, signedBy } = found;
  const sponsor = createFinalize(deps, mode, mode.finalize);
  return { sponsorship: await sponsor(on.paymaster, { ...on.request, committed }), signedBy };
}

const { encode, subject, finalize: finalizing } = sponsoredMode({} as never);

/** The serving code's two phases, without HTTP, rules of the operation and simulations of its gas. */
function phaseOf(
  usage: UsageStore,
  configs: Configs,
  asked: Asked,
  { clock, chainTime, sign, behind, accounts }: PhaseContext,
) {
  const facts = factsOf(configs, asked, { chainTime, behind });
  const signer = facts?.profile.signer();
  if (facts === undefined || signer === undefined || facts.profile.unusable !== undefined) return undefined;
  const signedBy = signingKeys.indexOf(signer.address);
  const { op } = asked;
  const request = { op, phase: undefined };
  const on = { ...facts, request, op, signer, estimating: false } as unknown as SponsorCase;
  const deps: TwoPhaseDeps = {
    // A replica that is behind does not hear of a newer config either.
    view: { refresh: async () => undefined, isCurrent: () => true },
    usage,
    accounts,
    clock,
    signing: { sign: async (_, digest) => sign(digest, signedBy) },
  };
  const mode = {
    gather: () => on,
    steps: [],
    draft: draftSponsorship,
    encode,
    stub: () => '0x' as const,
    gas: ({ profile }: SponsorCase) => profile.paymasterGas,
    subject,
    finalize: { steps: [], redraft: finalizing.redraft },
  };
  return { deps, mode, on, signedBy };
}
