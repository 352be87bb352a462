import { eachObject } from '../../adapters/resources/pages.js';
import { paymasterIdOf } from '../../core/config/ids.js';
import type { ChainConfig } from '../../core/config/chain-config.js';
import type { ConfigStore } from '../../core/config/config-store.js';
import type { PaymasterConfig } from '../../core/config/paymaster-config.js';
import type { Quotas } from '../../core/config/platform.js';
import type { Tenant } from '../../core/config/tenant.js';
import { invalidInput, type Problem } from '../../core/errors.js';
import { formatKey } from '../../core/meta/meta.js';
import { listsIn } from '../../core/policy/derived.js';
import type { AddressList } from '../../core/policy/address-list.js';
import type { WebhookUrlRules } from '../../core/policy/webhook/webhook-url.js';
import type { Organisation } from '../../core/resources/organisation.js';
import type { ResourceStore } from '../../core/resources/resource-store.js';
import type { EpochMs } from '../../core/units/time.js';
import {
  proposedTexts,
  type NamedPaymaster,
  type Proposed,
  type ProposedIdentity,
  type ProposedTexts,
} from './proposal-reader.js';
import type { CompiledProposal, CompileContext } from './proposed-config.js';
import type { ReplayConfig } from './replayer.js';

export type ProposalDeps = {
  readonly resources: Pick<ResourceStore, 'get' | 'list' | 'page'>;
  readonly configs: Pick<ConfigStore, 'getLatest' | 'getPaymaster' | 'getChain' | 'getList'>;
  readonly webhookUrls: WebhookUrlRules;
  readonly quotas: Quotas;
};

type Proposal = {
  readonly organisation: Organisation;
  readonly namespace: string;
  readonly tenant: Tenant;
  /** YAML text, or objects. */
  readonly resources: string | readonly unknown[];
  /** The time of compilation. */
  readonly now: EpochMs;
  /** The begin of the replay. */
  readonly from: EpochMs;
};

/** A ProposalReader and what it compiles, in a thread: only there may work grow with what a caller sends or has stored. */
export type ProposalReading = {
  read(namespace: string, resources: ProposedTexts): Promise<readonly ProposedIdentity[]>;
  present(objects: readonly Proposed[]): Promise<void>;
  validate(now: EpochMs): Promise<readonly NamedPaymaster[]>;
  compile(name: string, context: CompileContext): Promise<CompiledProposal>;
};

/**
 * What would be served with the proposed resources: configs of paymasters that no proposed object is about stay as they are
 * served, the others are compiled by the operator's own steps. Throws INVALID_INPUT that names every problem: of the form, of a
 * resource's schema, of a kind or namespace that the organisation may not write, and when a proposed object would not be
 * accepted, with the text of its condition.
 */
export async function proposedConfig(
  reading: ProposalReading,
  deps: ProposalDeps,
  { organisation, namespace, tenant, resources, now, from }: Proposal,
): Promise<ReplayConfig> {
  const named = await reading.read(namespace, proposedTexts(resources));
  await sendPresent(reading, deps, namespace, named);
  const all = await reading.validate(now);
  const chains = new Map<number, ChainConfig>();
  for (const chainId of new Set(all.map((paymaster) => paymaster.chainId))) {
    const stored = await deps.configs.getChain(chainId);
    if (stored !== undefined) chains.set(chainId, stored.config);
  }
  const { quotas, webhookUrls } = deps;
  const common = { organisation, tenant, now, from, quotas, webhookUrls, chains: [...chains.values()] };
  const about = new Set(named.map(({ paymaster }) => paymaster));
  const paymasters: PaymasterConfig[] = [];
  const lists = new Map<string, AddressList>();
  const problems: Problem[] = [];
  for (const { name } of all) {
    const paymasterId = paymasterIdOf(tenant, name);
    const served = (await deps.configs.getPaymaster(paymasterId))?.config;
    if (about.has(name)) {
      const previous = (await deps.configs.getLatest(paymasterId))?.config;
      const { config, lists: made, refused } = await reading.compile(name, { ...common, served, previous });
      problems.push(...refused);
      for (const list of made) lists.set(list.hash, list);
      paymasters.push(config);
    } else if (served !== undefined) paymasters.push(served);
  }
  problems.push(...orphans(named, new Set(all.map(({ name }) => name))));
  if (problems.length > 0) throw invalidInput(problems);
  await addStored(lists, deps, [
    ...paymasters.flatMap(listsIn),
    ...common.chains.flatMap(({ deniedSenders }) => deniedSenders ?? []),
  ]);
  return { paymasters: paymasters.map(withoutBudgets), chains: common.chains, lists: [...lists.values()] };
}

/** What other paymasters took of a budget is not part of a replay, so what was recorded of it counts. */
function withoutBudgets(config: PaymasterConfig): PaymasterConfig {
  return { ...config, limits: config.limits.filter(({ budget }) => budget !== true) };
}

/** Reads the lists of addresses that are named and not compiled just now. One that is missing refuses, as for requests. */
async function addStored(
  lists: Map<string, AddressList>,
  { configs }: ProposalDeps,
  hashes: readonly string[],
): Promise<void> {
  for (const hash of hashes) {
    const list = lists.has(hash) ? undefined : await configs.getList(hash);
    if (list !== undefined) lists.set(hash, list);
  }
}

/** One contract at a time: a thousand of them with long ABIs would be read and copied in one piece. */
async function sendPresent(
  reading: ProposalReading,
  { resources }: ProposalDeps,
  namespace: string,
  named: readonly ProposedIdentity[],
): Promise<void> {
  await reading.present(await resources.list('Paymaster', { namespace }));
  for (const name of new Set(named.map(({ paymaster }) => paymaster)))
    for (const kind of ['SmartContract', 'PaymasterPolicy'] as const)
      for await (const object of eachObject(resources, kind, {
        namespace,
        fields: { 'spec.paymasterRef.name': name },
      }))
        await reading.present([object]);
  // One that belongs to another paymaster until now.
  for (const { kind, key } of named) {
    const object = await resources.get(kind, key);
    if (object !== undefined) await reading.present([object]);
  }
}

/** Proposed contracts and policies of a paymaster that does not exist. */
function orphans(named: readonly ProposedIdentity[], names: ReadonlySet<string>): readonly Problem[] {
  return named
    .filter(({ paymaster }) => !names.has(paymaster))
    .map(({ kind, key, paymaster }) => ({
      field: `resources: ${kind} ${formatKey(key)}`,
      expected: `for a Paymaster that exists; "${paymaster}" does not`,
    }));
}
