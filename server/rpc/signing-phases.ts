import type { Later } from '../../core/pending.js';
import type { SigningPhase } from '../../core/policy/rules/served.js';
import type {
  FinalizeRequest,
  Sponsorship,
  SponsorRequest,
  TokenPaymentRequest,
} from '../decision/request.js';
import type { Sponsor } from '../decision/sign/sign.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';
import { requireSponsored, type ModeRequest } from './entry-point-form.js';
import type { RpcResult } from './method.js';
import { isJoined, parseCommitted, splitAnswer } from './paymaster-fields.js';
import { renderErc7677, renderHexLimits, renderSponsor, renderValidity } from './results.js';

type Phases<Request extends SponsorRequest> = {
  readonly commit: Sponsor<Request>;
  readonly finalize: Sponsor<Request & FinalizeRequest>;
};

export type PhaseDeps = {
  readonly phases: {
    readonly SPONSORED: Phases<SponsorRequest>;
    readonly ERC20: Phases<TokenPaymentRequest>;
  };
};

/**
 * `context.signingPhase` of `pm_getPaymasterData`. A commit answers a placeholder for the paymaster's signature, a
 * finalize the signature, both in the form in which the wallet asks: joined to `paymasterData` where the request's ends
 * in the magic, else in the field `paymasterSignature`.
 */
export async function answerPhase(
  { phases }: PhaseDeps,
  operation: unknown,
  paymaster: ServedPaymaster,
  asked: ModeRequest & { readonly phase: SigningPhase },
): Promise<RpcResult> {
  const isCommit = asked.phase === 'commit';
  const calculated = isCommit && asked.request.calculateGasLimits === true;
  const decide = <Request extends SponsorRequest>(
    { commit, finalize }: Phases<Request>,
    request: Request,
  ): Later<Sponsorship> =>
    isCommit
      ? commit(paymaster, { ...request, calculateGasLimits: calculated ? 'missing' : false })
      : finalize(paymaster, {
          ...request,
          calculateGasLimits: false,
          committed: parseCommitted(operation),
        });
  const isPayer = asked.mode === 'ERC20';
  const data = requireSponsored(
    await (asked.mode === 'ERC20'
      ? decide(phases.ERC20, asked.request)
      : decide(phases.SPONSORED, asked.request)),
    { isPayer },
  );
  const { isOpen } = data;
  const answer = {
    ...renderPhase(data.profile, data.paymasterAndData, isJoined(operation)),
    ...renderValidity(data),
    ...(isOpen ? { openSponsorship: true } : {}),
    ...renderSponsor(paymaster.sponsor),
    ...(calculated ? renderHexLimits(data.op) : {}),
  };
  const json = JSON.stringify(answer);
  return isCommit ? { json, isOpen, outcome: 'committed' } : { json, isOpen };
}

/** The paymaster's fields of data with a tail. */
export function renderPhase(
  profile: Parameters<typeof renderErc7677>[0],
  paymasterAndData: Parameters<typeof renderErc7677>[1],
  joined: boolean,
): Readonly<Record<string, unknown>> {
  const { data, signature } = splitAnswer(paymasterAndData, joined);
  return { ...renderErc7677(profile, data), ...signature };
}
