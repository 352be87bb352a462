import { keyOf } from '../../core/meta/meta.js';
import type { Resources } from '../../core/resources/kinds.js';
import { given } from '../../core/units/given.js';
import type { Tools } from './deps.js';
import type { PaymasterCall, Reply } from './call.js';
import { endpoint } from './endpoint.js';
import { unlessDeleted } from './lookups.js';
import { findContract, inTurn, policiesOf, policyNotFound } from './policy-lookup.js';
import { requireRoom } from './policies.js';
import { policyIdOfCall } from './views.js';

export const deactivatePolicy = endpoint({
  operationId: 'deactivatePolicy',
  summary: 'Pause a policy',
  method: 'patch',
  path: '/paymaster-policy/deactivate/:policyId',
  scope: 'paymaster',
  message: 'Paymaster Policy Deactivated!',
  handle: (tools, call) => setActive(tools, call, false),
});

export const activatePolicy = endpoint({
  operationId: 'activatePolicy',
  summary: 'Resume a policy',
  method: 'patch',
  path: '/paymaster-policy/activate/:policyId',
  scope: 'paymaster',
  message: 'Paymaster Policy Activated!',
  handle: (tools, call) => setActive(tools, call, true),
});

/**
 * A policy that is already in the wanted state is not written, and pausing never moves a limit's
 * cycle. One that would be active beyond the number that counts is refused. The policy list shows contracts too, so a contract can be paused by its id.
 */
async function setActive(tools: Tools, call: PaymasterCall, active: boolean): Promise<Reply> {
  const { paymaster, params } = call;
  const policyId = params['policyId'] ?? '';
  const policy = (await policiesOf(tools, paymaster)).find((each) => policyIdOfCall(call, each) === policyId);
  const contract = policy ? undefined : await findContract(tools, call, policyId);
  const programmed = await inTurn(tools, paymaster, async () => {
    if (policy && active && policy.spec.active === false)
      requireRoom(await policiesOf(tools, paymaster), policy.spec.policyType);
    if (policy) return change(tools, 'PaymasterPolicy', policy, active);
    if (contract) return change(tools, 'SmartContract', contract, active);
    throw policyNotFound();
  });
  const object = policy ?? contract;
  return { programmed: await programmed(), ...given({ object }) };
}

// Returns the wait for the operator instead of waiting here, so that other writes get their turn meanwhile.
type Written = () => Promise<boolean>;

async function change<K extends 'PaymasterPolicy' | 'SmartContract'>(
  { writes, programmed }: Tools,
  kind: K,
  object: Resources[K],
  active: boolean,
): Promise<Written> {
  const changed = await unlessDeleted(policyNotFound, () =>
    writes.change(kind, keyOf(object), ({ spec }, owned) =>
      (spec.active ?? true) === active ? undefined : { ...owned, active },
    ),
  );
  return () => programmed.written(kind, changed);
}
