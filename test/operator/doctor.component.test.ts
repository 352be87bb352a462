import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { keccak256 } from 'ethers';
import { createChains } from '../../adapters/chain/chains.js';
import type { Chains } from '../../core/chain/chain.js';
import { entryPointCodeHash } from '../../core/entry-point/code.js';
import { entryPointRules } from '../../core/entry-point/table.js';
import { entryPointVersions } from '../../core/entry-point/version.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import type { ChainSpec } from '../../core/resources/chain.js';
import { parseAddress } from '../../core/units/address.js';
import { systemClock } from '../../core/units/time.js';
import { doctor, type DoctorReport } from '../../operator/doctor/diagnose.js';
import { usualMulticall3 } from '../../operator/doctor/node-facts.js';
import { startAnvil } from '../../standalone/dev-chain/anvil.js';
import { deployDevChain } from '../../standalone/dev-chain/deployments.js';
import { aChain, aProfile } from '../build/resources.js';
import { startDevChain, type DevChain } from '../chain/support/dev-chain.js';
import { createNodes, type Reply } from '../chain/support/nodes.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';

let dev: DevChain;
let chains: Chains;
const nodes = createNodes(() => dev.url);
beforeAll(async () => {
  dev = await startDevChain();
  chains = createChains({ log: silentLogger, clock: systemClock, metrics: noMetrics, timeoutMs: 20_000 });
});
afterEach(() => nodes.stop());
afterAll(async () => {
  await chains.stop();
  await dev.stop();
});

type Overrides = Omit<Partial<ChainSpec>, 'rpc'> & { readonly multicall3?: string | undefined };

/** Asks about a Chain that is right about the dev chain, apart from the overrides. */
async function ask(url: string, overrides: Overrides = {}): Promise<DoctorReport> {
  const { multicall3, ...others } = { multicall3: usualMulticall3, ...overrides };
  const rpc = { urls: [url], ...(multicall3 === undefined ? {} : { multicall3 }) };
  const nativePrice = { chainlink: { nativeFeed: dev.deployments.feeds.native, maxAgeSeconds: 604_800 } };
  const { spec } = aChain({ nativePrice, confirmations: 1_000, ...others, rpc });
  return doctor(chains.get({ chainId: spec.chainId, rpc }), spec);
}

const lines = ({ found }: DoctorReport) =>
  found.map(({ level, field, message }) => `${level} ${field}: ${message}`);
const abi = (text: string) => {
  const bytes = Buffer.from(text);
  const word = (value: number) => value.toString(16).padStart(64, '0');
  return `0x${word(32)}${word(bytes.length)}${bytes.toString('hex').padEnd(64, '0')}`;
};
const round = (answer: bigint, updatedAt: number) =>
  `0x${[1n, answer, 0n, BigInt(updatedAt), 1n].map((value) => value.toString(16).padStart(64, '0')).join('')}`;

test('is a command that prints findings apart from the YAML, and ends with 1 for a finding and 2 for a wrong manifest', async () => {
  const run = (file: string) =>
    paymaster(['chain', 'doctor', join(repositoryRoot, file)], { PAYMASTER_RPC_URL: dev.url });
  const found = await run('examples/chains/base.yaml');
  expect(found.out).toBe('spec:\n  chainId: 31337\n');
  expect(found.error).toContain('error   spec.chainId: the node is of chain 31337');
  expect(found.status).toBe(1);
  const none = await run('examples/quickstart/policies.yaml');
  expect(none.error).toMatch(/^error: \S*examples\/quickstart\/policies\.yaml must hold one Chain\n$/);
  expect(none.status).toBe(2);
});

test('finds nothing to change where Chain and node agree', async () => {
  const report = await ask(dev.url);
  expect(lines(report)).toEqual([]);
  expect(report.yaml).toBe('');
});

test('knows the code of every EntryPoint, also on a chain of another id', async () => {
  const anvil = await startAnvil({ log: silentLogger, chainId: 10 });
  try {
    await deployDevChain({
      rpcUrl: anvil.url,
      signerAddress: parseAddress(dev.sponsorSigner.address),
      log: silentLogger,
    });
    const there = chains.get({ chainId: 10, rpc: { urls: [anvil.url] } });
    for (const version of entryPointVersions) {
      const { address, codeHash } = entryPointRules[version];
      expect(entryPointCodeHash(version, await there.code(address), 10)).toBe(codeHash);
      expect(entryPointCodeHash(version, await dev.chain.code(address), dev.chainId)).toBe(codeHash);
    }
  } finally {
    await anvil.stop();
  }
});

