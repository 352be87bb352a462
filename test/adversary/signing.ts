import { silentLogger } from '../../core/log.js';
import type { Clock } from '../../core/units/time.js';
import type { Reserved } from '../../core/usage/plan.js';
import type { UsageStore } from '../../core/usage/usage-store.js';
import type { SponsorshipTerms, TokenTerms } from '../../core/paymaster/layout.js';
import { draftPayment, tokenMode } from '../../server/decision/token/in-tokens.js';
import type { TokenCase } from '../../server/decision/token/token-case.js';
import type { Sponsorship, SponsorRequest } from '../../server/decision/request.js';
import { createSponsor, sponsored, type SignDeps } from '../../server/decision/sign/sign.js';
import type { SponsorCase } from '../../server/decision/steps/sponsored-case.js';
import { sponsoredMode } from '../../server/decision/steps/sponsored.js';
import { createTakeBack } from '../../server/decision/sign/take-back.js';
import type { Case, Finalize, Mode, Validity } from '../../server/decision/step.js';
import { signingKeys } from './chain/signing-keys.js';
import type { Configs } from './configs.js';
import { factsOf, tokenCaseOf, tokenTermsOf, type Asked, type Behind, type Sign } from './service.js';
import { bound } from './turned-off.js';

/** What a replica knows when it is asked, besides its configs. */
export type Present = {
  readonly clock: Clock;
  readonly chainTime: number;
  readonly sign: Sign;
  /** The signer signs, its answer is lost on the way to the service, and the caller gets hold of it. `counted`: how the service takes that. */
  readonly lost?: { readonly counted: 'unknown' | 'unsigned' };
  readonly behind: Behind;
};

/** `signedBy`: which of the service's keys signs. `result`: what the store answered when it was asked to reserve. */
export type Answer = {
  readonly sponsorship: Sponsorship;
  readonly signedBy: number;
  readonly result: Reserved['result'] | undefined;
};

/**
 * A replica that serves these configs over a usage store. Terms, promise, reservation and data come from the serving code,
 * without HTTP, prices and simulations. Undefined when nothing is served, or the key is not known. Throws what the store throws,
 * and UNAVAILABLE when the signer does not answer.
 */
export async function ask(
  usage: UsageStore,
  configs: Configs,
  asked: Asked,
  present: Present,
): Promise<Answer | undefined> {
  const found = signing(usage, configs, asked, present);
  if (found === undefined) return undefined;
  return answered(found, asked, (mode) => sponsorOrSteal(found, mode));
}

/** The answer of the service; where the signer's was lost, what the caller makes of the signature. */
async function sponsorOrSteal<C extends Case, Terms extends Validity>(
  found: Signing,
  mode: Phases<C, Terms>,
): Promise<Sponsorship> {
  let stolen: ((signature: Uint8Array) => Sponsorship) | undefined;
  const draft: typeof mode.draft = (on, op, now) => {
    const drafted = mode.draft(on, op, now);
    stolen = (signature) => {
      const paymasterAndData = mode.encode(on, op, drafted.terms, signature);
      return sponsored(mode, on, op, { ...drafted, paymasterAndData });
    };
    return drafted;
  };
  try {
    return await createSponsor(found.deps, { ...mode, draft })(found.facts.paymaster, requestOf(found.asked));
  } catch (error) {
    const signature = found.lostSignature();
    if (signature === undefined || stolen === undefined) throw error;
    return stolen(signature);
  }
}

/** Runs a phase of signing in the mode of the request. */
export async function answered(
  found: Signing,
  { mode }: Pick<Asked, 'mode'>,
  run: <C extends Case, Terms extends Validity>(mode: Phases<C, Terms>) => Promise<Sponsorship>,
): Promise<Answer> {
  const sponsorship = await (mode === 'ERC20' ? run(inTokens(found)) : run(inSponsored(found)));
  return { sponsorship, signedBy: found.signedBy, result: found.result() };
}

export type Phases<C extends Case, Terms extends Validity> = Mode<SponsorRequest, C, Terms> & {
  readonly finalize: Finalize<C, Terms>;
};
export type Signing = NonNullable<ReturnType<typeof signing>>;

/** A replica of this config, and its key; undefined when it signs nothing. */
export function signing(
  usage: UsageStore,
  configs: Configs,
  asked: Asked,
  { clock, chainTime, sign, lost, behind }: Present,
) {
  const facts = factsOf(configs, asked, { chainTime, behind });
  const signer = facts?.profile.signer();
  if (facts === undefined || signer === undefined || facts.profile.unusable !== undefined) return undefined;
  const signedBy = signingKeys.indexOf(signer.address);
  let result: Answer['result'];
  let lostSignature: Uint8Array | undefined;
  const deps: SignDeps & { readonly usage: UsageStore } = {
    // A replica that is behind does not hear of a newer config either.
    view: { refresh: async () => undefined, isCurrent: () => true },
    usage: {
      ...bound(usage),
      reserve: async (request) => {
        const reserved = await usage.reserve(request);
        if (reserved.outcome !== 'turned') result = reserved;
        return reserved;
      },
    },
    clock,
    signing: {
      sign: async (_, { digest }) => {
        try {
          const signature = sign(digest, signedBy);
          if (lost === undefined) return { outcome: 'signed', signature };
          lostSignature = signature;
          return { outcome: lost.counted, error: new Error('the answer is lost') };
        } catch (error) {
          return { outcome: 'unsigned', error };
        }
      },
    },
    takeBack: createTakeBack({ usage, recording: undefined, log: silentLogger }),
  };
  return { deps, facts, asked, signer, signedBy, result: () => result, lostSignature: () => lostSignature };
}

const sponsoredParts = sponsoredMode({} as never);
const tokenParts = tokenMode({} as never);

/** The serving code's mode, without rules of the operation, and with limits that the caller gave. */
function inSponsored({ facts, asked, signer }: Signing): Phases<SponsorCase, SponsorshipTerms> {
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

export function requestOf({ op }: Pick<Asked, 'op'>): SponsorRequest {
  return {
    op,
    calculateGasLimits: false,
    expirySeconds: undefined,
    webhookData: {},
    requestId: 'adversary',
    method: 'pm_getPaymasterData',
  };
}
