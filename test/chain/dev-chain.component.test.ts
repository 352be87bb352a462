import { spawn } from 'node:child_process';
import { access, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createChains } from '../../adapters/chain/chains.js';
import type { Chain } from '../../core/chain/chain.js';
import { layoutIds } from '../../core/paymaster/layout.js';
import { silentLogger } from '../../core/log.js';
import { noMetrics } from '../../core/metrics.js';
import { DomainError } from '../../core/errors.js';
import { parseAddress } from '../../core/units/address.js';
import { hexSize, type Hex } from '../../core/units/hex.js';
import { parseEther } from '../../core/units/wei.js';
import { systemClock } from '../../core/units/time.js';
import { findAnvil, startAnvil, type Anvil } from '../../standalone/dev-chain/anvil.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { deployDevChain } from '../../standalone/dev-chain/deployments.js';
import { runtimeContracts, setCodeOnce } from '../../standalone/dev-chain/canonical.js';
import { succeeds, until } from '../support/until.js';
import { startDevChain } from './support/dev-chain.js';

let directory: string;
let running: Anvil[];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dev-chain-'));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((anvil) => anvil.stop()));
  await rm(directory, { recursive: true });
});

// OpenZeppelin publishes no contract that could be deployed as it is.
const deployed = layoutIds.filter((id) => !id.startsWith('openzeppelin'));
const signerAddress = parseAddress('0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC');

describe('deploying a dev chain', () => {
  test('works on an anvil that nobody configured, whose accounts have 10,000 ether', async () => {
    const anvil = await start({});
    await onChain(anvil, (chain) =>
      chain.request('anvil_setBalance', [
        devAccounts.deployer.address,
        `0x${parseEther('10000').toString(16)}`,
      ]),
    );
    const deployments = await deployDevChain({ rpcUrl: anvil.url, signerAddress, log: silentLogger });
    expect(deployments.profiles.length).toBeGreaterThan(deployed.length);
  });

  test('puts a contract for every layout where code is, and a second time changes nothing', async () => {
    const anvil = await start({});
    const steps: string[] = [];
    const deploy = () =>
      deployDevChain({
        rpcUrl: anvil.url,
        signerAddress,
        log: silentLogger,
        progress: (step) => steps.push(step),
      });
    const deployments = await deploy();
    expect(steps.length).toBeGreaterThan(10);
    expect(new Set(deployments.profiles.map(({ layout }) => layout))).toEqual(new Set(deployed));
    const addresses = [
      ...deployments.profiles.map(({ sponsorship }) => sponsorship),
      ...Object.values(deployments.factories),
      ...Object.values(deployments.entryPoints),
      ...deployments.delegates,
      deployments.sponsoredContract.address,
      deployments.feeToken.address,
    ];
    const before = await onChain(anvil, async (chain) => {
      for (const address of addresses) expect((await chain.code(address)).length).toBeGreaterThan(100);
      return chain.block('latest');
    });

    steps.length = 0;
    expect(await deploy()).toEqual(deployments);
    expect(steps).toEqual([]);
    expect(await onChain(anvil, (chain) => chain.block('latest'))).toEqual(before);
  });

  test('on a fresh chain gives the same addresses, and another signer gives others', async () => {
    const [first, second] = [await start({}), await start({})];
    const deploy = (anvil: Anvil, signer = signerAddress) =>
      deployDevChain({ rpcUrl: anvil.url, signerAddress: signer, log: silentLogger });
    const deployments = await deploy(first);
    expect(await deploy(second)).toEqual(deployments);
    const other = await deploy(second, devAccounts.treasury.address);
    const addressesOf = ({ profiles }: typeof other) => profiles.map(({ sponsorship }) => sponsorship);
    for (const address of addressesOf(other)) expect(addressesOf(deployments)).not.toContain(address);
  });

  test('sets the published code of EntryPoint 0.9, of its SenderCreator and of Multicall3, which a restart keeps', async () => {
    const stateFile = join(directory, 'state.json');
    const codes = (anvil: Anvil) =>
      onChain(anvil, (chain) => Promise.all(runtimeContracts().map(({ address }) => chain.code(address))));
    const published = runtimeContracts().map(({ code }) => code);
    expect(published.map(hexSize)).toEqual([22_425, 1_210, 5_561]);

    const first = await start({ stateFile });
    await deployDevChain({ rpcUrl: first.url, signerAddress, log: silentLogger });
    expect(await codes(first)).toEqual(published);
    await first.stop();
    expect(await codes(await start({ stateFile }))).toEqual(published);
  });

  test('on a node that cannot set code fails with the contract that is missing', async () => {
    const [contract] = runtimeContracts();
    if (contract === undefined) throw new Error('no contract needs its code set');
    const node = {
      code: () => Promise.resolve<Hex>('0x'),
      request: (method: string) =>
        Promise.reject(new DomainError('UNAVAILABLE', `the method ${method} does not exist`)),
    };
    await expect(setCodeOnce(node, contract)).rejects.toThrow(
      `EntryPoint 0.9 is missing at ${contract.address}, and the node cannot set code`,
    );
  });

  test('by a key without ether fails with what was tried', async () => {
    const anvil = await start({});
    const poor = `0x${'42'.repeat(32)}`;
    await expect(
      deployDevChain({ rpcUrl: anvil.url, signerAddress, funderKey: poor, log: silentLogger }),
    ).rejects.toThrow(/eth_(estimateGas|sendRawTransaction) failed at 127\.0\.0\.1:\d+: .*[Ii]nsufficient/);
  });
});

