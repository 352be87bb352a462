import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { afterAll, expect, test } from '@jest/globals';
import { freePort } from '../support/cluster/free-port.js';
import { scriptOf, textOf } from '../support/document-commands.js';
import { paste } from '../support/paste.js';
import { repositoryRoot } from '../support/repository-root.js';
import { startTlsProxy } from '../support/tls-proxy.js';
import { until } from '../support/until.js';
import { useStarted } from '../support/use-started.js';
import { emptyChainId, startEmptyChain } from './empty-chain.js';

// On a chain that nobody knows, where no account but one has coins. In place of Docker and systemd: the program that both start, with
// the settings that the page has written and the variables of the unit, behind a proxy that ends TLS as Caddy does.

const file = 'docs/one-machine.md';
const chain = useStarted(() => startEmptyChain({ hasDeployer: true }), 300_000);
const folder = mkdtempSync(join(tmpdir(), 'one-machine-'));
const directory = join(folder, 'paymaster');
let service: ChildProcess | undefined;
let printed = '';

afterAll(async () => {
  await stopped();
  rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
});

test('the commands of the page lead from an empty server to a sponsored operation, a backup and a service that was restored', async () => {
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
  const proxy = await startTlsProxy(folder, 'localhost');
  try {
    const environment = {
      PATH: `${join(repositoryRoot, 'node_modules/.bin')}:${process.env['PATH']}`,
      SITE: `localhost:${proxy.port}`,
      PAYMASTER_RPC_URL: chain.url,
      XDG_STATE_HOME: folder,
      XDG_CONFIG_HOME: folder,
      CHAIN: manifest,
      KEY_FILE: chain.keyFile,
      OWNER: chain.stranger.address,
      DIRECTORY: directory,
      NODE_EXTRA_CA_CERTS: proxy.cert,
      CURL_CA_BUNDLE: proxy.cert,
    };
    const before = await paste(scriptOf(file, 'one machine'), environment);
    expect(before).toContain('sending addStake(unstakeDelaySec: 172800)');
    expect(before).toContain('0 errors');
    for (const secret of ['.env', 'data/chains/other', 'data/signers/other'])
      expect([secret, statSync(join(directory, secret)).mode & 0o777]).toEqual([secret, 0o600]);
    // On a public chain blocks come by themselves; the service counts a deposit when its block is confirmed.
    await chain.chain.request('anvil_mine', ['0x20']);

    await started(join(directory, 'data'), (port) => proxy.to(port));
    const beside = await paste(
      `PATH="$PWD/bin:$PATH"\n${scriptOf(file, 'one machine, beside it')}`,
      environment,
    ).catch((error: Error) => {
      throw new Error(`${error.message}\n${printed}`);
    });
    expect(beside).toContain('TLS is right');
    expect(beside).toMatch(/sponsored success true, the paymaster paid 0\.\d+ coins/);
    expect(beside).toContain('encrypt it before it leaves this machine');

    // What was restored is a service with the same keys, which waits.
    await stopped();
    await started(join(directory, 'restored'), (port) => proxy.to(port));
    expect(printed).toContain('usage-data: Wait, and do not restore a backup');
    const { apiKey } = facts('restored');
    expect(apiKey).toBe(facts('data').apiKey);
  } finally {
    proxy.stop();
  }
}, 500_000);

function facts(data: string): { readonly apiKey: string } {
  return JSON.parse(readFileSync(join(directory, data, 'connection.json'), 'utf8')) as {
    readonly apiKey: string;
  };
}

/** As the unit does. */
async function started(data: string, onPort: (port: number) => void): Promise<void> {
  const unit = textOf('examples/systemd/paymaster.service')
    .replaceAll('/opt/paymaster', repositoryRoot)
    .replaceAll('/var/lib/paymaster', data)
    .replaceAll('/etc/paymaster/manifests', join(directory, 'manifests'));
  const [command = '', ...args] = (/^ExecStart=(.*)$/m.exec(unit)?.[1] ?? '').split(' ');
  const variables = [...unit.matchAll(/^Environment=(.*)$/gm)]
    .flatMap(([, line = '']) => line.split(' '))
    .join('\n');
  const port = await freePort();
  onPort(port);
  printed = '';
  const child = spawn(command, args, {
    cwd: repositoryRoot,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...parseEnv(readFileSync(join(directory, '.env'), 'utf8')),
      ...parseEnv(variables),
      PORT: String(port),
      // The log would be beside what is printed.
      PAYMASTER_LOG: 'file',
    },
  });
  service = child;
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  await until('everything answers', () => {
    if (child.exitCode !== null) throw new Error(`the service ended:\n${printed}`);
    return printed.includes('Ctrl-C stops everything');
  });
}

async function stopped(): Promise<void> {
  if (service === undefined || service.exitCode !== null) return;
  const ended = once(service, 'close');
  service.kill('SIGTERM');
  await ended;
}
