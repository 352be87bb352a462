import { allWork } from '../../core/policy/steps-left.js';
import { invalidInput, isDomainError, quote } from '../../core/errors.js';
import { requireProfile } from '../decision/facts.js';
import type { Stub } from '../decision/sign/stub.js';
import { given } from '../../core/units/given.js';
import type { ConfigView } from '../view/config-view.js';
import { parseEntryPointParams } from './entry-point-form.js';
import { answering, type RpcMethod } from './method.js';
import { readCampaign } from './params.js';

export type PolicyMethodDeps = {
  readonly view: Pick<ConfigView, 'chain'>;
  /** Judges an operation as far as that costs nothing. */
  readonly judge: Stub;
};

/** Each costs a decision. */
const maxPolicies = 20;

/**
 * As Pimlico's clients ask. `params`: `[userOp, entryPoint, sponsorshipPolicyIds]`. Answers those with which the operation would be refused
 * by nothing that the stub stage of ERC-7677 judges. Reserves and records nothing.
 */
export function pm_validateSponsorshipPolicies({ view, judge }: PolicyMethodDeps): RpcMethod {
  const asked = answering(async ([operation, entryPoint, ids], context) => {
    const { paymaster } = context;
    const profile = requireProfile(view, paymaster);
    const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string');
    if (!isList || ids.length > maxPolicies)
      throw invalidInput({
        field: 'params[2]',
        expected: `an array of at most ${maxPolicies} texts`,
        value: quote(ids),
      });
    const { name = null, icon = null } = paymaster.sponsor ?? {};
    const valid: object[] = [];
    const form = { entryPoint, context: {}, contextPath: 'params[2]' };
    const parsed = parseEntryPointParams(operation, form, profile, context).request;
    const request = { ...parsed, workLeft: allWork() };
    for (const id of new Set<string>(ids)) {
      if (await isRefused(() => judge(paymaster, { ...request, ...given({ campaign: readCampaign(id) }) })))
        continue;
      valid.push({
        sponsorshipPolicyId: id,
        data: { name: id, author: name, icon, description: null },
      });
    }
    return valid;
  });
  return { ...asked, kind: 'aside' };
}

async function isRefused(judge: () => Promise<unknown>): Promise<boolean> {
  try {
    await judge();
    return false;
  } catch (error) {
    if (isDomainError(error, 'SPONSORSHIP_REFUSED')) return true;
    throw error;
  }
}
