import { renderYaml } from '../../adapters/manifests/yaml.js';
import type { Chain } from '../../core/chain/chain.js';
import { entryPointVersion } from '../../core/entry-point/address.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { entryPointVersions } from '../../core/entry-point/version.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { formatDecimal } from '../../core/units/wei.js';
import { usualMulticall3, readNode, type FeedFacts, type NodeFacts } from './node-facts.js';

/**
 * `error`: the Chain is wrong, or cannot be served by this node. `warning`: look at it. `note`: what somebody should know who writes
 * the Chain. `change`: members of the spec that would put it right.
 */
type Diagnosis = {
  readonly level: 'error' | 'warning' | 'note';
  readonly field: string;
  readonly message: string;
  readonly change?: Readonly<Record<string, unknown>>;
};

/** Compares a Chain with what its node says. Pure. */
export function diagnose(spec: ChainSpec, facts: NodeFacts): readonly Diagnosis[] {
  if (facts.chainId === undefined || facts.head === undefined)
    return [error('spec.rpc', 'the node answers neither its chain id nor its newest block')];
  // Of another chain nothing else is worth comparing.
  if (facts.chainId !== spec.chainId) return [ofId(spec, facts.chainId)];
  return [
    ...ofEntryPoints(spec, facts),
    ...ofMulticall3(spec, facts),
    ...facts.feeds.flatMap((feed) => ofFeed(spec, feed)),
    ...ofFinality(spec, facts.head, facts),
    ...ofTip(spec, facts),
    ...ofLogs(facts),
    ...ofRate(facts),
  ];
}

function ofId({ chainId }: ChainSpec, found: number): Diagnosis {
  const message = `the node is of chain ${found}, the Chain says ${chainId}: is it the right URL?`;
  return { ...error('spec.chainId', message), change: { chainId: found } };
}

function ofEntryPoints({ profiles }: ChainSpec, { entryPoints, code }: NodeFacts): readonly Diagnosis[] {
  const published = entryPointVersions.flatMap((version) => {
    const used = profiles.flatMap((profile, index) =>
      entryPointVersion(profile.entryPoint) === version ? [`spec.profiles[${index}].entryPoint`] : [],
    );
    const [field = 'spec.profiles'] = used;
    const { address, codeHash } = entryPointRules[version];
    const found = entryPoints[version];
    if (found === codeHash) return [];
    if (found === undefined) return [warning(field, `the code of EntryPoint ${version} could not be read`)];
    if (found !== 'absent')
      return [error(field, `EntryPoint ${version} at ${address} has other code than published: ${found}`)];
    const message = `EntryPoint ${version} is not deployed here (${address})`;
    return [used.length > 0 ? error(field, message) : note(field, message)];
  });
  const others = profiles.flatMap(({ entryPoint }, index) => {
    if (entryPointVersion(entryPoint) !== undefined) return [];
    const field = `spec.profiles[${index}].entryPoint`;
    if (code.get(entryPoint.toLowerCase()) === false) return [error(field, `${entryPoint} has no code here`)];
    return [warning(field, `${entryPoint} is not a published EntryPoint: its code was not compared`)];
  });
  return [...published, ...others];
}

function ofMulticall3({ rpc }: ChainSpec, { code }: NodeFacts): readonly Diagnosis[] {
  const { multicall3 } = rpc;
  const usual = code.get(usualMulticall3.toLowerCase()) === true ? usualMulticall3 : undefined;
  const named = multicall3 !== undefined && code.get(multicall3.toLowerCase()) === false;
  if (named) {
    const change = usual === undefined ? {} : { change: { rpc: { multicall3: usual } } };
    return [{ ...error('spec.rpc.multicall3', `${multicall3} has no code here`), ...change }];
  }
  if (multicall3 !== undefined || usual === undefined) return [];
  const message = 'Multicall3 is deployed here: with it balances of many wallets are read in one call';
  return [{ ...note('spec.rpc.multicall3', message), change: { rpc: { multicall3: usual } } }];
}

/** Feeds that name the coin in another way than wallets do. */
const alsoCalled: Readonly<Record<string, string>> = { XDAI: 'DAI', POL: 'MATIC', TBNB: 'BNB' };

