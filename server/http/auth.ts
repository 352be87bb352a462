import { timingSafeEqual } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ConfigStore } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { deriveApiKey, hashApiKey, hashToken } from '../../core/config/api-key.js';
import { isDomainError } from '../../core/errors.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { Paymaster } from '../../core/resources/paymaster.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { MasterKeys } from '../../core/secrets.js';
import type { Clock, EpochMs } from '../../core/units/time.js';

/** Who calls: one token of one organisation. Everything that it reaches lies in `namespace`. */
export type Principal = {
  readonly organisation: Organisation;
  readonly namespace: string;
  /** Name of the token, shown as `createdBy` of what it creates. */
  readonly tokenName: string;
};

/**
 * Turns the two headers into what they give access to. Every answer is checked against the stored object of now, so a
 * removed, expired or rotated credential stops at once on every replica; what is remembered only says where to look.
 */
export type Authenticator = {
  /** The organisation that an authToken belongs to; undefined when it is unknown or expired. */
  principal(authToken: string): Promise<Principal | undefined>;
  /** The caller's paymaster that an apiKey belongs to; undefined for any other key, also one of another organisation. */
  paymaster(principal: Principal, apiKey: string): Promise<Paymaster | undefined>;
};

export type AuthenticatorDeps = {
  readonly resources: Pick<ResourceStore, 'get' | 'list'>;
  readonly configs: Pick<ConfigStore, 'findByKey'>;
  readonly masterKeys: Pick<MasterKeys, 'current' | 'previous'>;
  readonly clock: Clock;
};

export function createAuthenticator({
  resources,
  configs,
  masterKeys,
  clock,
}: AuthenticatorDeps): Authenticator {
  const tokenHints = new LRUCache<string, string>({ max: 10_000 });
  // Unknown tokens cost a list of all organisations, and anybody may send them: they share one list at a time.
  const listOrganisations = shareCalls(() => resources.list('Organisation'));

  return {
    async principal(authToken) {
      const sha256 = hashToken(authToken);
      const hint = tokenHints.get(sha256);
      const hinted = hint === undefined ? undefined : await resources.get('Organisation', { name: hint });
      const known = hinted && principalOf(hinted, sha256, clock.now());
      if (known) return known;
      for (const organisation of await listOrganisations()) {
        const principal = principalOf(organisation, sha256, clock.now());
        if (!principal) continue;
        tokenHints.set(sha256, organisation.metadata.name);
        return principal;
      }
      return undefined;
    },

    async paymaster({ namespace }, apiKey) {
      const sha256 = hashApiKey(apiKey);
      const accepts = (paymaster: Paymaster): boolean =>
        acceptedKeys(masterKeys, paymaster, clock.now()).some((key) => equalHash(hashApiKey(key), sha256));
      const served = await findServed(configs, sha256);
      const hinted =
        served?.namespace === namespace
          ? await resources.get('Paymaster', { namespace, name: served.objectName })
          : undefined;
      if (hinted && isLive(hinted) && accepts(hinted)) return hinted;
      // Not programmed yet, or by no operator: then only the resources themselves know.
      return (await resources.list('Paymaster', { namespace })).find((p) => isLive(p) && accepts(p));
    },
  };
}

/** Where the key is served. The config store may be down: that is slower then, but not an outage of this API. */
async function findServed(
  configs: Pick<ConfigStore, 'findByKey'>,
  sha256: string,
): Promise<PaymasterConfig | undefined> {
  try {
    return await configs.findByKey(sha256);
  } catch (error) {
    if (isDomainError(error, 'UNAVAILABLE')) return undefined;
    throw error;
  }
}

/** The apiKey that is shown for a paymaster: of its current generation, under the current master key. */
export function currentApiKey(masterKeys: Pick<MasterKeys, 'current'>, paymaster: Paymaster): string {
  return deriveApiKey(masterKeys.current, keyOwner(paymaster, paymaster.spec.keyGeneration ?? 1));
}

function acceptedKeys(
  { current, previous }: Pick<MasterKeys, 'current' | 'previous'>,
  paymaster: Paymaster,
  now: EpochMs,
): readonly string[] {
  const { keyGeneration = 1, previousKeyUntil } = paymaster.spec;
  const overlaps = previousKeyUntil !== undefined && Date.parse(previousKeyUntil) > now;
  const generations = overlaps && keyGeneration > 1 ? [keyGeneration, keyGeneration - 1] : [keyGeneration];
  const masters = previous ? [current, previous] : [current];
  return masters.flatMap((master) =>
    generations.map((generation) => deriveApiKey(master, keyOwner(paymaster, generation))),
  );
}

function keyOwner({ metadata }: Paymaster, keyGeneration: number): Parameters<typeof deriveApiKey>[1] {
  return { namespace: metadata.namespace ?? '', name: metadata.name, keyGeneration };
}

function principalOf(organisation: Organisation, sha256: string, now: EpochMs): Principal | undefined {
  if (!isLive(organisation)) return undefined;
  const token = organisation.spec.tokens?.find((candidate) => equalHash(candidate.sha256, sha256));
  // An expiry that is no date parses to NaN and compares false: closed.
  if (!token || (token.expiresAt !== undefined && !(Date.parse(token.expiresAt) > now))) return undefined;
  return { organisation, namespace: organisation.spec.namespace, tokenName: token.name };
}

function isLive(object: Organisation | Paymaster): boolean {
  return object.metadata.deletionTimestamp === undefined;
}

function equalHash(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Calls made while one runs share the next one: each answer is at least as new as its question, and one runs at a time. */
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
