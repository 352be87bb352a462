import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { silentLogger } from '../../core/log.js';
import { startAnvil } from '../../standalone/dev-chain/anvil.js';
import { devAccounts } from '../../standalone/dev-chain/dev-accounts.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { newDataDirectory } from './support/standalone.js';
import { useStarts } from './support/starts.js';
import { openDataDirectory } from '../../standalone/data-directory.js';

const { spawn, start, forget } = useStarts();

function manifestsOf(chainId: number): string {
  const manifests = forget(mkdtempSync(join(tmpdir(), 'development-keys-')));
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const file = join(manifests, 'chain.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('chainId: 31337', `chainId: ${chainId}`));
  return manifests;
}

test.each([
  { name: 'that the dev chain has left in the data directory', from: 'file' },
  { name: 'in a variable', from: 'variable' },
])(
  'with a development key $name, a service for a chain that nobody knows does not start',
  async ({ from }) => {
    const anvil = await startAnvil({ log: silentLogger, chainId: 4242 });
    try {
      const dataDirectory = newDataDirectory();
      const { signerDirectory } = openDataDirectory(dataDirectory);
      const key = devAccounts.signer.privateKey;
      if (from === 'file') writeFileSync(join(signerDirectory, 'dev'), key, { mode: 0o600 });
      const running = await spawn({
        dataDirectory,
        environment: {
          CHAIN_RPC_URL: anvil.url,
          PAYMASTER_MANIFESTS: manifestsOf(4242),
          ...(from === 'variable' && { PAYMASTER_SIGNER_KEY_DEV: key }),
        },
      });
      expect(await running.ended).toBe(1);
      expect(running.output()).toContain(
        `error: the signer "dev" is the development key of ${devAccounts.signer.address}, which everybody knows, and chain 4242 is not a known test chain`,
      );
      expect(running.output()).not.toContain(key.slice(2));
    } finally {
      await anvil.stop();
    }
  },
);

test('a Chain that is added while it runs is refused, and signs nothing', async () => {
  const manifests = manifestsOf(31_337);
  const running = await start({ environment: { PAYMASTER_MANIFESTS: manifests } });
  const real = readFileSync(join(manifests, 'chain.yaml'), 'utf8')
    .replace('chainId: 31337', 'chainId: 4242')
    .replace('name: dev', 'name: real');
  writeFileSync(join(manifests, 'real.yaml'), real);
  await until('it is told', () => /✗ Chain real .*which everybody knows/.test(running.output()));
});
