import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { freePort } from '../support/cluster/free-port.js';
import { scriptOf } from '../support/document-commands.js';
import { paste } from '../support/paste.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { useStarted } from '../support/use-started.js';
import { emptyChainId, startEmptyChain } from './empty-chain.js';

const file = 'docs/contracts.md';
const chain = useStarted(() => startEmptyChain({ hasDeployer: true }), 300_000);
const folder = mkdtempSync(join(tmpdir(), 'public-chain-'));
let service: ChildProcess | undefined;
let printed = '';

afterAll(async () => {
  if (service?.pid !== undefined && service.exitCode === null) {
    const ended = once(service, 'close');
    process.kill(-service.pid, 'SIGINT');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});

test('the commands of "A public chain in ten minutes" lead from a plan to a mined sponsored operation, and are six', async () => {
  const manifest = join(folder, 'other.yaml');
  writeFileSync(
    manifest,
    `apiVersion: paymasters.dev/v1alpha1
kind: Chain
metadata: { name: other }
spec:
  chainId: ${emptyChainId}
  rpc: { file: other }
  nativeCurrency: { name: Ether, symbol: ETH, decimals: 18 }
  stake: { amount: '0.1', unstakeDelaySeconds: 172800 }
  profiles: []
`,
  );
  const environment = {
    PATH: `${join(repositoryRoot, 'node_modules/.bin')}:${process.env['PATH']}`,
    PAYMASTER_RPC_URL: chain.url,
    XDG_STATE_HOME: folder,
    PAYMASTER_DATA_DIR: join(folder, 'data'),
    CHAIN: manifest,
    KEY_FILE: chain.keyFile,
    OWNER: chain.stranger.address,
    PORT: String(await freePort()),
    BUILT: '1',
  };
  const commands = [
    'a public chain',
    'a public chain, in another terminal',
    'a public chain, beside it',
  ] as const;
  const [before, during, beside] = commands.map((where) => scriptOf(file, where));
  const typed = `${before}${during}${beside}`
    .split('\n')
    .filter((line) => /^paymaster |make run|^node /.test(line));
  expect(typed).toHaveLength(6);
  expect(typed[0]).toMatch(/^paymaster contract plan /);

  expect(await paste(before ?? '', environment)).toContain('sending addStake(unstakeDelaySec: 172800)');
  // On a public chain blocks come by themselves; the service counts a deposit when its block is confirmed.
  await chain.chain.request('anvil_mine', ['0x20']);
  service = spawn('sh', ['-c', during ?? ''], {
    cwd: repositoryRoot,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { HOME: process.env['HOME'], ...environment },
  });
  for (const stream of [service.stdout, service.stderr])
    stream?.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await until('everything answers', () => {
    if (service?.exitCode !== null) throw new Error(`make run ended:\n${printed}`);
    return printed.includes('Ctrl-C stops everything');
  });
  const output = await paste(beside ?? '', environment).catch((error: Error) => {
    throw new Error(`${error.message}\n${printed}`);
  });
  expect(output).toMatch(/sponsored success true, the paymaster paid 0\.\d+ coins/);
}, 400_000);
