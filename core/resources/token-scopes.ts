/** What a token of the dashboard may do. `write` may do everything that the others may. */
export const tokenScopes = ['read', 'stop', 'finance', 'write'] as const;
export type TokenScope = (typeof tokenScopes)[number];
