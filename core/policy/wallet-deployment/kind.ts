import { emptyObject, type SchemaOf } from '../../schema/structural.js';
import type { PolicyIdentity, PolicyKind } from '../kind.js';
import { createGlance } from '../modes.js';
import type { DecodedCalls } from '../../userop/call-data.js';
import type { AllowList } from '../rules/allow-list/compile.js';
import { isDeployOnly, type AllowListOperation } from '../rules/allow-list/decide.js';
import { pass, refuse, type Verdict } from '../../refusal.js';

type Nothing = Readonly<Record<string, never>>;
/** True when an active policy permits deploy-only operations. */
type Permission = {
  readonly walletDeployment: boolean;
  /** Policies that permit them in a campaign. */
  readonly deployments?: readonly PolicyIdentity[];
};
type Served = Permission;

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
    write(policies): Permission {
      const deployments = policies.filter(({ campaign }) => campaign !== undefined);
      const walletDeployment = policies.length > deployments.length;
      return deployments.length === 0 ? { walletDeployment } : { walletDeployment, deployments };
    },
    // A permission outside campaigns has no entry in the config; only the policy's status records that it was served.
    read: ({ walletDeployment: isPermitted, deployments }, { policyId, name, wasProgrammed }) =>
      deployments?.find((each) => each.policyId === policyId) ??
      (isPermitted && wasProgrammed ? { policyId, name } : undefined),
    serve: ({ walletDeployment: isPermitted, deployments = [] }): Served => ({
      walletDeployment: isPermitted || deployments.length > 0,
      ...(deployments.length > 0 && { deployments }),
    }),
  },
  decision: {
    step: 'deployment',
    modes: ['SPONSORED'],
    decide: ({ walletDeployment: isPermitted }, { allowList, calls, op }) =>
      decideDeployment(isPermitted, allowList, calls, op),
  },
  glance({ walletDeployment: isPermitted, deployments }) {
    const says = 'lets operations pass that only deploy their account';
    if (deployments !== undefined) return deployments.map((each) => createGlance(each, { says }));
    return isPermitted ? [{ name: 'Deployment of wallets', says }] : [];
  },
  record: {
    body: anyObject,
    specOf: () => ({}),
    render: () => ({ operator: 'walletDeployment' }),
    answer: { required: { operator: { const: 'walletDeployment' } } },
  },
} as const satisfies PolicyKind<Nothing, PolicyIdentity, Permission, Served>;

/**
 * WALLET_DEPLOYMENT permits operations that only deploy their account (`initCode`, no call) and so match no
 * registered contract. With the policy they are sponsored; without it they are refused if calls are restricted. Any
 * other operation passes here: the allow-list judges it, whether it deploys its account or not. Whether the account
 * exists already is not asked: that would cost a call, and only EntryPoint 0.9 mines such an operation.
 *
 * @param allowed whether the paymaster has an active WALLET_DEPLOYMENT policy
 */
export function decideDeployment(
  allowed: boolean,
  allowList: AllowList,
  decoded: DecodedCalls,
  op: AllowListOperation,
): Verdict {
  if (allowed || allowList.kind === 'open' || !isDeployOnly(decoded, op)) return pass;
  return refuse('DEPLOYMENT_NOT_ALLOWED', 'the operation deploys its account and calls nothing');
}
