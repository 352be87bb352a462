import { pass, refuse, type Verdict } from '../../refusal.js';
import type { EpochMs } from '../../units/time.js';
import type { Mode } from '../../usage/reservation.js';

/** Names of campaigns. Callers choose the text in requests, and it is recorded. */
export const campaignName = /^[A-Za-z0-9._-]{1,64}$/;

/** A campaign with an active policy. */
export type ActiveCampaign = {
  /** Modes in which one of its policies judges and refuses. */
  readonly modes: ReadonlySet<Mode>;
  /** When the first of its windows ends, in a mode; Infinity: never. */
  readonly endsAt: (mode: Mode) => number;
};

export type CampaignRules = {
  readonly active: ReadonlyMap<string, ActiveCampaign>;
  /** False while only policies in Shadow have campaigns: then no name is refused. */
  readonly isEnforced: boolean;
  readonly withoutIsAllowed: boolean;
  /** That of the key which asks; absent: the key has none. */
  readonly only?: string;
};

/**
 * A request names one active campaign where any judges in its mode. Unknown, paused and ended get one answer, so that callers
 * cannot tell which names have been used.
 */
export function decideCampaign(
  { active, isEnforced, withoutIsAllowed, only }: CampaignRules,
  { name, mode, now }: { readonly name: string | undefined; readonly mode: Mode; readonly now: EpochMs },
): Verdict {
  if (only !== undefined && name !== only)
    return refuse('CAMPAIGN_NOT_ACTIVE', 'the key belongs to another campaign');
  const isJudged = [...active.values()].some(({ modes }) => modes.has(mode));
  if (name === undefined)
    return isJudged && !withoutIsAllowed ? refuse('CAMPAIGN_REQUIRED', 'no sponsorshipPolicyId') : pass;
  const named = active.get(name);
  // Naming another campaign must not lead around one that judges in this mode.
  const isOpen = named !== undefined && now < named.endsAt(mode) && (!isJudged || named.modes.has(mode));
  return isOpen || (!isEnforced && only === undefined)
    ? pass
    : refuse('CAMPAIGN_NOT_ACTIVE', 'as the request names it');
}
