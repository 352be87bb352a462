import { contractIdOf } from '../../core/config/ids.js';
import { DomainError, quote } from '../../core/errors.js';
import type { PaymasterPolicy } from '../../core/resources/paymaster-policy.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { SmartContract } from '../../core/resources/smart-contract.js';
import type { Tools } from './deps.js';
import { ofPaymaster } from './lookups.js';
import { contractsOf } from './smart-contracts.js';
import type { PaymasterCall } from './call.js';

/** Policies of a paymaster, including those that a manifest made. */
export function policiesOf(
  { resources }: Pick<Tools, 'resources'>,
  paymaster: Paymaster,
): Promise<readonly PaymasterPolicy[]> {
  return resources.list('PaymasterPolicy', ofPaymaster(paymaster));
}

/** Throws ALREADY_EXISTS when one of the policies, other than `except`, has the name. */
export function requireFreeName(
  policies: readonly PaymasterPolicy[],
  name: string,
  except?: PaymasterPolicy,
): void {
  const taken = policies.some((p) => p.spec.name === name && p.metadata.name !== except?.metadata.name);
  if (taken) throw nameExists(name);
}

/** Runs writes that depend on the paymaster's other policies one after the other. */
export function inTurn<T>({ turns }: Tools, { metadata }: Paymaster, task: () => Promise<T>): Promise<T> {
  return turns.run(`policies of ${metadata.namespace ?? ''}/${metadata.name}`, task);
}

/** The id of a SMART_CONTRACT record; undefined when no contract of the paymaster has it. */
export async function findContract(
  tools: Tools,
  { principal, paymaster }: PaymasterCall,
  id: string,
): Promise<SmartContract | undefined> {
  for await (const contract of contractsOf(tools, paymaster))
    if (contractIdOf(principal.tenant, contract.metadata.name) === id) return contract;
  return undefined;
}

export function policyNotFound(): DomainError {
  return new DomainError('POLICY_NOT_FOUND', 'Paymaster Policy not found');
}

export function nameExists(name: string): DomainError {
  return new DomainError('ALREADY_EXISTS', `A policy named ${quote(name)} already exists`);
}
