import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ConfigStore } from '../../core/config/config-store.js';
import { derivePaymasterId } from '../../core/config/ids.js';
import { currentKeyGeneration } from '../../core/config/memory.js';
import { tenantOfOrganisation, type Tenant } from '../../core/config/tenant.js';
import { deriveApiKey, hashCredential } from '../../core/config/api-key.js';
import { unlessUnavailable } from '../../core/errors.js';
import {
  tokenScopes,
  type DashboardToken,
  type TokenParent,
  type TokenScope,
} from '../../core/resources/dashboard-token.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { MasterKeys } from '../../core/secrets.js';
import type { Clock, EpochMs } from '../../core/units/time.js';
import { given } from '../../core/units/given.js';
import type { LastSeen } from './last-seen.js';
import { findEnd, gatherFamily, isExpired, isLive } from './token-family.js';

/** The caller: one token of one organisation. Everything that it may access is in `namespace`. */
export type Principal = {
  readonly organisation: Organisation;
  readonly namespace: string;
  /** Ids and keys of the organisation are made from this. */
  readonly tenant: Tenant;
  /** Name of the token, shown as `createdBy` of the objects that it creates. */
  readonly tokenName: string;
  /** What tokens that it makes have as their parent. */
  readonly token: TokenParent;
  readonly scopes: readonly TokenScope[];
  /** RFC 3339; absent: never. */
  readonly expiresAt?: string;
};

/**
 * Resolves the two headers to an organisation and a paymaster. Every answer is checked against the currently stored
 * object, so a removed, expired or rotated credential stops working at once on every replica. Remembered entries only
 * say where to look; `reader` alone trusts them while the store is away.
 */
export type Authenticator = ReturnType<typeof createAuthenticator>;

type AuthenticatorDeps = {
  readonly lastSeen: Pick<LastSeen, 'resources' | 'orFind'>;
  readonly configs: Pick<ConfigStore, 'findByKey' | 'getLatest'>;
  readonly masterKeys: Pick<MasterKeys, 'current' | 'previous'>;
  readonly clock: Clock;
};

export function createAuthenticator(deps: AuthenticatorDeps) {
  const { configs, masterKeys, clock, lastSeen } = deps;
  const { resources } = lastSeen;
  const tokenHints = new LRUCache<string, string>({ max: 10_000 });
  // An unknown token costs a list of all organisations, and anybody may send one: such requests share one list at a time.
  const listOrganisations = shareCalls(() => resources.list('Organisation'));

  const tokensWith = (sha256: string) =>
    resources.list('DashboardToken', { fields: { 'spec.sha256': sha256 } });

  async function principal(sha256: string): Promise<Principal | undefined> {
    const hint = tokenHints.get(sha256);
    const hinted = hint === undefined ? undefined : await resources.get('Organisation', { name: hint });
    const known = hinted && findPrincipal(hinted, sha256, clock.now());
    if (known) return known;
    const organisations = await listOrganisations();
    const found = principalAmong(organisations, sha256, clock.now());
    if (found !== undefined) tokenHints.set(sha256, found.organisation.metadata.name);
    if (found !== undefined) return found;
    const tokens = await tokensWith(sha256);
    const ofObject = principalOfObject(organisations, tokens, clock.now());
    if (ofObject === undefined || !tokens.some(({ spec }) => spec.parent !== undefined)) return ofObject;
    const { namespace, token } = ofObject;
    const family = gatherFamily(
      organisations.filter(({ spec }) => spec.namespace === namespace),
      await resources.list('DashboardToken', { namespace }),
    );
    const held = family.get(token.sha256);
    return held !== undefined && findEnd(held, family, clock.now()) === undefined ? ofObject : undefined;
  }

  return {
    /** The organisation that the authToken with this hash belongs to; undefined when it is unknown or expired. */
    principal,

    /** The same for a reading that needs no API server: while that is away, by the Organisations that were last seen. */
    reader: (sha256: string): Promise<Principal | undefined> =>
      lastSeen.orFind(principal(sha256), (organisations) =>
        principalAmong(organisations, sha256, clock.now()),
      ),

    /** The caller's paymaster that an apiKey belongs to; undefined for any other key, also one of another organisation. */
    async paymaster({ namespace, tenant }: Principal, apiKey: string): Promise<Paymaster | undefined> {
      const sha256 = hashCredential(apiKey);
      const accepts = async (paymaster: Paymaster): Promise<boolean> => {
        const generation = await keyGenerationInForce(configs, tenant, paymaster);
        return acceptedKeys(masterKeys, tenant, paymaster, generation, clock.now()).some((key) =>
          equalHash(hashCredential(key), sha256),
        );
      };
      // When the config store is down the look-up is slower, but this API still works.
      const served = await unlessUnavailable(configs.findByKey(sha256));
      const hinted =
        served?.namespace === namespace
          ? await resources.get('Paymaster', { namespace, name: served.objectName })
          : undefined;
      if (hinted && isLive(hinted) && (await accepts(hinted))) return hinted;
      // The operator has not programmed the paymaster yet, or no operator runs: then only the resources know the key.
      for (const paymaster of await resources.list('Paymaster', { namespace }))
        if (isLive(paymaster) && (await accepts(paymaster))) return paymaster;
      return undefined;
    },
  };
}

