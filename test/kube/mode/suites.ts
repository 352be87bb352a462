/**
 * Which suites of the service document run in Kubernetes mode too: on a real API server and PostgreSQL, under the chart's rights. All run on the
 * embedded stores. Every file of `test/spec` is in one of the three tables (`test/architecture/kubernetes-mode.test.ts`).
 */
export type SuiteTable = Readonly<Record<string, string>>;

/** In every run, with what only Kubernetes mode can answer otherwise. */
export const suitesOfEveryRun: SuiteTable = {
  'dashboard-authentication':
    'Who a token or a key belongs to is read from organisations and paymasters of all namespaces, which the dashboard may list only where the operator has granted it.',
  'dashboard-concurrency':
    'Of concurrent writes by two replicas the API server lets one pass, by names and resourceVersions instead of a transaction.',
  'dashboard-funding':
    'Messages are in PostgreSQL and the account is in an object: two stores, which have to agree.',
  'dashboard-limits': 'The API server holds limits against the rules of the definitions once more.',
  'dashboard-other-kinds': 'A write by server-side apply keeps the fields that it does not know.',
  'dashboard-ownership': 'Fields belong to managers of the API server; a conflict is its 409.',
  'dashboard-programmed':
    'The operator programs a write in its own time, and says so in the status of the object.',
  'dashboard-states':
    'A change of one field is a patch of the object, beside the operator that writes its status.',
  'manage-cascade':
    'Objects of several kinds end one after the other, beside the operator and by the owners that the API server knows.',
  'manage-counts':
    'A change of a limit is what the operator makes of the object, and its count is in PostgreSQL.',
  'manage-keys': 'Generations of keys are in objects; the dashboard reads which master keys are in force.',
  'manage-objects': 'Pages, deletions and what depends on them follow the API server.',
  'manage-platform': 'What a platform reads of every organisation needs rights in every namespace.',
  'manage-tokens': 'Tokens are objects that the dashboard makes, lists in the whole cluster and deletes.',
  'rpc-sponsor-user-operation':
    'The sponsor path once: configs through a watch, reservations in PostgreSQL. The suites of both ports prove the rest.',
};

/**
 * In `make soak` and in the nightly run. Stores can change what these answer, but by nothing that a suite above or the conformance suite of the
 * store (`test/conformance`) does not show.
 */
export const suitesOfSoak: SuiteTable = {
  'dashboard-endpoints': 'Envelopes and messages; what is stored is in manage-objects.',
  'dashboard-errors': 'Each row is judged before it is stored, or is a conflict of dashboard-concurrency.',
  'dashboard-http': 'Bodies, browsers, overload; a store that fails is a fake there.',
  'dashboard-resources':
    'Fields as they are rendered; what the API server keeps of them is in the conformance of resource stores.',
  'dashboard-unprogrammed': 'Waits in vain for a status, which neither store writes by itself.',
  'ledger-api': 'Questions to the ledger: its conformance.',
  'manage-changes': 'Records of changes: the conformance of ledgers.',
  'manage-dry-run':
    'The same decisions as in manage-objects; that nothing is stored: the conformance of resource stores.',
  'manage-explain': 'Asks another process; on Kubernetes in kube/installation.',
  'manage-funding': 'The same messages as in dashboard-funding.',
  'manage-idempotency': 'Messages as in dashboard-funding: the conformance of usage stores.',
  'manage-money': 'Questions to the ledger: its conformance.',
  'manage-rows': 'Refusals of wrong tokens, before a store is asked for anything else.',
  'manage-rules': 'A view of objects that are listed as in manage-objects.',
  'manage-shadow': 'Questions to the ledger: its conformance.',
  'manage-statements': 'Questions to the ledger: its conformance.',
  'manage-widening': 'Owners of fields are as in dashboard-ownership.',
  'manage-test-webhook': 'Asks hosts; the policy is read as in manage-objects.',
  'rpc-named-keys':
    'The compiled config says what a key may ask; who may write it is in dashboard-ownership.',
  'rpc-authentication': 'Looks up compiled configs, which the conformance of config stores covers.',
  'rpc-budgets': 'Sums of the usage store: its conformance.',
  'rpc-bundlers':
    'What is passed on is read and judged without a store, or by a promise of the usage store: its conformance.',
  'rpc-campaigns': 'Sums of the usage store: its conformance.',
  'rpc-dollar-limits': 'Sums of the usage store: its conformance.',
  'rpc-erc-7677': 'The form of requests and answers of the sponsor path.',
  'rpc-erc20-sponsor': 'Reservations as on the sponsor path, with other amounts.',
  'rpc-events': 'What the server tells of operations that it follows: the conformance of usage stores.',
  'rpc-explain': 'Decides as the sponsor path does, and writes nothing.',
  'rpc-explain-tokens': 'Decides as a payment does, and writes nothing.',
  'rpc-expression': 'Decided from the compiled config; what is summed is in the conformance of usage stores.',
  'rpc-members': 'The form of requests.',
  'rpc-minimum-tip': 'Decided from the compiled config and the request.',
  'rpc-named-entry-point': 'The form of answers, and decided from the compiled config and the request.',
  'rpc-others-methods': 'Other forms of requests that are decided by the same steps.',
  'rpc-otherwise': 'Two decisions of one request; what each needs of the stores is in suites above.',
  'rpc-origins': 'Decided from the compiled config and the request.',
  'rpc-paymaster-gas': 'Decided from the compiled config and the request.',
  'rpc-per-operation': 'Decided from the compiled config and the request.',
  'rpc-records': 'What is written to the ledger: its conformance.',
  'rpc-remote-signer': 'What stays reserved when a signer fails: the conformance of usage stores.',
  'rpc-reservations': 'The conformance of usage stores.',
  'rpc-senders': 'Lists of addresses: the conformance of config stores.',
  'rpc-shadow': 'What is written to the ledger: its conformance.',
  'rpc-signing-phases': 'What stays reserved when signing fails: the conformance of usage stores.',
  'rpc-supported-tokens': 'Read from the compiled config.',
  'rpc-window': 'Cycles of the usage store: its conformance.',
  'what-if': 'Questions to the ledger, with policies that are read as in manage-objects.',
};

/** Never: what no store can change. */
export const suitesWithoutStores: SuiteTable = {
  'dashboard-malformed': 'Judged before a store is asked.',
  'dashboard-openapi': 'A document that is made of schemas.',
  'dashboard-versioning': 'Judged before a store is asked.',
  'dashboard-warnings': 'Judged before a store is asked.',
  'rpc-errors': 'Judged before a store is asked.',
  'rpc-conformance': 'The form of answers.',
  'rpc-openrpc': 'A document that is made of schemas.',
  'rpc-request-envelope': 'Judged before a store is asked.',
  'rpc-server': 'Connections, readiness and stopping of the process; a store that fails is a fake there.',
  // Decided from the compiled config and the request, before anything is reserved. What reserves, and what the
  // amounts are, is in the suites of sponsorships, reservations and token payments.
  'rpc-contexts': 'The form of requests, and decided from the compiled config and the request.',
  'rpc-data-fee': 'Decided before anything is reserved.',
  'rpc-eip-7702': 'Decided before anything is reserved.',
  'rpc-erc20-quotes': 'Decided before anything is reserved.',
  'rpc-get-fee-quote': 'Decided before anything is reserved.',
  'rpc-open-sponsorship': 'Decided before anything is reserved.',
  'rpc-unused-gas': 'Decided before anything is reserved.',
  'webhook-delivery': 'Decided before anything is reserved.',
};
