/** What a server process does: answers wallets, answers the dashboard API, or both. */
export const roles = ['rpc', 'dashboard'] as const;
export type Role = (typeof roles)[number];

/** Moves records to the ledger. Has a process of its own, which needs neither keys nor rights in Kubernetes. */
export const ledgerRole = 'ledger';
