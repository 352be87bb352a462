import type { ObservedStatus, Resource } from '../meta/meta.js';

/** What a token of the dashboard may do. `write` may do everything that the others may. */
export const tokenScopes = ['read', 'stop', 'finance', 'write'] as const;
export type TokenScope = (typeof tokenScopes)[number];

export type DashboardTokenSpec = {
  readonly name: string;
  /** SHA-256 of the token as 64 lowercase hex digits. The token itself is never stored. */
  readonly sha256: string;
  readonly scopes: readonly TokenScope[];
  /** RFC 3339; absent: never. */
  readonly expiresAt?: string;
  /** The token that made it. */
  readonly createdBy?: string;
  /** The token with which it ends. Absent: it ends with none. */
  readonly parent?: TokenParent;
};

export type TokenParent = {
  readonly sha256: string;
  /** metadata.uid of the Organisation or DashboardToken that held it. */
  readonly uid: string;
};

export type DashboardToken = Resource<'DashboardToken', DashboardTokenSpec, ObservedStatus>;
