import type { ServedProfile } from '../view/served-chain.js';

/** Of an account that several organisations may draw on, where the profile does not say. */
const defaultPercent = 25;

/**
 * What an organisation's live promises may take of an account that the platform pays from: `organisationShare` where the
 * profile says so, all of it where the platform's list names this organisation alone, else a quarter. By the list, never by
 * how many organisations there are: a tenant who is added later must find room.
 */
export function organisationPercent(
  { organisationShare, defaultFunding }: Pick<ServedProfile, 'organisationShare' | 'defaultFunding'>,
  namespace: string,
): number {
  if (organisationShare !== undefined) return organisationShare;
  const listed = defaultFunding?.organisations;
  return listed !== undefined && listed.size === 1 && listed.has(namespace) ? 100 : defaultPercent;
}
