import { decideAccountSignature } from '../../../core/policy/rules/account-signature.js';
import { decideCalls } from '../../../core/policy/rules/allow-list/decide.js';
import { decideDeniedSender } from '../../../core/policy/rules/denied-sender.js';
import { decideDelegate } from '../../../core/policy/rules/delegate.js';
import { decideFees, decideTip } from '../../../core/policy/rules/price-guard/decide.js';
import { decideAuthorization } from '../../../core/policy/rules/authorization.js';
import { decideFactory } from '../../../core/policy/rules/factory.js';
import { decideFunding } from '../../../core/policy/rules/funding.js';
import { decideSuspended } from '../../../core/policy/rules/suspended.js';
import { decideValidPolicies } from '../../../core/policy/rules/valid-policies.js';
import { contractsInShadow } from '../../../core/policy/shadow.js';
import { pass, type Verdict } from '../../../core/refusal.js';
import { decisionsIn } from '../../../core/policy/derived.js';
import { decodeCalls, type DecodedCalls } from '../../../core/userop/call-data.js';
import type { Mode } from '../../../core/usage/usage-store.js';
import { guardOf } from '../../view/served-chain.js';
import type { RequestFacts } from '../facts.js';
import type { SponsorCase } from './sponsored-case.js';
import { step, type Step } from '../step.js';

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
const standing: readonly Step<RequestFacts>[] = [
  step('factory', decideFactories),
  step('delegate', decideDelegation),
  // While a wallet asks for a stub it fills in a placeholder: its user signs once the operation is complete.
  step('authorization', ({ chain, request }) => decideAuthorization(request.op, chain.recover), {
    isOfSigned: true,
  }),
  step('fees', decidePrices),
  // Many wallets ask for a stub before they know what gas costs.
  step('tip', ({ chain, request }) => decideTip(chain.guard, request.op), {
    applies: ({ chain }) => chain.guard.minPriorityFeePerGas > 0n,
    isOfSigned: true,
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
  ...policySteps<RequestFacts>('ERC20', ({ request: { op } }) => decodeCalls(op.callData, op.callDataBytes)),
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
  step('calls', ({ paymaster, calls, request, shadow }) => {
    const verdict = decideCalls(paymaster.allowList, calls, request.op);
    if (verdict.pass || !paymaster.contractsInShadow) return verdict;
    shadow.note({ ...verdict, policyId: contractsInShadow });
    return pass;
  }),
  ...policySteps<SponsorCase>('SPONSORED', ({ calls }) => calls),
  ...standing,
];

const anyContract = { kind: 'open' } as const;

/** One step for each kind of policies that judges in the mode. */
function policySteps<C extends RequestFacts>(
  mode: Mode,
  callsOf: (on: C) => DecodedCalls,
): readonly Step<C>[] {
  return decisionsIn(mode).map((kind) =>
    step<C>(
      kind.step,
      (on) => {
        const { paymaster, request, now } = on;
        const allowList = paymaster.contractsInShadow ? anyContract : paymaster.allowList;
        return kind.decide(paymaster, {
          mode,
          op: request.op,
          calls: callsOf(on),
          allowList,
          now,
          listOf: on.listOf,
          shadow: on.shadow,
        });
      },
      { applies: ({ paymaster }) => kind.applies?.(paymaster, mode) !== false },
    ),
  );
}

function decidePrices({ chain, paymaster, head, request }: RequestFacts): Verdict {
  return decideFees(guardOf(chain, paymaster.gas), head, request.op);
}

function decideFactories({ chain, paymaster, profile, request }: RequestFacts): Verdict {
  const lists = { chain: chain.accountFactories, paymaster: paymaster.accountFactories };
  return decideFactory(lists, request.op, profile.entryPointVersion);
}

function decideDelegation({ chain, profile, request }: RequestFacts): Verdict {
  return decideDelegate(chain, request.op, profile.entryPointVersion);
}