/** The apiKey to show for a paymaster: derived from the key generation in force and the current master key. */
export async function currentApiKey(
  deps: {
    readonly masterKeys: Pick<MasterKeys, 'current'>;
    readonly configs: Pick<ConfigStore, 'getLatest'>;
  },
  tenant: Tenant,
  paymaster: Paymaster,
): Promise<string> {
  const keyGeneration = await keyGenerationInForce(deps.configs, tenant, paymaster);
  const { name } = paymaster.metadata;
  return deriveApiKey(deps.masterKeys.current, { namespace: tenant, name, keyGeneration });
}

/**
 * The status says whether a name has had a higher generation than the spec asks for. A new paymaster has no status yet, so the
 * generation that is remembered for its name is used.
 */
export async function keyGenerationInForce(
  configs: Pick<ConfigStore, 'getLatest'>,
  tenant: Tenant,
  { metadata, spec, status }: Paymaster,
): Promise<number> {
  if (status !== undefined) return currentKeyGeneration(spec, status);
  const latest = await configs.getLatest(derivePaymasterId(tenant, metadata.name));
  return currentKeyGeneration(spec, latest?.config.memory);
}

function acceptedKeys(
  { current, previous }: Pick<MasterKeys, 'current' | 'previous'>,
  tenant: Tenant,
  { metadata, spec }: Paymaster,
  keyGeneration: number,
  now: EpochMs,
): readonly string[] {
  const { previousKeyUntil } = spec;
  const isOwn = spec.keyGeneration === keyGeneration && keyGeneration > 1;
  const overlaps = isOwn && previousKeyUntil !== undefined && Date.parse(previousKeyUntil) > now;
  const generations = overlaps ? [keyGeneration, keyGeneration - 1] : [keyGeneration];
  const masters = previous ? [current, previous] : [current];
  return masters.flatMap((master) =>
    generations.map((generation) =>
      deriveApiKey(master, { namespace: tenant, name: metadata.name, keyGeneration: generation }),
    ),
  );
}

function principalAmong(
  organisations: readonly Organisation[],
  sha256: string,
  now: EpochMs,
): Principal | undefined {
  for (const organisation of organisations) {
    const principal = findPrincipal(organisation, sha256, now);
    if (principal !== undefined) return principal;
  }
  return undefined;
}

function findPrincipal(organisation: Organisation, sha256: string, now: EpochMs): Principal | undefined {
  if (!isLive(organisation)) return undefined;
  const token = organisation.spec.tokens?.find((candidate) => equalHash(candidate.sha256, sha256));
  if (!token || isExpired(token, now)) return undefined;
  const { namespace } = organisation.spec;
  return {
    organisation,
    namespace,
    tenant: tenantOfOrganisation(organisation),
    tokenName: token.name,
    token: { sha256, uid: organisation.metadata.uid },
    // What the platform grants is not narrowed.
    scopes: tokenScopes,
    ...given({ expiresAt: token.expiresAt }),
  };
}

/**
 * Of an object that names the token. Anyone who knows a hash could write it in a namespace of his own and be sent what its owner
 * sends: so the platform's tokens come first, also when they have expired, then the oldest object; of two that are equally old
 * neither counts.
 */
function principalOfObject(
  organisations: readonly Organisation[],
  tokens: readonly DashboardToken[],
  now: EpochMs,
): Principal | undefined {
  const [first, second] = tokens.toSorted((a, b) => createdAt(a) - createdAt(b));
  if (first === undefined || !isLive(first)) return undefined;
  if (second !== undefined && createdAt(second) === createdAt(first)) return undefined;
  const { name, sha256, scopes, expiresAt } = first.spec;
  if (isExpired(first.spec, now)) return undefined;
  if (organisations.some(({ spec }) => spec.tokens?.some((token) => token.sha256 === sha256)))
    return undefined;
  const { namespace } = first.metadata;
  const organisation = organisations.find((each) => isLive(each) && each.spec.namespace === namespace);
  if (organisation === undefined || namespace === undefined) return undefined;
  const tenant = tenantOfOrganisation(organisation);
  const token = { sha256, uid: first.metadata.uid };
  return { organisation, namespace, tenant, tokenName: name, token, scopes, ...given({ expiresAt }) };
}

function createdAt({ metadata }: DashboardToken): number {
  return Date.parse(metadata.creationTimestamp);
}

function equalHash(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Calls made while one runs share the next run. So each answer is at least as new as its call, and only one call runs at a time. */
function shareCalls<T>(call: () => Promise<T>): () => Promise<T> {
  let running: Promise<unknown> = Promise.resolve();
  let next: Promise<T> | undefined;
  return () => {
    next ??= running.then(() => {
      next = undefined;
      const started = call();
      running = started.catch(() => undefined);
      return started;
    });
    return next;
  };
}
