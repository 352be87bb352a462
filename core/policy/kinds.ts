import { expression } from './expression/kind.js';
import type { PolicyKind } from './kind.js';
import { senders } from './senders/kind.js';
import { spendingLimit } from './spending-limit/kind.js';
import { walletDeployment } from './wallet-deployment/kind.js';
import { webhook } from './webhook/kind.js';
import { window } from './window/kind.js';

/** Every kind of policy, by its `policyType`. */
export const policyKinds = {
  PAYMASTER_SA_LIMIT: spendingLimit,
  WEBHOOK: webhook,
  WALLET_DEPLOYMENT: walletDeployment,
  WINDOW: window,
  SENDERS: senders,
  EXPRESSION: expression,
} as const satisfies Record<string, PolicyKind>;

export type PolicyType = keyof typeof policyKinds;
