import type { Pace } from '../../adapters/pace.js';
import {
  compileContracts,
  type CompiledContract,
  type ReadMethods,
} from '../../core/config/compile-contracts.js';
import { compilePolicies, type CompiledPolicy } from '../../core/config/compile-policies.js';
import type { CompiledPaymaster } from '../../core/config/compile.js';
import { namedMethods } from '../../core/config/named-methods.js';
import { summarise } from '../../core/config/summary.js';
import { toTenant } from '../../core/config/tenant.js';
import { findCondition, finding, type Finding } from '../../core/meta/conditions.js';
import { parseKey, type Condition } from '../../core/meta/meta.js';
import type { LostLimit } from '../../core/policy/spending-limit/lost-usage.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { Resources } from '../../core/resources/kinds.js';
import type { PaymasterPolicy } from '../../core/resources/paymaster-policy.js';
import { given } from '../../core/units/given.js';
import type { Clock } from '../../core/units/time.js';
import type { Cache } from '../cache.js';
import type { ChainFacts } from '../facts/chain-facts.js';
import { codeFinding, recall } from './findings.js';
import { findOrganisation } from './organisation.js';
import { policyFindings, type Serving, type Usage } from './serving-finding.js';
import { runAll, type StatusWriter } from './status.js';

type ChildKind = 'SmartContract' | 'PaymasterPolicy';

type Deps = {
  readonly cache: Pick<Cache, 'contractsOf' | 'organisationsOf' | 'policiesOf'>;
  readonly statuses: StatusWriter;
  readonly facts: Pick<ChainFacts, 'code'>;
  readonly readMethods: ReadMethods;
  readonly pace: Pace;
  readonly reported: ReportedPolicies;
  readonly serving: Serving;
  readonly usage: Usage;
  readonly webhookRules: WebhookUrlRules;
  readonly clock: Clock;
};

/**
 * What the status of a policy was last made from. Most of thousands of policies need no second look when one of them has
 * changed: an object that was changed is another object.
 */
export type ReportedPolicies = WeakMap<PaymasterPolicy, string>;

/** Statuses of the contracts and policies of a paymaster: they are compiled with it, so they are reported with it. */
export async function writeContracts(
  { statuses, facts, pace }: Deps,
  compiled: CompiledPaymaster,
): Promise<void> {
  const { chainId } = compiled.config;
  await runAll(
    compiled.contracts.map((contract) => async () => {
      const own = childFindings(contract.accepted, compiled);
      const code = codeFindings(facts, chainId, contract);
      const told = contract.checksum === undefined ? code : [...code, contract.checksum];
      // A chain that has not answered says nothing against the contract; a chain without code at the address does.
      const missing = code.filter(({ status }) => status === 'False');
      const ready = summarise([...own, ...missing], pausedHold(contract.object.spec.active));
      const findings = [...own, ready, ...told];
      await statuses.write('SmartContract', contract.object, findings, contractStatus(contract));
    }),
    pace,
  );
}

function codeFindings(
  facts: Deps['facts'],
  chainId: number,
  { served, object }: CompiledContract,
): readonly Finding[] {
  if (served === undefined) return [];
  const found = codeFinding(facts.code(chainId, served.address), served.address);
  return [recall(found, object.status?.conditions, object.metadata.generation)];
}

export async function writePolicies(
  { statuses, pace, reported, serving, usage }: Deps,
  compiled: CompiledPaymaster,
  lost: readonly LostLimit[],
): Promise<void> {
  const outer = withoutContracts(compiled);
  await runAll(
    compiled.policies.map((policy) => async () => {
      const { accepted, policyId, cycle } = policy;
      const troubles = policyFindings({ serving, usage }, policy.object, policyId, lost);
      const sources = JSON.stringify([accepted, outer.programmed, policyId, cycle, troubles]);
      if (reported.get(policy.object) === sources) return;
      const own = childFindings(accepted, outer);
      const findings = [...own, summarise(own, pausedHold(policy.object.spec.active)), ...troubles];
      const status = policyStatus(policy, cycle);
      await statuses.write('PaymasterPolicy', policy.object, findings, status);
      reported.set(policy.object, sources);
    }),
    pace,
  );
}