describe('reports a Chain that is wrong', () => {
  test('its chain id, with the YAML to change', async () => {
    const report = await ask(dev.url, { chainId: 5 });
    expect(lines(report)).toEqual([
      'error spec.chainId: the node is of chain 31337, the Chain says 5: is it the right URL?',
    ]);
    expect(report.yaml).toBe('spec:\n  chainId: 31337\n');
  });

  test('its Multicall3, or that it names none', async () => {
    const missing = '0x00000000000000000000000000000000000000aA';
    const wrong = await ask(dev.url, { multicall3: missing });
    expect(lines(wrong)).toEqual([`error spec.rpc.multicall3: ${missing} has no code here`]);
    const yaml = `spec:\n  rpc:\n    urls:\n      - ${dev.url}\n    multicall3: "${usualMulticall3}"\n`;
    expect(wrong.yaml).toBe(yaml);
    const absent = await ask(dev.url, { multicall3: undefined });
    expect(lines(absent)).toEqual([
      'note spec.rpc.multicall3: Multicall3 is deployed here: with it balances of many wallets are read in one call',
    ]);
    expect(absent.yaml).toBe(yaml);
  });

  test('an EntryPoint at another address, with code or without', async () => {
    const nowhere = '0x00000000000000000000000000000000000000aA';
    const own = dev.deployments.feeToken.address;
    const profiles = [
      { ...aProfile, entryPoint: nowhere },
      { ...aProfile, version: 'b', entryPoint: own },
    ];
    expect(lines(await ask(dev.url, { profiles }))).toEqual([
      `error spec.profiles[0].entryPoint: ${nowhere} has no code here`,
      `warning spec.profiles[1].entryPoint: ${own} is not a published EntryPoint: its code was not compared`,
    ]);
  });

  test('a feed that is of another coin, or no feed', async () => {
    expect(
      lines(await ask(dev.url, { nativePrice: { chainlink: { nativeFeed: dev.deployments.feeds.token } } })),
    ).toContain(
      `error spec.nativePrice: ${dev.deployments.feeds.token} quotes "DUSD / USD", and the coin is ETH`,
    );
    const { address } = dev.deployments.feeToken;
    expect(lines(await ask(dev.url, { nativePrice: { chainlink: { nativeFeed: address } } }))).toEqual([
      `error spec.nativePrice: ${address} does not answer as a price feed`,
    ]);
  });
});

