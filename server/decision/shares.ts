import type { ServedProfile } from '../view/served-chain.js';

/** One organisation's share of an account that several may draw on, when the profile does not set it. */
const defaultPercent = 25;

/**
 * The percentage of a platform account that an organisation's live promises may take: `organisationShare` if the profile sets
 * it, 100 if the platform's list names this organisation alone, else 25. The list decides, not the number of organisations
 * that exist: a tenant who is added later must find room.
 */
export function organisationPercent(
  { organisationShare, defaultFunding }: Pick<ServedProfile, 'organisationShare' | 'defaultFunding'>,
  namespace: string,
): number {
  if (organisationShare !== undefined) return organisationShare;
  const listed = defaultFunding?.organisations;
  return listed !== undefined && listed.size === 1 && listed.has(namespace) ? 100 : defaultPercent;
}
