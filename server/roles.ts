/** What a server process does: answers wallets, answers the dashboard API, or both. */
export const roles = ['rpc', 'dashboard'] as const;
export type Role = (typeof roles)[number];
