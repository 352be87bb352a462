import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { parseAllDocuments, stringify } from 'yaml';
import { ask, expectServed, increment, aDeployedAccount } from '../attacks/support/wallet.js';
import { buildUserOp } from '../chain/support/user-op.js';
import type { DevChain } from '../chain/support/dev-chain.js';
import { paymaster } from '../support/paymaster.js';
import { repositoryRoot } from '../support/repository-root.js';
import { until } from '../support/until.js';
import { dashboard, rpcUrlFor } from './support/client.js';
import { attachDevChain } from './support/dev-chain.js';
import type { RunningStandalone } from './support/standalone.js';
import { useStarts } from './support/starts.js';

// Two machines on one backup: each knows only its own promises, so between them they could promise everything twice.

const { start, forget } = useStarts();
const version = '1.1.0';

test('a service that was restored beside the first one stops at its first operation, and makes that one stop at its own', async () => {
  const place = forget(mkdtempSync(join(tmpdir(), 'backup-')));
  const first = await start();
  const { chainRpcUrl, chainId } = first.connection();
  const devChain = attachDevChain(chainRpcUrl, chainId);
  try {
    const made = await dashboard(first.connection(), 'POST', '/paymaster', {
      body: { name: 'no limits', type: 'HYBRID', chainId, version },
    });
    const { apiKey } = made.body.data as { readonly apiKey: string };
    const urlOf = (running: RunningStandalone) =>
      rpcUrlFor({ dashboardUrl: running.connection().dashboardUrl, chainId }, apiKey);
    await expectServed(devChain, version, urlOf(first));

    const traffic = commitUntil(devChain, urlOf(first));
    const [backup, data] = [join(place, 'backup'), join(place, 'data')];
    expect(await paymaster(['store', 'backup', first.dataDirectory, backup])).toMatchObject({ status: 0 });
    expect(await traffic.end()).toBeGreaterThan(0);
    expect(await paymaster(['store', 'restore', backup, data])).toMatchObject({ status: 0 });

    const manifests = join(place, 'manifests');
    cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
    const environment = { CHAIN_RPC_URL: chainRpcUrl, PAYMASTER_MANIFESTS: manifests };
    const second = await start({ dataDirectory: data, environment });
    // It knows the keys of wallets, and signs nothing.
    expect(await reasonOf(devChain, urlOf(second))).toBe('USAGE_STORE_LOST');
    expect(second.output()).toContain('usage-data: Wait, and do not restore a backup');

    // Somebody does not wait.
    const objects = ['doctor', '-o', 'json', '--data-dir', data];
    const [, name = '', value] =
      /(paymasters\.dev\/accept-usage-loss)=([^\s"\\]+)/.exec((await paymaster(objects)).out) ?? [];
    const file = join(manifests, 'chain.yaml');
    const chain = parseAllDocuments(readFileSync(file, 'utf8'))[0]!.toJS() as { metadata: object };
    writeFileSync(
      file,
      stringify({ ...chain, metadata: { ...chain.metadata, annotations: { [name]: value } } }),
    );
    await until('it goes on', async () => (await reasonOf(devChain, urlOf(second))) !== 'USAGE_STORE_LOST');

    await expectServed(devChain, version, urlOf(first));
    await until(
      'the second one has seen an operation that it did not promise',
      async () => (await reasonOf(devChain, urlOf(second))) === 'SUSPENDED',
    );
    second.signal('SIGINT');
    await second.ended;

    // Somebody who believes that the first one is gone.
    const store = { PAYMASTER_DATABASE_URL: `file:${join(data, 'usage.sqlite')}` };
    const { sponsorship } = devChain.profile(version);
    expect(
      await paymaster(['unsuspend', '--direct', String(chainId), `contract:${sponsorship}`], store),
    ).toMatchObject({ status: 0, out: expect.stringContaining('nothing is suspended') });
    const third = await start({ dataDirectory: data, environment });
    await expectServed(devChain, version, urlOf(third));
    await until(
      'the first one has seen an operation of the other',
      async () => (await reasonOf(devChain, urlOf(first))) === 'SUSPENDED',
    );
  } finally {
    await devChain.stop();
  }
});

async function reasonOf(devChain: DevChain, url: string): Promise<unknown> {
  const account = await aDeployedAccount(devChain, version);
  return (await ask(url, await buildUserOp(account, [increment(devChain)]), { mode: 'SPONSORED' })).reason;
}

/** Promises one after the other until it is ended; then says how many. */
function commitUntil(devChain: DevChain, url: string) {
  let isEnded = false;
  const done = (async () => {
    let promised = 0;
    while (!isEnded) if ((await reasonOf(devChain, url)) === undefined) promised += 1;
    return promised;
  })();
  return {
    end: () => {
      isEnded = true;
      return done;
    },
  };
}
