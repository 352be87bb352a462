import { deriveContractId, derivePaymasterId, derivePolicyId } from '../../../core/config/ids.js';
import type { Tenant } from '../../../core/config/tenant.js';
import { maxContracts } from '../../../core/config/paymaster-config.js';
import { tooManyContracts } from '../../../core/config/ranking.js';
import { DomainError, type Problem } from '../../../core/errors.js';
import { findPolicyData, methodsNamedBy, findPolicyKind } from '../../../core/policy/derived.js';
import {
  addMethod,
  methodName,
  toSignature,
  type NamedMethod,
  type NamedMethods,
} from '../../../core/policy/methods/methods.js';
import type { Resources } from '../../../core/resources/kinds.js';
import type { TokenScope } from '../../../core/resources/dashboard-token.js';
import type { JsonSchema } from '../../../core/schema/json-schema.js';
import { eachObject } from '../../../adapters/resources/pages.js';
import type { Principal } from '../auth.js';
import type { Call } from '../call.js';
import type { Tools } from '../deps.js';
import type { requireQuota } from '../lookups.js';
import { requireProfile } from '../paymasters.js';
import { policySpecExample } from '../policy-record.js';
import { requireRoom } from '../policies.js';
import { requireMethods } from '../smart-contracts.js';
import { rulesOfPolicies } from './policy-rules.js';
import { remarksOnLimit, type Remarks } from './remarks.js';

/** Kinds of objects that an organisation makes. */
export type NounKind = 'Paymaster' | 'SmartContract' | 'PaymasterPolicy';

type Spec<K extends NounKind> = Resources[K]['spec'];

/** What differs between the nouns of the management API; the endpoints of each are in `objects.ts`. */
export type Noun<K extends NounKind = NounKind> = {
  readonly kind: K;
  readonly one: string;
  idOf(tenant: Tenant, name: string): string;
  /** The field in which two objects must differ and do not; undefined: both may exist. */
  clash(left: Spec<K>, right: Spec<K>): 'name' | 'address' | undefined;
  readonly quota: Parameters<typeof requireQuota>[2];
  /** Checks what a schema cannot check, and throws. `current`: before the change. */
  check(tools: Tools, call: Call, spec: Spec<K>, siblings: Siblings<K>, current?: Spec<K>): Promise<void>;
  /** The field that stops the object, and the scopes of tokens that may set it. */
  readonly stop: {
    readonly field: 'suspended' | 'active';
    readonly value: boolean;
    readonly needs: readonly TokenScope[];
  };
  /** Remarks that the answer to a change has; absent: none. */
  remarks?(tools: Tools, principal: Principal, before: Resources[K], after: Spec<K>): Promise<Remarks>;
  readonly example: Spec<K>;
  /** What answers show besides what is stored. Absent: nothing. */
  readonly beside?: Beside<K>;
};

export type Beside<K extends NounKind> = {
  readonly schema: Readonly<Record<string, JsonSchema>>;
  readonly example: object;
  /** Reads the members for all the objects at once, and answers them in the order of the objects. */
  read(tools: Tools, principal: Principal, objects: readonly Resources[K][]): Promise<readonly object[]>;
};

/** The other objects of the same owner. Of contracts only the number: each may have 200 kB. */
type Siblings<K extends NounKind> = { readonly count: number; readonly objects: readonly Resources[K][] };

type Named = { readonly name: string };

function sameName(left: Named, right: Named): 'name' | undefined {
  return left.name === right.name ? 'name' : undefined;
}

const paymasters: Noun<'Paymaster'> = {
  kind: 'Paymaster',
  one: 'paymaster',
  idOf: derivePaymasterId,
  clash: (left, right) => (left.chainId === right.chainId ? sameName(left, right) : undefined),
  quota: 'paymasters',
  async check(tools, { principal }, spec, _siblings, current) {
    if (current === undefined) await requireProfile(tools, principal, spec);
  },
  stop: { field: 'suspended', value: true, needs: ['stop'] },
  example: { name: 'my shop', chainId: 31337, type: 'HYBRID', version: '1.1.0' },
};

const contracts: Noun<'SmartContract'> = {
  kind: 'SmartContract',
  one: 'contract',
  idOf: deriveContractId,
  clash: (left, right) =>
    left.address.toLowerCase() === right.address.toLowerCase() ? 'address' : sameName(left, right),
  quota: 'contractsPerPaymaster',
  async check(tools, call, { abi, whitelistedMethods = [] }, { count }, current) {
    if (current === undefined && count >= maxContracts)
      throw new DomainError('QUOTA_EXCEEDED', tooManyContracts);
    if (abi !== current?.abi || whitelistedMethods !== current.whitelistedMethods)
      await requireMethods(tools, call, abi, whitelistedMethods);
  },
  stop: { field: 'active', value: false, needs: ['stop'] },
  example: {
    paymasterRef: { name: 'shop' },
    name: 'counter',
    address: '0xD9320514462f98Cf03c32d2FB3d3C608bBCd8F55',
    abi: '[{"type":"function","name":"mint","stateMutability":"nonpayable","inputs":[],"outputs":[]}]',
    whitelistedMethods: ['mint'],
  },
};

const policies: Noun<'PaymasterPolicy'> = {
  kind: 'PaymasterPolicy',
  one: 'policy',
  idOf: derivePolicyId,
  clash: sameName,
  quota: 'policiesPerPaymaster',
  async check(tools, call, spec, { objects }, current) {
    const kind = findPolicyKind(spec.policyType);
    const data = kind && findPolicyData(spec, kind);
    const problem =
      data &&
      kind.problem?.(data, {
        webhookUrls: tools.webhookUrls,
        methods: await methodsFor(tools, call, spec),
      });
    if (problem !== undefined)
      throw new DomainError('INVALID_INPUT', problem, { problems: parseProblems(problem) });
    const wasActive = current !== undefined && current.active !== false;
    if (spec.active !== false && !wasActive) requireRoom(objects, spec.policyType);
  },
  // A pause widens what is sponsored.
  stop: { field: 'active', value: false, needs: [] },
  remarks: remarksOnLimit,
  example: policySpecExample,
  beside: rulesOfPolicies,
};

/** Sentences about a spec begin with its field: `spec.window.from must be an RFC 3339 time, got "x".` */
function parseProblems(sentence: string): readonly Problem[] {
  const [field = '', expected] = sentence.replace(/\.$/, '').split(' must be ', 2);
  return expected === undefined ? [] : [{ field, expected }];
}

/** The methods that a policy names, as contracts of its paymaster declare them; contracts without such a name are not read. */
async function methodsFor(
  { resources, methodsOf }: Tools,
  { principal, gone }: Call,
  spec: Spec<'PaymasterPolicy'>,
): Promise<NamedMethods> {
  const named = methodsNamedBy(spec);
  const known = new Map<string, NamedMethod>();
  if (named.length === 0) return known;
  const { namespace, tenant } = principal;
  const fields = { 'spec.paymasterRef.name': spec.paymasterRef.name };
  for await (const contract of eachObject(resources, 'SmartContract', { namespace, fields })) {
    const { abi } = contract.spec;
    if (!named.some((signature) => abi.includes(`"${methodName(signature)}"`))) continue;
    const { declarations } = await methodsOf(tenant, { abi, whitelistedMethods: [] }, gone);
    for (const declaration of declarations)
      if (named.includes(toSignature(declaration))) addMethod(known, declaration);
  }
  return known;
}

export const nouns = { paymasters, contracts, policies } as const;
