import type { DecidedCall, Decision } from './record.js';

/** True for decisions that count in the same sums with the same parts. */
export function countsAlike(a: Decision, b: Decision): boolean {
  return (
    a.organisation === b.organisation &&
    a.paymasterId === b.paymasterId &&
    a.chainId === b.chainId &&
    a.mode === b.mode &&
    a.reason === b.reason &&
    a.contract === b.contract &&
    a.fundingAddress === b.fundingAddress &&
    a.policies.length === b.policies.length &&
    a.calls.length === b.calls.length &&
    a.policies.every(
      ({ policyId, effect }, i) => policyId === b.policies[i]?.policyId && effect === b.policies[i].effect,
    ) &&
    a.calls.every((call, i) => isSameMethod(call, b.calls[i]))
  );
}

function isSameMethod(a: DecidedCall, b: DecidedCall | undefined): boolean {
  return a.contractId === b?.contractId && a.name === b?.name && a.selector === b?.selector;
}
