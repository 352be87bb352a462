import type { ConfigStore } from '../../../core/config/config-store.js';
import type { PaymasterConfig } from '../../../core/config/paymaster-config.js';
import type { AddressKey } from '../../../core/units/address.js';
import { given } from '../../../core/units/given.js';
import type { EpochMs } from '../../../core/units/time.js';
import type { CounterId } from '../../../core/usage/reservation.js';
import type { CounterState } from '../../../core/usage/reserve-request.js';
import type { UsageReading } from '../../../core/usage/usage-store.js';
import { servePaymaster } from '../../view/served-paymaster.js';
import { createSharing } from '../../view/sharing.js';
import { counterKey, listRules, type Rule, type RulesAt } from './rules.js';
import { turn } from '../../../adapters/timers.js';

type RulesDeps = {
  readonly configs: Pick<ConfigStore, 'getChain' | 'getList'>;
  readonly usage: Pick<UsageReading, 'counters'>;
};

/** The rules of a served config, with what is used of its limits. Throws UNAVAILABLE. */
export async function readRules(
  deps: RulesDeps,
  config: PaymasterConfig,
  now: EpochMs,
  sender?: AddressKey,
): Promise<readonly Rule[]> {
  return (await readAllRules(deps, [config], now, sender)).get(config.paymasterId) ?? [];
}

/** The rules of each config, by paymasterId. However many they are, each chain costs one read of the usage store. */
export async function readAllRules(
  deps: RulesDeps,
  configs: readonly PaymasterConfig[],
  now: EpochMs,
  sender?: AddressKey,
): Promise<ReadonlyMap<string, readonly Rule[]>> {
  const found = new Map<string, readonly Rule[]>();
  for (const [chainId, ofChain] of Map.groupBy(configs, (config) => config.chainId)) {
    const rules = await readOfChain(deps, chainId, ofChain, { now, ...given({ sender }) });
    for (const [paymasterId, own] of rules) found.set(paymasterId, own);
  }
  return found;
}

async function readOfChain(
  { configs, usage }: RulesDeps,
  chainId: number,
  ofChain: readonly PaymasterConfig[],
  when: Pick<RulesAt, 'now' | 'sender'>,
): Promise<ReadonlyMap<string, readonly Rule[]>> {
  const chain = (await configs.getChain(chainId))?.config;
  const denied = chain?.deniedSenders === undefined ? undefined : await configs.getList(chain.deniedSenders);
  const deniedSenders = denied && new Set(denied.addresses);
  const listOf = () => deniedSenders;
  const sharing = createSharing();
  const all: RulesAt[] = [];
  // The kinds know which counters they tell: the first glance only collects them.
  const named = new Map<string, CounterId>();
  for (const config of ofChain) {
    const at = { paymaster: servePaymaster(config, sharing), chain, listOf, ...when };
    listRules({ ...at, used: (id) => void named.set(counterKey(id), id) });
    all.push(at);
    // A config may have thousands of methods.
    if (ofChain.length > 1) await turn();
  }
  const states = await readCounters(usage, chainId, named);
  return new Map(
    all.map((at) => [
      at.paymaster.paymasterId,
      listRules({ ...at, used: (id) => states.get(counterKey(id)) }),
    ]),
  );
}

async function readCounters(
  usage: RulesDeps['usage'],
  chainId: number,
  named: ReadonlyMap<string, CounterId>,
): Promise<ReadonlyMap<string, CounterState | undefined>> {
  const counters = named.size === 0 ? [] : await usage.counters(chainId, [...named.values()]);
  return new Map([...named.keys()].map((name, index) => [name, counters[index]]));
}
