import { AbiCoder } from 'ethers/abi';
import { CallReverted, type BlockTag, type Chain } from '../../core/chain/chain.js';
import { entryPointCodeHash } from '../../core/entry-point/code.js';
import { entryPoints } from '../../core/entry-point/address.js';
import { entryPointVersions, type EntryPointVersion } from '../../core/entry-point/version.js';
import { isDomainError } from '../../core/errors.js';
import type { NativePriceSpec } from '../../core/pricing/native-price.js';
import { decodeRound, latestRoundDataCall } from '../../core/pricing/feed-round.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import type { Hex } from '../../core/units/hex.js';

/** What a node says about its chain. Undefined: the node does not answer the question. */
export type NodeFacts = Readonly<Awaited<ReturnType<typeof readNode>>>;
export type FeedFacts = Readonly<Awaited<ReturnType<typeof readFeed>>>;

export const usualMulticall3 = '0xcA11bde05977b3631167028862bE2a173976CA11';
/** The widest first. */
const logRanges = [10_000, 2_000, 500, 100, 1] as const;
/** As many requests at once as a busy replica may send. */
const burstSize = 50;
const defaultMaxAgeSeconds = 7_200;
const description: Hex = '0x7284e416';

/** Only reads. Throws for no answer of a node. */
export async function readNode(chain: Chain, spec: ChainSpec) {
  const chainId = await answered(chain.chainId());
  const latest = await answered(chain.block('latest'));
  const head = latest?.number;
  const named = [...spec.profiles.map(({ entryPoint }) => entryPoint), spec.rpc.multicall3, usualMulticall3];
  const earlier =
    head === undefined || head === 0 ? undefined : await answered(chain.block(Math.max(0, head - 100)));
  const finalized = await answered(chain.block('finalized'));
  return {
    chainId,
    head,
    /** Seconds between blocks, over the last hundred. */
    blockSeconds:
      latest === undefined || earlier === undefined
        ? undefined
        : (latest.timestamp - earlier.timestamp) / (latest.number - earlier.number),
    finalized: finalized?.number,
    /** The hash of `entryPointCodeHash`; `absent` without code. */
    entryPoints: await readEntryPoints(chain, chainId ?? spec.chainId),
    /** Addresses that the Chain names: EntryPoints of profiles, Multicall3, and the usual Multicall3. */
    code: new Map(
      await Promise.all(
        named
          .filter((address) => address !== undefined)
          .map(async (address) => [address.toLowerCase(), await hasCode(chain, address)] as const),
      ),
    ),
    feeds: await Promise.all(
      listFeeds(spec.nativePrice ?? {}).map((feed) => readFeed(chain, feed, latest?.timestamp)),
    ),
    /** The most blocks of those tried in which it looks for logs; 0: it refuses even one. */
    logRange: head === undefined ? 0 : await widestLogs(chain, head),
    /** What it suggests for maxPriorityFeePerGas, in wei. */
    tip: await answered(chain.priorityFee()),
    burst: await burst(chain),
  };
}

/** Undefined when the node does not answer, answers nonsense or reverts. */
async function answered<T>(question: Promise<T>): Promise<T | undefined> {
  try {
    return await question;
  } catch (error) {
    if (isDomainError(error) || error instanceof CallReverted) return undefined;
    throw error;
  }
}

async function hasCode(chain: Chain, address: string): Promise<boolean | undefined> {
  const code = await answered(chain.code(address));
  return code === undefined ? undefined : code !== '0x';
}

async function readEntryPoints(chain: Chain, chainId: number) {
  const read = async (version: EntryPointVersion) => {
    const code = await answered(chain.code(entryPoints[version]));
    if (code === undefined || code === '0x') return code && ('absent' as const);
    return entryPointCodeHash(version, code, chainId);
  };
  const entries = await Promise.all(
    entryPointVersions.map(async (version) => [version, await read(version)] as const),
  );
  return Object.fromEntries(entries) as Readonly<Record<EntryPointVersion, Awaited<ReturnType<typeof read>>>>;
}

function listFeeds({
  chainlink,
  combine,
}: NativePriceSpec): readonly { feed: string; maxAgeSeconds: number }[] {
  const { nativeFeed, maxAgeSeconds = defaultMaxAgeSeconds } = chainlink ?? {};
  const own = nativeFeed === undefined ? [] : [{ feed: nativeFeed, maxAgeSeconds }];
  return [...own, ...(combine?.sources ?? []).flatMap(listFeeds)];
}

async function readFeed(
  chain: Chain,
  { feed, maxAgeSeconds }: { readonly feed: string; readonly maxAgeSeconds: number },
  now: number | undefined,
) {
  const call = (data: Hex, block: BlockTag = 'latest') => answered(chain.call({ to: feed, data, block }));
  const [text, result] = await Promise.all([call(description), call(latestRoundDataCall)]);
  const round = result === undefined ? undefined : decodeRound(result);
  return {
    feed,
    maxAgeSeconds,
    description: text === undefined ? undefined : decodeText(text),
    /** Seconds before the newest block. */
    age: round === undefined || now === undefined ? undefined : now - Number(round.updatedAt),
    answer: round?.answer,
  };
}

function decodeText(result: Hex): string | undefined {
  try {
    const [text]: unknown[] = AbiCoder.defaultAbiCoder().decode(['string'], result).toArray();
    return typeof text === 'string' ? text.slice(0, 64) : undefined;
  } catch {
    return undefined;
  }
}

async function widestLogs(chain: Chain, head: number): Promise<number> {
  for (const range of logRanges) {
    const fromBlock = Math.max(0, head - range + 1);
    // Of an address that has no logs: the answer is small, and the node looks at the whole range.
    const filter = { fromBlock, toBlock: head, address: `0x${'00'.repeat(19)}01` };
    if ((await answered(chain.logs(filter))) !== undefined) return range;
  }
  return 0;
}

async function burst(chain: Chain) {
  const answers = await Promise.all(
    Array.from({ length: burstSize }, () => answered(chain.request('eth_chainId', []))),
  );
  return { asked: burstSize, answered: answers.filter((answer) => answer !== undefined).length };
}
