import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { readYamlDocuments } from '../../adapters/manifests/yaml.js';
import { createKubeResourceStore } from '../../adapters/resources/kubernetes/resources.js';
import { readStoredObjects, type StoredObject } from '../../adapters/resources/sqlite/resource-rows.js';
import { DomainError, invalidInput, errorMessage, quote } from '../../core/errors.js';
import { silentLogger } from '../../core/log.js';
import { apiVersion } from '../../core/meta/meta.js';
import { noMetrics } from '../../core/metrics.js';
import { isKind, kindNames, reconciledKinds, kinds } from '../../core/resources/kinds.js';
import { systemClock } from '../../core/units/time.js';
import { given as withValues } from '../../core/units/given.js';
import { callServer } from '../api/client.js';
import { readServer, withServer, type ServerOptions } from '../api/server.js';
import { say, withList, type Terminal } from '../terminal.js';
import { withCluster } from './cluster.js';
import { isObject } from '../../core/schema/json-value.js';

/** Where resources are read from. */
export type SourceOptions = ServerOptions & {
  readonly kubeconfig?: string;
  readonly kubeContext?: string;
  readonly dataDir?: string;
  readonly got: readonly string[];
  readonly server?: true;
  readonly namespace?: string;
};

export function withSource(command: Command): Command {
  withServer(command)
    .option('--server', 'of the server of --context, as far as its organisation goes')
    .option('--kubeconfig <file>', 'of a cluster; default: KUBECONFIG')
    .option('--kube-context <name>', 'of the kubeconfig, instead of its current context')
    .option('--data-dir <folder>', 'of "make run", which may be running');
  return withList(command, '--got <file>', 'what "kubectl get -o yaml" has written; - is stdin').option(
    '-n, --namespace <name>',
    'of one organisation: its objects alone',
  );
}

/** Every object of ours, in the order of kind, namespace and name. Throws INVALID_INPUT without exactly one source. */
export async function readState(
  terminal: Terminal,
  options: SourceOptions,
): Promise<readonly StoredObject[]> {
  const { kubeconfig, kubeContext, dataDir, got, namespace, server } = options;
  const given = [kubeconfig, dataDir, server, got.length > 0 ? got : undefined].filter(
    (each) => each !== undefined,
  );
  const file = kubeconfig ?? (given.length === 0 ? terminal.env['KUBECONFIG'] || undefined : undefined);
  if (given.length > 1 || (given.length === 0 && file === undefined))
    throw invalidInput({
      field: 'the source',
      expected: 'one of --kubeconfig (or KUBECONFIG), --data-dir, --got and --server',
    });
  const found =
    file !== undefined
      ? await readCluster(file, kubeContext, namespace)
      : server === true
        ? await readOrganisation(terminal, options)
        : dataDir === undefined
          ? got.flatMap(readGot)
          : readStoredObjects(join(dataDir, 'resources.sqlite'));
  const wanted =
    namespace === undefined ? found : found.filter((each) => each.metadata.namespace === namespace);
  return wanted.toSorted(inOrder);
}

async function readCluster(
  file: string,
  context: string | undefined,
  namespace: string | undefined,
): Promise<readonly StoredObject[]> {
  return withCluster({ kubeconfig: file, ...withValues({ context }) }, async (transport) => {
    const resources = createKubeResourceStore({
      transport,
      statusManager: 'paymaster',
      log: silentLogger,
      metrics: noMetrics,
      now: () => systemClock.now(),
      random: Math.random,
    });
    try {
      // Somebody who may read one namespace reads no objects of the cluster.
      const asked = reconciledKinds.filter(
        (kind) => namespace === undefined || kindNames[kind].scope === 'Namespaced',
      );
      const lists = await Promise.all(
        asked.map((kind) => resources.list(kind, namespace === undefined ? {} : { namespace })),
      );
      return lists.flat() as unknown as readonly StoredObject[];
    } finally {
      await resources.stop();
    }
  });
}

export const plurals = {
  Paymaster: 'paymasters',
  SmartContract: 'contracts',
  PaymasterPolicy: 'policies',
} as const;

/** What the token's organisation has made, without what the server shows nobody. */
async function readOrganisation(
  terminal: Terminal,
  options: SourceOptions,
): Promise<readonly StoredObject[]> {
  const server = readServer(terminal, options);
  const { organisation } = (await callServer(server, { method: 'get', path: '/me' })) as {
    readonly organisation: { readonly namespace: string };
  };
  const found: StoredObject[] = [];
  for (const [kind, plural] of Object.entries(plurals))
    for (let cursor: string | null = ''; cursor !== null;) {
      const query = { limit: '500', ...(cursor === '' ? {} : { cursor }) };
      const page = (await callServer(server, { method: 'get', path: `/${plural}`, query })) as Page;
      for (const { name, labels = {}, spec, status } of page.items) {
        const metadata = { name, namespace: organisation.namespace, ...(isEmpty(labels) ? {} : { labels }) };
        found.push({ apiVersion, kind, metadata, spec, status } as unknown as StoredObject);
      }
      cursor = page.nextCursor;
    }
  say(terminal, 'a server shows no signatures of funding wallets and no annotations: add them');
  return found;
}

type Page = {
  readonly items: readonly { name: string; labels?: object; spec: object; status: object }[];
  readonly nextCursor: string | null;
};

const isEmpty = (labels: object) => Object.keys(labels).length === 0;

/** Objects, and lists of them, with whatever the API server has added. */
function readGot(file: string): readonly StoredObject[] {
  let documents: readonly unknown[];
  try {
    documents = readYamlDocuments(readFileSync(file === '-' ? 0 : file, 'utf8'));
  } catch (cause) {
    throw new DomainError('INVALID_INPUT', `${file} cannot be read: ${errorMessage(cause)}`, { cause });
  }
  return documents.flatMap((document) => listObjects(file, document));
}

function listObjects(file: string, value: unknown): readonly StoredObject[] {
  if (value === null || value === undefined) return [];
  if (isObject(value) && String(value['kind']).endsWith('List') && Array.isArray(value['items']))
    return value['items'].flatMap((item) => listObjects(file, item));
  const isOurs = isObject(value) && value['apiVersion'] === apiVersion && isKind(value['kind']);
  if (!isOurs || !isObject(value['metadata']) || typeof value['metadata']['name'] !== 'string')
    throw invalidInput({
      field: file,
      expected: `made of ${kinds.join(', ')} of ${apiVersion}`,
      value: quote(value),
    });
  return [value as unknown as StoredObject];
}

function inOrder(a: StoredObject, b: StoredObject): number {
  const key = ({ kind, metadata: { namespace = '', name } }: StoredObject) =>
    `${kinds.indexOf(kind)} ${namespace}/${name}`;
  return key(a) < key(b) ? -1 : 1;
}