function ofFeed({ nativeCurrency }: ChainSpec, facts: FeedFacts): readonly Diagnosis[] {
  const { feed, description, age, answer, maxAgeSeconds } = facts;
  const field = 'spec.nativePrice';
  if (description === undefined || age === undefined || answer === undefined)
    return [error(field, `${feed} does not answer as a price feed`)];
  const [coin = '', currency = ''] = description.split('/').map((part) => part.trim().toUpperCase());
  const symbol = nativeCurrency.symbol.toUpperCase();
  const found: Diagnosis[] = [];
  if (currency !== 'USD')
    found.push(error(field, `${feed} quotes "${description}", which is not US dollars`));
  if (coin !== symbol && coin !== alsoCalled[symbol])
    found.push(error(field, `${feed} quotes "${description}", and the coin is ${nativeCurrency.symbol}`));
  if (answer <= 0n) found.push(error(field, `${feed} answers ${answer}`));
  if (age > maxAgeSeconds)
    found.push(warning(field, `${feed} was updated ${age} s ago, and maxAgeSeconds is ${maxAgeSeconds}`));
  return found;
}

/** Promises live for minutes: where blocks are final sooner than that, final blocks are the better measure. */
const soonSeconds = 120;
/** Most nodes know the state of this many blocks, and balances are read at the settled one. */
const keptStates = 128;

function ofFinality(
  { confirmations = 12 }: ChainSpec,
  head: number,
  { finalized, blockSeconds }: NodeFacts,
): readonly Diagnosis[] {
  const field = 'spec.confirmations';
  if (finalized === undefined) {
    const message = 'the node does not say which block is final';
    if (confirmations !== 'finalized') return [note(field, message)];
    return [{ ...error(field, `${message}: nothing would be settled`), change: { confirmations: 12 } }];
  }
  if (finalized > head)
    return [error('spec.rpc', `the node says that block ${finalized} is final, and its newest is ${head}`)];
  const behind = head - finalized;
  if (confirmations === 'finalized') {
    if (behind <= keptStates) return [];
    const message = `blocks are final after ${behind} more, and nodes keep the state of about ${keptStates}: it takes one that keeps older states`;
    return [warning(field, message)];
  }
  const isSoon = blockSeconds !== undefined && behind * blockSeconds <= soonSeconds;
  if (!isSoon || behind <= confirmations) return [];
  const message = `blocks are final after ${behind} more, and ${confirmations} are waited for: a reorganisation could undo a settlement`;
  return [{ ...warning(field, message), change: { confirmations: 'finalized' } }];
}

/** Where a node suggests as much, nodes or bundlers often take no less. */
const highTip = 5_000_000_000n;

function ofTip({ minPriorityFeePerGas }: ChainSpec, { tip }: NodeFacts): readonly Diagnosis[] {
  if (tip === undefined) return [];
  const field = 'spec.minPriorityFeePerGas';
  const suggested = `the node suggests a tip of ${formatDecimal(tip, 9)} gwei`;
  if (minPriorityFeePerGas === undefined)
    return tip < highTip
      ? []
      : [note(field, `${suggested}: if the chain takes no less, name the least here`)];
  const least = BigInt(minPriorityFeePerGas);
  if (tip >= least) return [];
  const message = `${suggested}, and ${formatDecimal(least, 9)} is asked for: wallets that follow the node are refused`;
  return [{ ...warning(field, message), change: { minPriorityFeePerGas: String(tip) } }];
}

/** A follower that starts again reads some hundred blocks at once. */
const fewBlocks = 500;

function ofLogs({ logRange }: NodeFacts): readonly Diagnosis[] {
  if (logRange === 0) return [error('spec.rpc', 'the node refuses eth_getLogs: nothing could be settled')];
  if (logRange >= fewBlocks) return [];
  return [
    warning('spec.rpc', `the node looks for logs in ${logRange} blocks at most: catching up takes long`),
  ];
}

function ofRate({ burst: { asked, answered } }: NodeFacts): readonly Diagnosis[] {
  if (asked === answered) return [];
  return [
    warning('spec.rpc', `of ${asked} requests at once the node refused ${asked - answered}: name more URLs`),
  ];
}

function error(field: string, message: string): Diagnosis {
  return { level: 'error', field, message };
}

function warning(field: string, message: string): Diagnosis {
  return { level: 'warning', field, message };
}

function note(field: string, message: string): Diagnosis {
  return { level: 'note', field, message };
}

/** `yaml`: the members of the Chain to change, as YAML; empty when nothing has to change. */
export type DoctorReport = { readonly found: readonly Diagnosis[]; readonly yaml: string };

/** Compares a Chain with its node, which is only read. */
export async function doctor(chain: Chain, spec: ChainSpec): Promise<DoctorReport> {
  const found = diagnose(spec, await readNode(chain, spec));
  const changes = found.flatMap(({ change }) => change ?? []);
  const changed: Record<string, unknown> = Object.assign({}, ...changes);
  // The other members of rpc stay as they are.
  if (typeof changed['rpc'] === 'object') changed['rpc'] = { ...spec.rpc, ...changed['rpc'] };
  return { found, yaml: changes.length === 0 ? '' : renderYaml({ spec: changed }) };
}
