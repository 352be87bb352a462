import { join } from 'node:path';
import { randomBytes } from 'node:crypto';
import { hashCredential } from '../core/config/api-key.js';
import type { ResourceStore } from '../core/resources/resource-store.js';
import { newAuthToken } from '../server/dashboard/auth-token.js';
import type { StandaloneConfig } from './config.js';
import { readOrCreate, type DataDirectory } from './data-directory.js';
import type { Clock } from '../core/units/time.js';

const manager = 'paymaster-standalone';

/**
 * Gives a token to the first Organisation that lists no tokens: the token of PAYMASTER_AUTH_TOKEN, or one that is
 * generated once and kept in the data directory. Only its SHA-256 goes into the resource. Undefined when every
 * Organisation lists its tokens: then only their owners know them.
 */
export async function ensureAuthToken(deps: {
  readonly config: Pick<StandaloneConfig, 'authToken'>;
  readonly directory: Pick<DataDirectory, 'path'>;
  readonly resources: ResourceStore;
}): Promise<string | undefined> {
  const organisations = await deps.resources.list('Organisation');
  const organisation = organisations
    .filter(({ spec }) => spec.tokens === undefined || spec.tokens.every(({ name }) => name === tokenName))
    .sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))[0];
  if (organisation === undefined) return undefined;

  const authToken =
    deps.config.authToken ??
    readOrCreate(join(deps.directory.path, 'auth-token'), () => newAuthToken().authToken);
  const sha256 = hashCredential(authToken);
  if (organisation.spec.tokens?.some((token) => token.sha256 === sha256)) return authToken;
  await deps.resources.apply({
    manager,
    kind: 'Organisation',
    key: { name: organisation.metadata.name },
    spec: { tokens: [{ name: tokenName, sha256 }] },
    version: organisation.metadata.resourceVersion,
  });
  return authToken;
}

const tokenName = 'standalone';

const lifeMs = 15 * 60_000;

export type SignInCode = ReturnType<typeof createSignInCode>;

/** A code that signs in to the console once, soon after the start: the terminal that shows it may be recorded. */
export function createSignInCode({
  authToken,
  clock,
}: {
  readonly authToken: string;
  readonly clock: Clock;
}) {
  const code = randomBytes(18).toString('base64url');
  const until = clock.now() + lifeMs;
  let isUsed = false;
  return {
    code,
    /** The authToken that the code stands for. */
    redeem(given: string): string | undefined {
      // Compares hashes, so the time of a comparison reveals nothing.
      if (isUsed || clock.now() > until || hashCredential(given) !== hashCredential(code)) return undefined;
      isUsed = true;
      return authToken;
    },
  };
}
