import type { DashboardToken, TokenParent } from '../../core/resources/dashboard-token.js';
import type { AnyResource } from '../../core/resources/kinds.js';
import type { Organisation } from '../../core/resources/organisation.js';
import { given } from '../../core/units/given.js';
import type { EpochMs } from '../../core/units/time.js';

// A token that a token made ends with it, and with each one above: a thief of the upper one keeps nothing when that is removed.

/** A token as the objects of its organisation hold it. */
type HeldToken = {
  readonly name: string;
  readonly sha256: string;
  /** Of the object that holds it: one that is made again holds another token, although the hash is the same. */
  readonly uid: string;
  readonly expiresAt?: string;
  readonly parent?: TokenParent;
};

/** The tokens of one organisation, by their hash. */
export type TokenFamily = ReadonlyMap<string, HeldToken>;

/** At most so many tokens are below one, at all depths together. */
export const maxBelow = 16;

/** `organisations`: those of the namespace; their tokens come before objects that name the same hash. */
export function gatherFamily(
  organisations: readonly Organisation[],
  tokens: readonly DashboardToken[],
): TokenFamily {
  const ofObjects = tokens.filter(isLive).map(({ metadata, spec }) => toHeldToken(spec, metadata.uid));
  const ofOrganisations = organisations
    .filter(isLive)
    .flatMap(({ metadata, spec }) => spec.tokens?.map((token) => toHeldToken(token, metadata.uid)) ?? []);
  return new Map([...ofObjects, ...ofOrganisations].map((held) => [held.sha256, held]));
}

function toHeldToken({ name, sha256, expiresAt, parent }: Omit<HeldToken, 'uid'>, uid: string): HeldToken {
  return { name, sha256, uid, ...given({ expiresAt, parent }) };
}

/** Not one that is being deleted, which finalizers may delay. */
export function isLive({ metadata }: AnyResource): boolean {
  return metadata.deletionTimestamp === undefined;
}

/** How a token has ended with one above it; undefined: it has not. `moved`: that one is held by another object now. */
export type End = 'removed' | 'expired' | 'moved';

export function findEnd(token: HeldToken, family: TokenFamily, now: EpochMs): End | undefined {
  const passed = new Set<string>();
  let each = token;
  while (each.parent !== undefined) {
    passed.add(each.sha256);
    const above = family.get(each.parent.sha256);
    // A token below itself has nothing that it could end with.
    if (above === undefined || passed.has(above.sha256)) return 'removed';
    if (isExpired(above, now)) return 'expired';
    if (above.uid !== each.parent.uid) return 'moved';
    each = above;
  }
  return undefined;
}

/**
 * The tokens, of any organisations, that have ended for ever. One whose parent has moved to another object, as after a restore, may be
 * adopted; and where the Organisation is gone nothing of it is accepted, and nobody has the right to delete.
 */
export function listEnded(
  organisations: readonly Organisation[],
  tokens: readonly DashboardToken[],
  now: EpochMs,
): readonly DashboardToken[] {
  const holders = Map.groupBy(organisations, ({ spec }) => spec.namespace);
  return [...Map.groupBy(tokens, ({ metadata }) => metadata.namespace ?? '')].flatMap(([namespace, all]) => {
    const made = all.filter(({ spec }) => spec.parent !== undefined);
    const own = holders.get(namespace) ?? [];
    if (made.length === 0 || !own.some(isLive)) return [];
    const family = gatherFamily(own, all);
    return made.filter(({ spec: { sha256 } }) => {
      const held = family.get(sha256);
      const end = held && findEnd(held, family, now);
      return end === 'removed' || end === 'expired';
    });
  });
}

/** An expiry that is not a date parses to NaN, so the comparison is false and the token is refused. */
export function isExpired({ expiresAt }: Pick<HeldToken, 'expiresAt'>, now: EpochMs): boolean {
  return expiresAt !== undefined && !(Date.parse(expiresAt) > now);
}

/** The token and those above it, as far as they are held. */
export function listLine(token: HeldToken, family: TokenFamily): readonly HeldToken[] {
  const line = new Set<HeldToken>();
  let each: HeldToken | undefined = token;
  while (each !== undefined && !line.has(each)) {
    line.add(each);
    each = each.parent && family.get(each.parent.sha256);
  }
  return [...line];
}

/** Those below a token, at all depths. */
export function listBelow({ sha256 }: Pick<HeldToken, 'sha256'>, family: TokenFamily): readonly HeldToken[] {
  return [...family.values()].filter(
    (each) => each.sha256 !== sha256 && listLine(each, family).some((above) => above.sha256 === sha256),
  );
}
