import { finding, type Finding } from '../meta/conditions.js';
import type { ConditionReason } from '../meta/condition-reasons.js';

type ReadyReason = ConditionReason<'Ready'>;

// In the order in which you would fix things: an earlier problem explains the later ones.
const causes: Readonly<Record<string, ReadyReason>> = {
  Accepted: 'NotAccepted',
  ResolvedRefs: 'NotResolved',
  Programmed: 'NotProgrammed',
  Reachable: 'ChainNotReady',
  CodePresent: 'ChainNotReady',
  EntryPointMatches: 'ChainNotReady',
  HashMatches: 'ChainNotReady',
  CodeUnchanged: 'ChainNotReady',
  SignerAuthorized: 'SignerNotAuthorized',
  Funded: 'NotFunded',
  ContractCode: 'NoCode',
  PriceUsable: 'PriceNotUsable',
};

/**
 * The summary condition `Ready` of an object, from its other findings. `hold`, such as a suspension, comes before
 * anything that the chain reports. While something is not known yet, Ready is Unknown, never True.
 */
export function summarise(findings: readonly Finding[], hold?: Finding): Finding {
  const wrong = firstWith(findings, 'False', isOwn) ?? hold ?? firstWith(findings, 'False');
  if (wrong !== undefined && wrong.type === 'Ready') return wrong;
  if (wrong !== undefined) return finding('Ready', causes[wrong.type] ?? 'NotAccepted', wrong.message);
  const unknown = firstWith(findings, 'Unknown');
  return unknown === undefined ? finding('Ready', 'Ready') : finding('Ready', 'Pending', unknown.message);
}

/** Whether the condition follows from the resources alone. */
function isOwn({ type }: Finding): boolean {
  return type === 'Accepted' || type === 'ResolvedRefs' || type === 'Programmed';
}

function firstWith(
  findings: readonly Finding[],
  status: Finding['status'],
  matches: (finding: Finding) => boolean = () => true,
): Finding | undefined {
  return Object.keys(causes)
    .map((type) => findings.find((each) => each.type === type && each.status === status && matches(each)))
    .find((each) => each !== undefined);
}
