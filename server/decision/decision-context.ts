import { isListed, packContext, type DecisionContext } from '../../core/ledger/packed-decision.js';
import type { DecidedCall, DecidedPolicy } from '../../core/ledger/record.js';
import type { ServedPaymaster } from '../view/served-paymaster.js';

type Known = { readonly counted: readonly DecidedPolicy[]; readonly contexts: KnownContext[] };
type KnownContext = { readonly context: DecisionContext; readonly text: string };

/** A paymaster has a few: its modes, methods, phases and contracts, and the methods of these. */
const mostContexts = 32;

/** What the records of a config's signatures have in common, made once for the config. */
export function createDecisionContexts() {
  const known = new WeakMap<ServedPaymaster, Known>();

  function knownOf(paymaster: ServedPaymaster): Known {
    const before = known.get(paymaster);
    if (before !== undefined) return before;
    const counted = paymaster.limits.map(({ policyId }) => ({ policyId, effect: 'counted' as const }));
    const made = { counted, contexts: [] };
    known.set(paymaster, made);
    return made;
  }

  return {
    /** Every limit of the paymaster counts an operation that is sponsored. */
    counted: (paymaster: ServedPaymaster): readonly DecidedPolicy[] => knownOf(paymaster).counted,
    /** As `packContext`. */
    text: (paymaster: ServedPaymaster, context: DecisionContext): string => {
      const { contexts } = knownOf(paymaster);
      for (const one of contexts) if (isSame(one.context, context)) return one.text;
      const text = packContext(context);
      if (contexts.length < mostContexts) contexts.push({ context, text });
      return text;
    },
  };
}

/** The rest follows from the config. */
function isSame(a: DecisionContext, b: DecisionContext): boolean {
  return (
    a.method === b.method &&
    a.mode === b.mode &&
    a.verdict === b.verdict &&
    a.entryPoint === b.entryPoint &&
    a.contract === b.contract &&
    a.fundingAddress === b.fundingAddress &&
    isListed(a.calls) === isListed(b.calls) &&
    (!isListed(a.calls) || isSameCall(a.calls[0], b.calls[0]))
  );
}

function isSameCall(a: DecidedCall | undefined, b: DecidedCall | undefined): boolean {
  return (
    a?.target === b?.target &&
    a?.selector === b?.selector &&
    a?.contractId === b?.contractId &&
    a?.name === b?.name
  );
}
