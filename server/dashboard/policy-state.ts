import { keyOf } from '../../core/meta/meta.js';
import type { PaymasterPolicy } from '../../core/resources/paymaster-policy.js';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import type { Tools } from './deps.js';
import type { PaymasterCall, Reply } from './endpoint.js';
import { findContract, inTurn, policiesOf, policyNotFound, withPolicyNotFound } from './policy-lookup.js';
import { policyIdOfCall } from './views.js';

/**
 * Endpoints 12 and 13. A policy that is already in the wanted state is not written, and pausing never moves a limit's
 * cycle. The policy list shows contracts too, so a contract can be paused by its id.
 */
export async function setActive(tools: Tools, call: PaymasterCall, active: boolean): Promise<Reply> {
  const { paymaster, params } = call;
  const policyId = params['policyId'] ?? '';
  const policy = (await policiesOf(tools, paymaster)).find((each) => policyIdOfCall(call, each) === policyId);
  const contract = policy ? undefined : await findContract(tools, call, policyId);
  const programmed = await inTurn(tools, paymaster, () => {
    if (policy) return changePolicy(tools, policy, active);
    if (contract) return changeContract(tools, contract, active);
    throw policyNotFound();
  });
  const object = policy ?? contract;
  return { programmed: await programmed(), ...(object === undefined ? {} : { object }) };
}

// Returns the wait for the operator instead of waiting here, so that other writes get their turn meanwhile.
type Written = () => Promise<boolean>;

async function changePolicy(
  { writes, programmed }: Tools,
  policy: PaymasterPolicy,
  active: boolean,
): Promise<Written> {
  const changed = await withPolicyNotFound(() =>
    writes.change('PaymasterPolicy', keyOf(policy), ({ spec }, owned) =>
      (spec.active ?? true) === active ? undefined : { ...owned, active },
    ),
  );
  return () => programmed.written('PaymasterPolicy', changed);
}

async function changeContract(
  { writes, programmed }: Tools,
  contract: SmartContract,
  active: boolean,
): Promise<Written> {
  const changed = await withPolicyNotFound(() =>
    writes.change('SmartContract', keyOf(contract), ({ spec }, owned) =>
      (spec.active ?? true) === active ? undefined : { ...owned, active },
    ),
  );
  return () => programmed.written('SmartContract', changed);
}
