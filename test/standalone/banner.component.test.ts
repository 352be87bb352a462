import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from '@jest/globals';
import { printBanner } from '../../standalone/banner.js';
import { printClusterBanner } from '../support/cluster/cluster-banner.js';
import { createConsole } from '../../standalone/console.js';

// Both characters would end a text in the command that shows the token.
const folder = mkdtempSync(join(tmpdir(), `it's "a" banner-`));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const authToken = 'a-token-that-nobody-may-read-0123456789';
const connectionFile = join(folder, 'connection.json');
writeFileSync(connectionFile, JSON.stringify({ authToken }));
writeFileSync(join(folder, 'auth-token'), `${authToken}\n`);
const connection = { dashboardUrl: 'http://127.0.0.1:8080', chainRpcUrl: '', authToken, versions: [] };

test.each([
  {
    banner: 'of make run',
    print: (console: ReturnType<typeof createConsole>) =>
      printBanner({
        console,
        config: { manifestDirectory: '', logTo: 'file' } as never,
        directory: { path: folder, logFile: '', connectionFile } as never,
        connection,
        states: [],
        isLocalChain: true,
      }),
  },
  {
    banner: 'of make run-kube',
    print: (console: ReturnType<typeof createConsole>) =>
      printClusterBanner(console, {
        cluster: {
          plane: { url: '', assets: '', kubeconfig: () => '' },
          postgres: { url: '' },
          directory: folder,
        } as never,
        states: [],
        connection,
        replicas: [],
      }),
  },
])('the banner $banner shows no token, and the command that it prints reads it', ({ print }) => {
  let text = '';
  print(createConsole((part) => (text += part), Date.now));
  expect(text).not.toContain(authToken);
  const header = /-H ("authToken: .*")$/m.exec(text)?.[1];
  expect(execFileSync('sh', ['-c', `printf %s ${header}`], { encoding: 'utf8' })).toBe(
    `authToken: ${authToken}`,
  );
});