/** Statuses of contracts and policies whose Paymaster does not exist: checked alone, and waiting for it. */
export async function writeOrphans(deps: Deps, key: string): Promise<void> {
  const { name, namespace = '' } = parseKey(key);
  const alone = { previous: undefined, quota: undefined };
  const { pace, readMethods } = deps;
  const contracts = await pace.run(compileContracts(deps.cache.contractsOf(key), { ...alone, readMethods }));
  const policies = await pace.run(
    compilePolicies(deps.cache.policiesOf(key), {
      ...alone,
      rules: { webhookUrls: deps.webhookRules },
      chain: undefined,
      methods: await pace.run(namedMethods(deps.cache.policiesOf(key), contracts)),
      now: deps.clock.now(),
      tenant: toTenant(namespace, findOrganisation(deps.cache, namespace)?.spec.tenantGeneration),
    }),
  );
  const listFindings = (accepted: Finding, { status }: Resources[ChildKind]): readonly Finding[] => {
    const own = [accepted, missing(name, status?.conditions), finding('Programmed', 'Pending')];
    return [...own, summarise(own)];
  };
  const actions = [
    ...contracts.map(
      (contract) => () =>
        deps.statuses.write(
          'SmartContract',
          contract.object,
          listFindings(contract.accepted, contract.object),
          contractStatus(contract),
        ),
    ),
    ...policies.map((policy) => () => {
      // No cycle starts before there is a paymaster whose usage it could count.
      const status = policyStatus(policy, policy.object.status?.cycle);
      const findings = listFindings(policy.accepted, policy.object);
      return deps.statuses.write('PaymasterPolicy', policy.object, findings, status);
    }),
  ];
  await runAll(actions, pace);
}

/** `before`: whether there was one, the status alone remembers. */
function missing(paymaster: string, before: readonly Condition[] | undefined): Finding {
  const known = findCondition(before, 'ResolvedRefs');
  if (known?.status === 'True' || known?.reason === 'PaymasterDeleted') {
    const message = `The Paymaster "${paymaster}" was deleted: delete this object too, and remove it from the manifests that declare it; or create the Paymaster again.`;
    return finding('ResolvedRefs', 'PaymasterDeleted', message);
  }
  const message = `There is no Paymaster "${paymaster}" in this namespace: create it, or correct spec.paymasterRef.`;
  return finding('ResolvedRefs', 'PaymasterNotFound', message);
}

/** When a config is too large, only contracts are left out of it. */
function withoutContracts({ programmed }: CompiledPaymaster): Pick<CompiledPaymaster, 'programmed'> {
  return { programmed: programmed.reason === 'TooLarge' ? finding('Programmed', 'Programmed') : programmed };
}

function childFindings(
  accepted: Finding,
  { programmed }: Pick<CompiledPaymaster, 'programmed'>,
): readonly Finding[] {
  const resolved = finding('ResolvedRefs', 'ResolvedRefs');
  return [accepted, resolved, childProgrammed(accepted, programmed)];
}

/**
 * A child is programmed when the stored config contains its values. A paymaster that may not sign is stored all the
 * same, with its children; only a config that could not be stored leaves them out.
 */
function childProgrammed(accepted: Finding, paymaster: Finding): Finding {
  if (accepted.status !== 'True') return finding('Programmed', 'NotAccepted', accepted.message);
  const isStored = paymaster.status === 'True' || paymaster.reason === 'NotAccepted';
  return isStored ? finding('Programmed', 'Programmed') : paymaster;
}

function pausedHold(active: boolean | undefined): Finding | undefined {
  return active === false ? finding('Ready', 'Paused', 'Paused: active is false.') : undefined;
}

function contractStatus({ methods, selectors, object }: CompiledContract) {
  return { active: isActive(object), methods, selectors };
}

function policyStatus({ policyId, object }: CompiledPolicy, cycle: CompiledPolicy['cycle']) {
  return { policyId, active: isActive(object), ...given({ cycle }) };
}

function isActive({ spec }: { readonly spec: { readonly active?: boolean } }): boolean {
  return spec.active !== false;
}
