import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { campaignPolicies, partsWith, policiesEndAt, serveParts } from '../../core/policy/derived.js';
import type { ServedPolicies } from '../../core/policy/derived.js';
import type { PolicyIdentity } from '../../core/policy/kind.js';
import { appliesIn, modes } from '../../core/policy/modes.js';
import type { ActiveCampaign, CampaignRules } from '../../core/policy/rules/campaign.js';

/** `judges`: the policies that judge a request which names the campaign. */
type ServedCampaign = ActiveCampaign & { readonly judges: ServedPolicies };
export type Campaigns = Omit<CampaignRules, 'active'> & {
  readonly active: ReadonlyMap<string, ServedCampaign>;
};

export const isOfAll = ({ campaign }: PolicyIdentity): boolean => campaign === undefined;

/** Undefined where no policy has a campaign, so that nothing is looked at. */
export function serveCampaigns(config: PaymasterConfig): Campaigns | undefined {
  const byName = Map.groupBy(campaignPolicies(config), ({ campaign = '' }) => campaign);
  const isEnforced = config.campaigns !== undefined;
  if (byName.size === 0 && !isEnforced) return undefined;
  const active = new Map(
    [...byName].map(([name, policies]): [string, ServedCampaign] => {
      const own = serveParts(partsWith(config, ({ campaign }) => campaign === name));
      const judging = policies.filter(({ shadow }) => shadow !== true);
      return [
        name,
        {
          modes: new Set(modes.filter((mode) => judging.some((policy) => appliesIn(policy, mode)))),
          endsAt: (mode) => policiesEndAt(own, mode),
          judges: serveParts(partsWith(config, ({ campaign = name }) => campaign === name)),
        },
      ];
    }),
  );
  return { active, isEnforced, withoutIsAllowed: config.withoutCampaign === true };
}

/** The paymaster with the policies of this campaign. The same object for each request: later steps compare it. */
export function forCampaign<P extends ServedPolicies & { readonly campaigns: Campaigns | undefined }>(
  paymaster: P,
  name: string | undefined,
): P {
  const named = name === undefined ? undefined : paymaster.campaigns?.active.get(name);
  if (named === undefined) return paymaster;
  // Keys with names share the campaigns of their paymaster, but each has its own restrictions, so objects are kept for each.
  const ofPaymaster = made.get(paymaster) ?? new Map<ServedCampaign, object>();
  made.set(paymaster, ofPaymaster);
  const known = ofPaymaster.get(named);
  if (known !== undefined) return known as P;
  const judging = Object.freeze({ ...paymaster, ...named.judges });
  ofPaymaster.set(named, judging);
  return judging;
}

const made = new WeakMap<object, Map<ServedCampaign, object>>();
