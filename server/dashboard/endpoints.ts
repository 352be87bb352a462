import type { Endpoint } from './endpoint.js';
import { sendFundingMessage, updatePaymaster } from './funding.js';
import { changesEndpoint } from './ledger/changes.js';
import { decisionEndpoint, decisionsEndpoint } from './ledger/decisions.js';
import { fundsEndpoint } from './ledger/funds.js';
import { limitsEndpoint } from './ledger/limits.js';
import { statementsEndpoint } from './ledger/statements.js';
import { usageEndpoint } from './ledger/usage.js';
import { whatIfEndpoint } from './ledger/what-if.js';
import { updateLimit } from './limits.js';
import { chainsEndpoint } from './manage/chains.js';
import { explainEndpoint } from './manage/explain.js';
import { feeTokensEndpoint } from './manage/fee-tokens.js';
import { fundingEndpoints } from './manage/funding.js';
import { keyEndpoints } from './manage/keys.js';
import { meEndpoint } from './manage/me.js';
import { namedKeyEndpoints } from './manage/named-keys.js';
import { nouns } from './manage/nouns.js';
import { objectEndpoints } from './manage/objects.js';
import { problemsEndpoint } from './manage/problems.js';
import { rulesEndpoint } from './manage/rules.js';
import { testWebhookEndpoint } from './manage/test-webhook.js';
import { tokenEndpoints } from './manage/tokens.js';
import { notificationEndpoints } from './notifications/endpoints.js';
import { createPaymaster, listPaymasters } from './paymasters.js';
import { platformAccounts, platformLosses } from './platform/accounts.js';
import { platformChains } from './platform/chains.js';
import { platformOrganisations, platformProblems } from './platform/organisations.js';
import { createPolicy, listPolicies, activatePolicy, deactivatePolicy } from './policies.js';
import {
  createSmartContract,
  deleteSmartContract,
  listSmartContracts,
  updateSmartContract,
} from './smart-contracts.js';

export const prefix = '/api/v2/public/sdk';

/** The endpoints of the service document, which defines paths, messages and odd answers, in its order. */
export const documentEndpoints: readonly Endpoint[] = [
  listPaymasters,
  createPaymaster,
  createSmartContract,
  listSmartContracts,
  updateSmartContract,
  deleteSmartContract,
  sendFundingMessage,
  updatePaymaster,
  createPolicy,
  listPolicies,
  updateLimit,
  deactivatePolicy,
  activatePolicy,
];

export { managePrefix } from './call.js';

/** Below `/manage/v1` too, for tokens of the platform alone. */
export const platformEndpoints: readonly Endpoint[] = [
  platformOrganisations,
  platformProblems,
  platformChains,
  platformAccounts,
  platformLosses,
];

/** What the service document has not. */
export const manageEndpoints: readonly Endpoint[] = [
  meEndpoint,
  ...objectEndpoints('paymasters', nouns.paymasters),
  ...objectEndpoints('contracts', nouns.contracts),
  ...objectEndpoints('policies', nouns.policies),
  rulesEndpoint,
  explainEndpoint,
  ...keyEndpoints,
  ...namedKeyEndpoints,
  ...fundingEndpoints,
  testWebhookEndpoint,
  ...tokenEndpoints,
  problemsEndpoint,
  ...notificationEndpoints,
  chainsEndpoint,
  feeTokensEndpoint,
  usageEndpoint,
  decisionsEndpoint,
  decisionEndpoint,
  limitsEndpoint,
  fundsEndpoint,
  statementsEndpoint,
  changesEndpoint,
  whatIfEndpoint,
];
