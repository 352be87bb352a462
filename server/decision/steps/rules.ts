import {
  decideAccountSignature,
  decideDeniedSender,
  decideFunding,
  decideSuspended,
  decideValidPolicies,
} from '../../../core/policy/rules/served.js';
import { decideCalls } from '../../../core/policy/rules/allow-list/decide.js';
import { decideCampaign } from '../../../core/policy/rules/campaign.js';
import {
  decideAuthorization,
  decideDelegate,
  isDelegateUnshown,
} from '../../../core/policy/rules/delegate.js';
import { decideFees, decideTip } from '../../../core/policy/rules/price-guard/decide.js';
import { decideFactory } from '../../../core/policy/rules/factory.js';
import { contractsInShadow } from '../../../core/policy/shadow.js';
import { pass, type Verdict } from '../../../core/refusal.js';
import type { DepositNeed } from '../../../core/paymaster/layout.js';
import { decisionsIn } from '../../../core/policy/derived.js';
import type { PolicyFacts } from '../../../core/policy/kind.js';
import type { DecodedCalls } from '../../../core/userop/call-data.js';
import type { Mode } from '../../../core/usage/reservation.js';
import { findGuard, type ServedTokenMode } from '../../view/served-chain.js';
import { decodeRequestCalls } from '../calls.js';
import type { RequestFacts } from '../facts.js';
import type { SponsorCase } from './sponsored-case.js';
import { step, type Case, type Step } from '../step.js';

/** The rules that apply in both modes and need only the gathered facts: `suspended`, then `standing`. */
const suspended = step<RequestFacts>('suspended', ({ paymaster, chain }) =>
  decideSuspended(paymaster, chain),
);
const sender = step<RequestFacts>(
  'sender',
  ({ chain, request, listOf }) =>
    decideDeniedSender(chain.chainId, listOf(chain.config.deniedSenders ?? ''), request.op.sender),
  { applies: ({ chain }) => chain.config.deniedSenders !== undefined },
);
/** Where the account must have signed, a request for data at once is refused before anything else is looked at. */
const accountSignature = step<RequestFacts>(
  'accountSignature',
  ({ paymaster, request }) => decideAccountSignature(paymaster, request.phase),
  { applies: ({ paymaster }) => paymaster.requiresAccountSignature },
);
const campaign = (mode: Mode): Step<RequestFacts> =>
  step(
    'campaign',
    ({ paymaster: { campaigns }, request, now }) =>
      campaigns === undefined ? pass : decideCampaign(campaigns, { name: request.campaign, mode, now }),
    { applies: ({ paymaster }) => paymaster.campaigns !== undefined },
  );
const standing: readonly Step<RequestFacts>[] = [
  step('factory', decideFactories),
  step('delegate', ({ chain, request }) => decideDelegate(chain, request.op), {
    applies: ({ request, profile }) => !isDelegateUnshown(request.op, profile.entryPointVersion),
  }),
  // While a wallet asks for a stub it fills in a placeholder: its user signs once the operation is complete.
  step('authorization', ({ chain, request }) => decideAuthorization(request.op, chain.recover), {
    needsFinalOperation: true,
  }),
  step('fees', decidePrices),
  // Many wallets ask for a stub before they know what gas costs.
  step('tip', ({ chain, request }) => decideTip(chain.guard, request.op), {
    applies: ({ chain }) => chain.guard.minPriorityFeePerGas > 0n,
    needsFinalOperation: true,
  }),
];

/** Rules of mode ERC20, where the user pays: of the policies only those that say so. */
export const rulesOfTokens: readonly Step<RequestFacts>[] = [
  suspended,
  sender,
  accountSignature,
  step('policies', ({ paymaster }) => decideValidPolicies(paymaster.invalidInTokens), {
    applies: ({ paymaster }) => paymaster.invalidInTokens.length > 0,
  }),
  campaign('ERC20'),
  ...policySteps<RequestFacts>('ERC20', factsInTokens),
  ...standing,
];