describe('reports a node that is wrong', () => {
  type Lie = {
    readonly name: string;
    readonly reply: (method: string, params: readonly unknown[]) => Reply;
    readonly overrides?: Overrides;
    readonly says: () => readonly unknown[];
  };
  const { address: entryPoint06 } = entryPointRules['0.6'];
  const { address: entryPoint07 } = entryPointRules['0.7'];
  const isCode = (method: string, params: readonly unknown[], address: string) =>
    method === 'eth_getCode' && String(params[0]).toLowerCase() === address.toLowerCase();
  const isCall = (method: string, params: readonly unknown[], data: string) =>
    method === 'eth_call' && (params[0] as { data: string }).data === data;
  const refusal: Reply = { error: { code: -32005, message: 'limit exceeded' } };
  const native = () => dev.deployments.feeds.native;
  let asked = 0;

  test.each<Lie>([
    {
      name: 'about its chain id',
      reply: (method) => (method === 'eth_chainId' ? { result: '0x1' } : 'pass'),
      says: () => ['error spec.chainId: the node is of chain 1, the Chain says 31337: is it the right URL?'],
    },
    {
      name: 'and answers nothing',
      reply: () => refusal,
      says: () => ['error spec.rpc: the node answers neither its chain id nor its newest block'],
    },
    {
      name: 'about the code of an EntryPoint',
      reply: (method, params) => (isCode(method, params, entryPoint07) ? { result: '0x6001' } : 'pass'),
      says: () => [
        `error spec.profiles: EntryPoint 0.7 at ${entryPoint07} has other code than published: ${keccak256('0x6001')}`,
      ],
    },
    {
      name: 'and has not the EntryPoint of a profile',
      reply: (method, params) => (isCode(method, params, entryPoint06) ? { result: '0x' } : 'pass'),
      says: () => [
        `error spec.profiles[0].entryPoint: EntryPoint 0.6 is not deployed here (${entryPoint06})`,
      ],
    },
    {
      name: 'and has not an EntryPoint that nobody uses',
      reply: (method, params) => (isCode(method, params, entryPoint07) ? { result: '0x' } : 'pass'),
      says: () => [`note spec.profiles: EntryPoint 0.7 is not deployed here (${entryPoint07})`],
    },
    {
      name: 'and does not read code',
      reply: (method, params) => (isCode(method, params, entryPoint06) ? refusal : 'pass'),
      says: () => ['warning spec.profiles[0].entryPoint: the code of EntryPoint 0.6 could not be read'],
    },
    {
      name: 'about the currency of a feed',
      reply: (method, params) =>
        isCall(method, params, '0x7284e416') ? { result: abi('ETH / EUR') } : 'pass',
      says: () => [`error spec.nativePrice: ${native()} quotes "ETH / EUR", which is not US dollars`],
    },
    {
      name: 'about the answer and the age of a feed',
      reply: (method, params) => (isCall(method, params, '0xfeaf968c') ? { result: round(0n, 0) } : 'pass'),
      says: () => [
        `error spec.nativePrice: ${native()} answers 0`,
        expect.stringMatching(
          /^warning spec\.nativePrice: 0x\w+ was updated \d+ s ago, and maxAgeSeconds is 604800$/,
        ),
      ],
    },
    {
      name: 'and suggests a tip that the Chain refuses',
      reply: (method) => (method === 'eth_maxPriorityFeePerGas' ? { result: '0x5f5e100' } : 'pass'),
      overrides: { minPriorityFeePerGas: '25000000000' },
      says: () => [
        'warning spec.minPriorityFeePerGas: the node suggests a tip of 0.1 gwei, and 25 is asked for: wallets that follow the node are refused',
      ],
    },
    {
      name: 'and suggests a tip that is high enough to ask whether it is the least',
      reply: (method) => (method === 'eth_maxPriorityFeePerGas' ? { result: '0x6fc23ac00' } : 'pass'),
      says: () => [
        'note spec.minPriorityFeePerGas: the node suggests a tip of 30 gwei: if the chain takes no less, name the least here',
      ],
    },
    {
      name: 'and suggests no tip',
      reply: (method) => (method === 'eth_maxPriorityFeePerGas' ? refusal : 'pass'),
      says: () => [],
    },
    {
      name: 'and looks for logs in few blocks',
      reply: (method, params) => {
        if (method !== 'eth_getLogs') return 'pass';
        const { fromBlock, toBlock } = params[0] as { fromBlock: string; toBlock: string };
        return Number(toBlock) - Number(fromBlock) >= 1 ? refusal : 'pass';
      },
      says: () => ['warning spec.rpc: the node looks for logs in 1 blocks at most: catching up takes long'],
    },
    {
      name: 'and refuses logs',
      reply: (method) => (method === 'eth_getLogs' ? refusal : 'pass'),
      says: () => ['error spec.rpc: the node refuses eth_getLogs: nothing could be settled'],
    },
    {
      name: 'and knows no final block',
      reply: (method, params) =>
        method === 'eth_getBlockByNumber' && params[0] === 'finalized' ? refusal : 'pass',
      says: () => ['note spec.confirmations: the node does not say which block is final'],
    },
    {
      name: 'about the final block',
      reply: (method, params) =>
        method === 'eth_getBlockByNumber' && params[0] === 'finalized'
          ? {
              result: {
                number: '0xffffff',
                hash: `0x${'11'.repeat(32)}`,
                parentHash: `0x${'22'.repeat(32)}`,
                timestamp: '0x1',
                baseFeePerGas: '0x1',
              },
            }
          : 'pass',
      says: () => [
        expect.stringMatching(
          /^error spec\.rpc: the node says that block 16777215 is final, and its newest is \d+$/,
        ),
      ],
    },
    {
      name: 'and refuses a burst of requests',
      // The first is about the chain itself.
      reply: (method) => (method === 'eth_chainId' && (asked += 1) > 41 ? refusal : 'pass'),
      says: () => ['warning spec.rpc: of 50 requests at once the node refused 10: name more URLs'],
    },
  ])('$name', async ({ reply, overrides, says }) => {
    expect(lines(await ask(await nodes.proxy(reply), overrides))).toEqual(says());
  });

  test('whose blocks are final later than the Chain waits for, though soon enough to wait', async () => {
    // A second apart: the dev chain goes on from a state that was made some time ago.
    await dev.chain.request('anvil_mine', ['0x64', '0x1']);
    const head = await dev.chain.block('latest');
    const url = await nodes.proxy((method, params) =>
      method === 'eth_getBlockByNumber' && params[0] === 'finalized'
        ? { params: [`0x${((head?.number ?? 0) - 3).toString(16)}`, false] }
        : 'pass',
    );
    const report = await ask(url, { confirmations: 1 });
    expect(lines(report)).toEqual([
      'warning spec.confirmations: blocks are final after 3 more, and 1 are waited for: a reorganisation could undo a settlement',
    ]);
    expect(report.yaml).toBe('spec:\n  confirmations: finalized\n');
    expect(lines(await ask(url, { confirmations: 3 }))).toEqual([]);
  });
});