describe('anvil', () => {
  test('is the binary itself, not the npm wrapper', () => {
    expect(findAnvil()).toMatch(/anvil-[a-z0-9]+-[a-z0-9]+\/bin\/anvil(\.exe)?$/);
  });

  test('continues with its state file: the same blocks after a restart', async () => {
    const stateFile = join(directory, 'deep', 'state.json');
    const first = await start({ stateFile });
    const block = await onChain(first, async (chain) => {
      await chain.request('anvil_mine', ['0x5']);
      return chain.block('latest');
    });
    expect(block?.number).toBe(5);
    await Promise.all([first.stop(), first.stop()]);
    const second = await start({ stateFile });
    expect(await onChain(second, (chain) => chain.block('latest'))).toEqual(block);
  });

  test('starts fresh when its state file is broken, and keeps the file for inspection', async () => {
    const stateFile = join(directory, 'state.json');
    await writeFile(stateFile, '{"cut short');
    const anvil = await start({ stateFile });
    expect(await onChain(anvil, async (chain) => (await chain.block('latest'))?.number)).toBe(0);
    expect(await readFile(`${stateFile}.broken`, 'utf8')).toBe('{"cut short');
  });

  test('ends with its parent, also by kill -9, and writes its state', async () => {
    const stateFile = join(directory, 'state.json');
    const module = new URL('../../standalone/dev-chain/anvil.js', import.meta.url).href;
    const script = `
      const { startAnvil } = await import(${JSON.stringify(module)});
      const log = { debug() {}, info() {}, warn() {}, error() {}, child: () => log };
      const anvil = await startAnvil({ log, stateFile: ${JSON.stringify(stateFile)} });
      // It handles signals a moment after it listens; by the time it has mined it does, and there is something to write.
      const mine = { method: 'POST', headers: { 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"anvil_mine","params":["0x1"]}' };
      for (let block = 0; block < 50; block += 1) await (await fetch(anvil.url, mine)).json();
      console.log('pid', anvil.pid);
      setInterval(() => {}, 1000);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const pid = await new Promise<number>((resolve) => {
      let output = '';
      parent.stdout.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        const match = /pid (\d+)\n/.exec(output);
        if (match !== null) resolve(Number(match[1]));
      });
    });
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await until('anvil has ended', () => !isAlive(pid));
    await until('its state is written', () => succeeds(access(stateFile)));
    await until(
      'its states of earlier blocks are gone',
      async () => (await cachesIn(directory)).length === 0,
    );
  });

  test('keeps a bounded number of states of earlier blocks on disk, and none when it has stopped', async () => {
    // A power loss leaves the folder of a former run.
    await mkdir(join(directory, 'chain-cache-former'));
    const anvil = await start({ stateFile: join(directory, 'state.json') });
    await onChain(anvil, (chain) => chain.request('anvil_mine', ['0x4b0']));
    const [cache, ...others] = await cachesIn(directory);
    expect(others).toEqual([]);
    const files = await readdir(join(directory, cache ?? ''), { recursive: true, withFileTypes: true });
    const states = files.filter((entry) => entry.isFile());
    expect(states.length).toBeGreaterThan(0);
    expect(states.length).toBeLessThanOrEqual(300);
    await anvil.stop();
    expect(await readdir(directory)).toEqual(['state.json']);
  });
});

describe('the dev chain of a test file, which begins from a stored state', () => {
  test('is as one on which everything was just deployed: contracts, events, pool, base fee and time', async () => {
    const anvil = await start({});
    const { profiles } = await deployDevChain({ rpcUrl: anvil.url, signerAddress, log: silentLogger });
    const facts = async (chain: Chain) => {
      const block = (await chain.block('latest'))!;
      const codes = await Promise.all(profiles.map(({ sponsorship }) => chain.code(sponsorship)));
      const events = await chain.logs({ fromBlock: 0, toBlock: block.number });
      const { deployer, funding } = devAccounts;
      return {
        number: block.number,
        baseFee: block.baseFeePerGas,
        codes,
        events: events.map(({ address, topics, data }) => ({ address, topics, data })),
        pool: await chain.request('txpool_status', []),
        transactions: await chain.request('eth_getTransactionCount', [deployer.address, 'latest']),
        balances: await Promise.all([deployer, funding].map(({ address }) => chain.balance(address))),
      };
    };
    const fresh = await onChain(anvil, async (chain) => {
      await chain.request('evm_mine', []);
      return facts(chain);
    });
    const begun = Math.floor(Date.now() / 1000);
    const stored = await startDevChain();
    try {
      expect(await facts(stored.chain)).toEqual(fresh);
      expect(await stored.time()).toBeGreaterThanOrEqual(begun);
      // Blocks are a second apart at least, so a state that was just written may be ahead by one second a block.
      expect(await stored.time()).toBeLessThanOrEqual(Date.now() / 1000 + fresh.number);
    } finally {
      await stored.stop();
    }
  });
});

async function cachesIn(folder: string): Promise<readonly string[]> {
  return (await readdir(folder)).filter((name) => name.startsWith('chain-cache-'));
}

async function start(options: { readonly stateFile?: string }): Promise<Anvil> {
  const anvil = await startAnvil({ log: silentLogger, ...options });
  running.push(anvil);
  return anvil;
}

async function onChain<T>(
  anvil: Anvil,
  use: (chain: ReturnType<ReturnType<typeof createChains>['get']>) => Promise<T>,
): Promise<T> {
  const chains = createChains({
    log: silentLogger,
    clock: systemClock,
    metrics: noMetrics,
    timeoutMs: 10_000,
  });
  try {
    return await use(chains.get({ chainId: 31337, rpc: { urls: [anvil.url] } }));
  } finally {
    await chains.stop();
  }
}

/** Whether a process has this id. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