export const rulesOfSponsored: readonly Step<SponsorCase>[] = [
  suspended,
  sender,
  accountSignature,
  step('funding', ({ funding, paymaster, profile }) =>
    decideFunding(funding, { version: profile.version, organisation: paymaster.namespace }),
  ),
  step('policies', ({ paymaster }) => decideValidPolicies(paymaster.invalidPolicies)),
  campaign('SPONSORED'),
  step('calls', ({ paymaster, calls, request, shadow }) => {
    const verdict = decideCalls(paymaster.allowList, calls, request.op);
    if (verdict.pass || !paymaster.contractsInShadow) return verdict;
    shadow.note({ ...verdict, policyId: contractsInShadow });
    return pass;
  }),
  ...policySteps<SponsorCase>('SPONSORED', factsInSponsored),
  ...standing,
];

/** What policies decide once the gas limits are known. */
export const lateRulesOfTokens = lateSteps<Case & { readonly mode: ServedTokenMode }>('ERC20', factsInTokens);
export const lateRulesOfSponsored = lateSteps<SponsorCase>('SPONSORED', factsInSponsored);

/** What policies can know about a request for a sponsorship. */
export function factsInSponsored(gathered: SponsorCase): PolicyFacts {
  const { op, profile, options, calls } = gathered;
  const need = op && profile.layout.sponsorship.need(op, options);
  return toPolicyFacts('SPONSORED', gathered, calls, need);
}

/** The same in mode ERC20; nothing else of it decodes the calls. */
export function factsInTokens(
  gathered: RequestFacts & { readonly mode?: ServedTokenMode } & Partial<Pick<Case, 'op'>>,
): PolicyFacts {
  const { op, mode } = gathered;
  const need = op && mode?.codec.need(op, mode.options);
  return toPolicyFacts('ERC20', gathered, decodeRequestCalls(gathered), need);
}

const anyContract = { kind: 'open' } as const;

function toPolicyFacts(
  mode: Mode,
  { paymaster, request: { op }, now, listOf, shadow, workLeft, usdPerNative }: RequestFacts,
  calls: DecodedCalls,
  need: DepositNeed | undefined,
): PolicyFacts {
  return {
    mode,
    chainId: paymaster.chainId,
    op,
    calls,
    allowList: paymaster.contractsInShadow ? anyContract : paymaster.allowList,
    cost: need && { wei: need.entryPoint, usdPerNative },
    now,
    listOf,
    shadow,
    workLeft,
  };
}

/** One step for each kind of policies that judges in the mode. */
function policySteps<C extends RequestFacts>(
  mode: Mode,
  facts: (gathered: C) => PolicyFacts,
): readonly Step<C>[] {
  return decisionsIn(mode).map((kind) =>
    step<C>(kind.step, (gathered) => kind.decide(gathered.paymaster, facts(gathered)), {
      applies: ({ paymaster }) => kind.applies?.(paymaster, mode) !== false,
      // The later step is shown.
      isEarly: kind.late !== undefined,
    }),
  );
}

function lateSteps<C extends Case>(mode: Mode, facts: (gathered: C) => PolicyFacts): readonly Step<C>[] {
  return decisionsIn(mode).flatMap(({ step: name, late, applies }) =>
    late === undefined
      ? []
      : step<C>(name, (gathered) => late.decide(gathered.paymaster, facts(gathered)), {
          applies: ({ paymaster }) => applies?.(paymaster, mode) !== false,
          lacks: ({ paymaster, op }) =>
            op === undefined && late.applies(paymaster, mode) ? 'The gas limits are not known.' : undefined,
        }),
  );
}

function decidePrices({ chain, paymaster, head, request }: RequestFacts): Verdict {
  return decideFees(findGuard(chain, paymaster.gas), head, request.op);
}

function decideFactories({ chain, paymaster, profile, request }: RequestFacts): Verdict {
  const lists = { chain: chain.accountFactories, paymaster: paymaster.accountFactories };
  return decideFactory(lists, request.op, profile.entryPointVersion);
}
