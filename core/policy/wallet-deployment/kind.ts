import { emptyObject, type SchemaOf } from '../../schema/structural.js';
import type { PolicyIdentity, PolicyKind } from '../kind.js';
import { decideDeployment } from './decide.js';

type Nothing = Readonly<Record<string, never>>;
/** True when an active policy permits deploy-only operations. */
type Permission = { readonly walletDeployment: boolean };

const anyObject: SchemaOf<object> = {
  type: 'object',
  description: 'Data by policyType.',
  expected: 'an object',
};

/** Permits operations that deploy their account and call nothing. */
export const walletDeployment = {
  member: 'walletDeployment',
  schema: emptyObject('Permits operations that only deploy a wallet, for policyType WALLET_DEPLOYMENT.'),
  isPermission: true,
  most: { count: 5, name: 'wallet deployment policies' },
  compile: ({ policyId, name }) => ({ config: { policyId, name } }),
  config: {
    write: (policies) => ({ walletDeployment: policies.length > 0 }),
    // A permission has no entry in the config; only the policy's status records that it was served.
    read: ({ walletDeployment: isPermitted }, { policyId, name, wasProgrammed }) =>
      isPermitted && wasProgrammed ? { policyId, name } : undefined,
    serve: ({ walletDeployment: isPermitted }) => ({ walletDeployment: isPermitted }),
  },
  decision: {
    step: 'deployment',
    modes: ['SPONSORED'],
    decide: ({ walletDeployment: isPermitted }, { allowList, calls, op }) =>
      decideDeployment(isPermitted, allowList, calls, op),
  },
  record: {
    body: anyObject,
    specOf: () => ({}),
    render: () => ({ operator: 'walletDeployment' }),
    answer: { required: { operator: { const: 'walletDeployment' } } },
  },
} as const satisfies PolicyKind<Nothing, PolicyIdentity, Permission, Permission>;
