import type { NamedKey } from '../../core/config/named-keys.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import { createNetworks, parseNetwork, type IpNetwork } from '../../core/policy/webhook/ip-address.js';
import { given } from '../../core/units/given.js';
import type { Campaigns } from './campaigns.js';

/** A key with a name, as requests need it. */
export type ServedKey = Pick<NamedKey, 'name' | 'campaign' | 'rateLimit'> & {
  readonly sha256: string;
  /** Whether a caller at this address may use it; undefined: every one. */
  readonly admits: ((address: string) => boolean) | undefined;
};

/** By their hashes; undefined: no key has a name. */
export function serveKeys(keys: PaymasterConfig['keys']): ReadonlyMap<string, ServedKey> | undefined {
  const named = keys.flatMap(({ sha256, name, campaign, rateLimit, cidrs }): ServedKey[] => {
    if (name === undefined) return [];
    const admits = cidrs && createNetworks(cidrs.flatMap(parseNetworks));
    return [{ sha256, name, ...given({ campaign, rateLimit }), admits }];
  });
  return named.length === 0 ? undefined : new Map(named.map((key) => [key.sha256, key]));
}

/** A text that is not a network admits nobody. */
function parseNetworks(cidr: string): readonly IpNetwork[] {
  try {
    return [parseNetwork(cidr)];
  } catch {
    return [];
  }
}

/** The paymaster as it judges requests with this key, made once: later steps compare it. */
export function forKey<
  P extends {
    readonly namedKeys: ReadonlyMap<string, ServedKey> | undefined;
    readonly campaigns: Campaigns | undefined;
    readonly key: ServedKey | undefined;
  },
>(paymaster: P, sha256: string): P {
  const key = paymaster.namedKeys?.get(sha256);
  if (key === undefined) return paymaster;
  const known = made.get(key);
  // Each key object belongs to one paymaster.
  if (known !== undefined) return known as P;
  const { campaigns = noCampaigns } = paymaster;
  const narrowed = Object.freeze({
    ...paymaster,
    key,
    campaigns: key.campaign === undefined ? paymaster.campaigns : { ...campaigns, only: key.campaign },
  });
  made.set(key, narrowed);
  return narrowed;
}

const noCampaigns: Campaigns = { active: new Map(), isEnforced: true, withoutIsAllowed: false };
const made = new WeakMap<ServedKey, object>();
