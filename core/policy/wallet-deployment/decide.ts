import type { DecodedCalls } from '../../userop/call-data.js';
import type { AllowList } from '../rules/allow-list/compile.js';
import { isDeployOnly, type AllowListOperation } from '../rules/allow-list/decide.js';
import { pass, refuse, type Verdict } from '../../refusal.js';

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
