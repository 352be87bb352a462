import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startCluster, type Cluster } from '../support/cluster/cluster.js';
import { commandBlocks, documentsFor, type CommandBlock } from '../support/document-commands.js';
import { paste } from '../support/paste.js';
import { repositoryRoot } from '../support/repository-root.js';

// Blocks of commands for a Kubernetes API, pasted against a real one: first those that come before the installation.

const isBefore = ({ commands }: CommandBlock): boolean =>
  commands.includes('create namespace paymaster-system');
const blocks = documentsFor('kubernetes')
  .flatMap(commandBlocks)
  .filter(({ runs }) => runs === 'kubernetes');

/** Some blocks write files beside the folders that they read. */
const folder = mkdtempSync(join(tmpdir(), 'paymaster-documents-'));
let cluster: Cluster;
let environment: Readonly<Record<string, string>>;
const outputs = new Map<CommandBlock, string>();

beforeAll(async () => {
  for (const name of ['examples', 'charts']) symlinkSync(join(repositoryRoot, name), join(folder, name));
  cluster = await startCluster({
    console: { step: () => () => {}, line: () => {}, warn: () => {} },
    async prepare({ assets, kubeconfig }) {
      environment = { KUBECONFIG: kubeconfig('admin'), PATH: `${assets}:${process.env['PATH']}` };
      for (const block of blocks.filter(isBefore))
        outputs.set(block, await paste(block.commands, environment, folder));
    },
  });
  await cluster.start('operator');
  // A Paymaster is ready once somebody serves it.
  await cluster.start('rpc', { path: '/healthz' });
});
afterAll(async () => {
  await cluster?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('before the installation', () => {
  test('the namespace and its Secrets are made', () => {
    const [made = ''] = outputs.values();
    expect(made).toContain('namespace/paymaster-system created');
    expect(made.match(/^secret\/paymaster-\S+ created$/gm)).toHaveLength(3);
  });
});

const expected: Readonly<Record<string, readonly RegExp[]>> = {
  'docs/first-steps-kubernetes.md': [
    /paymaster\.paymasters\.dev\/shop condition met/,
    /pmpol|paymasterpolicy.*true/,
  ],
  'docs/key-rotation.md': [],
  'docs/notifications.md': [/secret\/paymaster-notification-urls created/],
  'docs/production.md': [/dev +(?:True[ ,]*){4}/, /chain\.paymasters\.dev\/dev condition met/],
  'charts/README.md': [],
};

test('each document is known here', () => {
  expect(documentsFor('kubernetes').toSorted()).toEqual(Object.keys(expected).toSorted());
});

describe.each(documentsFor('kubernetes'))('%s', (file) => {
  test('its commands work when pasted', async () => {
    let output = '';
    for (const { commands } of blocks.filter((block) => block.file === file && !isBefore(block)))
      output += await paste(commands, environment, folder);
    for (const answer of expected[file] ?? []) expect(output).toMatch(answer);
  });
});

test('kubectl shows whether a policy is active, also where its spec says nothing', async () => {
  const shown = await paste('kubectl get pmpol -n quickstart', environment, folder);
  const [head = '', ...rows] = shown.trim().split('\n');
  const column = head.indexOf('ACTIVE');
  expect(column).toBeGreaterThan(0);
  expect(rows.map((row) => row.slice(column).split(' ')[0])).toEqual(rows.map(() => 'true'));
  expect(rows).toHaveLength(3);
});
