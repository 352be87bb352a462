import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { newAuthToken } from '../../../server/dashboard/auth-token.js';
import { apiVersion } from '../../../core/meta/meta.js';
import { hashCredential } from '../../../core/config/api-key.js';
import type { Connection } from '../../../standalone/connection.js';
import { repositoryRoot } from '../../support/repository-root.js';
import { sharedServer } from '../../support/shared-server.js';
import { until } from '../../support/until.js';
import { rpcUrlFor } from './client.js';
import { newDataDirectory, startStandalone } from './standalone.js';

/**
 * One `make run` for all files of a worker that neither stop it nor move the clock of its chain. Each works in an organisation of its own
 * ({@link createOrganisation}), and looks at nothing beyond it.
 */
export const sharedStandalone = sharedServer(async () => {
  const dataDirectory = newDataDirectory();
  const manifests = join(dataDirectory, 'manifests');
  cpSync(join(repositoryRoot, 'examples/quickstart'), manifests, { recursive: true });
  const running = await startStandalone({ dataDirectory, environment: { PAYMASTER_MANIFESTS: manifests } });
  running.endWithProcess();
  // Of the organisation of the quickstart; later it may describe another one.
  return { connection: running.connection(), output: running.output(), dataDirectory, manifests };
});

/** Another organisation, with the same resources as that of the quickstart; resolves when they are ready. */
export async function createOrganisation(name: string): Promise<Required<Connection>> {
  const { connection, manifests } = await sharedStandalone();
  const { authToken } = newAuthToken();
  const spec = { namespace: name, tokens: [{ name: 'tests', sha256: hashCredential(authToken) }] };
  const organisation = stringify({ apiVersion, kind: 'Organisation', metadata: { name }, spec });
  const quickstart = ['paymaster', 'contract', 'policies'].map((file) =>
    readFileSync(join(repositoryRoot, `examples/quickstart/${file}.yaml`), 'utf8'),
  );
  const resources = quickstart.map((text) => text.replaceAll('namespace: quickstart', `namespace: ${name}`));
  writeFileSync(join(manifests, `${name}.yaml`), [organisation, ...resources].join('\n---\n'));

  const read = async (path: string) => {
    const answer = await fetch(`${connection.dashboardUrl}/manage/v1/${path}`, {
      headers: { authToken, connection: 'close' },
    });
    return ((await answer.json()) as { readonly data?: Answer }).data;
  };
  await until(`the resources of ${name} are ready`, async () => {
    const lists = await Promise.all(['paymasters', 'contracts', 'policies'].map(read));
    const [paymasters, contracts, policies] = lists.map((each) => (each?.items ?? []).filter(isReady).length);
    return paymasters === 1 && contracts === 1 && policies === 3;
  });
  const { key: apiKey = '' } = (await read('paymasters/shop/key')) ?? {};
  const { id: paymasterId = '' } = (await read('paymasters/shop')) ?? {};
  return { ...connection, authToken, apiKey, paymasterId, rpcUrl: rpcUrlFor(connection, apiKey) };
}

type Answer = { readonly items?: readonly Item[]; readonly key?: string; readonly id?: string };
type Item = {
  readonly status: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

const isReady = ({ status: { conditions = [] } }: Item): boolean =>
  conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
