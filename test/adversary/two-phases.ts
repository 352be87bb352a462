import { pass, refuse } from '../../core/refusal.js';
import type { Hex } from '../../core/units/hex.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { AccountValidator } from '../../core/userop/account-validation.js';
import { createCommit, createFinalize } from '../../server/decision/sign/two-phase.js';
import type { Configs } from './configs.js';
import type { Asked } from './service.js';
import { answered, requestOf, signing, type Answer, type Present } from './signing.js';

/** What the account of an operation answers to its own signature. */
export const accountSignature: Hex = '0x5161';
export const foreignSignature: Hex = '0xbad0';

export type PhaseContext = Present & { readonly accounts: AccountValidator };

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
  { accounts, ...present }: PhaseContext,
): Promise<Answer | undefined> {
  const found = signing(usage, configs, asked, present);
  if (found === undefined) return undefined;
  const deps = { ...found.deps, accounts };
  return answered(found, asked, async (mode) =>
    createCommit(deps, mode)(found.facts.paymaster, requestOf(asked)),
  );
}

/** The second phase, of data that a commit has answered. */
export async function finalize(
  usage: UsageStore,
  configs: Configs,
  { committed, ...asked }: Asked & { readonly committed: Hex },
  { accounts, ...present }: PhaseContext,
): Promise<Answer | undefined> {
  const found = signing(usage, configs, asked, present);
  if (found === undefined) return undefined;
  const deps = { ...found.deps, accounts };
  return answered(found, asked, async (mode) =>
    createFinalize(deps, mode, mode.finalize)(found.facts.paymaster, { ...requestOf(asked), committed }),
  );
}
