import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { policyTypes } from '../../core/policy/derived.js';
import { entryPointVersions } from '../../core/entry-point/version.js';
import { repositoryRoot as root } from '../support/repository-root.js';

// The compiler keeps the direction between projects; these are the rules that it cannot see.

const sources = ['core', 'adapters', 'operator', 'server', 'standalone', 'cli', 'console'].flatMap(
  (folder) => [...filesBelow(join(root, folder), '.ts'), ...filesBelow(join(root, folder), '.tsx')],
);

type PlaceRule = { name: string; packages: RegExp; allowed: RegExp; why: string };

describe('a package is used only in its place', () => {
  test.each<PlaceRule>([
    { name: 'express', packages: /^express$/, allowed: /^(server|standalone)\//, why: 'HTTP is an edge' },
    { name: 'undici', packages: /^undici$/, allowed: /^adapters\//, why: 'outbound calls are effects' },
    { name: 'ajv', packages: /^ajv/, allowed: /^core\/schema\//, why: 'one validator for every edge' },
    {
      name: 'cel-js',
      packages: /^@marcbachmann\/cel-js$/,
      allowed: /^core\/(schema\/|policy\/expression\/)/,
      why: 'one CEL parser',
    },
    {
      name: 'prom-client',
      packages: /^prom-client$/,
      allowed: /^adapters\/metrics\//,
      why: 'metrics are a port',
    },
    { name: 'pino', packages: /^pino$/, allowed: /^adapters\/log\//, why: 'logging is a port' },
    {
      name: 'pg',
      packages: /^pg$/,
      allowed: /^adapters\/(store\/)?postgres\//,
      why: 'stores are ports',
    },
    {
      name: 'node:sqlite',
      packages: /^node:sqlite$/,
      allowed: /^adapters\/((resources|configs|store)\/)?sqlite\//,
      why: 'stores are ports',
    },
    {
      name: 'secp256k1 libraries',
      packages: /^(secp256k1|tiny-secp256k1)/,
      allowed: /^adapters\/signer\//,
      why: 'keys stay behind the Signer port',
    },
    {
      name: 'YAML',
      packages: /^yaml$/,
      allowed:
        /^(core\/schema\/crd\.ts|adapters\/manifests\/|adapters\/signer\/description\.ts|operator\/generate\.ts)/,
      why: 'YAML is a file format at a few edges',
    },
    {
      name: 'client-node',
      packages: /^@kubernetes\/client-node$/,
      allowed: /^adapters\/kube\//,
      why: 'it costs 90 MB and pools no connections: credentials only',
    },
    {
      name: 'Preact, uPlot',
      packages: /^(preact|@preact\/|uplot$)/,
      allowed: /^console\//,
      why: 'they run in browsers',
    },
    { name: 'commander', packages: /^commander$/, allowed: /^cli\//, why: 'arguments are an edge' },
    {
      name: 'all of ethers',
      packages: /^ethers$/,
      allowed: /^$/,
      why: 'a process that imports its parts (ethers/abi) loads half as many modules',
    },
    {
      name: 'development-only packages',
      packages:
        /^(viem|permissionless|ox|aa0[6-9]|hardhat-predeploy|@foundry-rs\/|@pimlico\/|solc|fast-check|jest|@jest\/)/,
      allowed: /^standalone\/dev-chain\//,
      why: 'the production image does not have them',
    },
  ])('$name: $why', ({ packages, allowed }) => {
    const misplaced = sources
      .filter((file) => importsOf(file).some((name) => packages.test(name)))
      .map((file) => relative(root, file))
      .filter((file) => !allowed.test(file));
    expect(misplaced).toEqual([]);
  });
});

describe('pure code stays pure', () => {
  const pure = filesBelow(join(root, 'core'), '.ts');

  test('core does no I/O', () => {
    const effects =
      /^(node:(fs|http|https|net|tls|dns|child_process|worker_threads|sqlite|timers)|undici|express)/;
    const impure = pure.filter((file) => importsOf(file).some((name) => effects.test(name)));
    // BlockList and isIP judge the text of an address; they open nothing.
    expect(impure.map((file) => relative(root, file))).toEqual(['core/policy/webhook/ip-address.ts']);
  });

  test('core reads no clock', () => {
    const readers = pure.filter((file) =>
      /\bDate\.now\(\)|\bnew Date\(\)|performance\.now\(\)/.test(read(file)),
    );
    expect(readers.map((file) => relative(root, file))).toEqual(['core/units/time.ts']);
  });

  test('the environment is read only where a process starts', () => {
    const readers = sources
      .filter((file) => /\bprocess\.env\b/.test(read(file)))
      .map((file) => relative(root, file));
    expect(readers.filter((file) => !/(^|\/)(main|[a-z-]+-command)\.ts$/.test(file))).toEqual([]);
  });
});

test('what differs between EntryPoints is a row: nothing else names a version', () => {
  const versions = new RegExp(`(['"\`])(${entryPointVersions.join('|').replaceAll('.', '\\.')})\\1`);
  const naming = sources
    .map((file) => relative(root, file))
    // Schemas list what users may write.
    .filter((file) => !file.startsWith('core/entry-point/') && !/\.schema\.ts$|[/-]examples\.ts$/.test(file))
    .filter((file) => versions.test(read(join(root, file))));
  expect(naming).toEqual([]);
});

test('what a kind of policies is stands in its folder: nothing else names one', () => {
  const named = new RegExp(`(['"\`])(${policyTypes.join('|')})\\1`);
  const naming = sources
    .map((file) => relative(root, file))
    // The console has a form for limits.
    .filter((file) => !/^(core\/policy|console)\//.test(file) && named.test(read(join(root, file))));
  expect(naming.sort()).toEqual([
    // Hands the signing keys of webhooks to the cluster.
    'operator/reconcilers/connection-secret.ts',
    'server/dashboard/policy-record.ts',
  ]);
});

test('no source escapes the type system or leaves work undone', () => {
  const escapes = /\bas any\b|: any\b|<any>|@ts-ignore|@ts-expect-error|@ts-nocheck|\bTODO\b|\bFIXME\b/;
  const found = sources.filter((file) => escapes.test(read(file))).map((file) => relative(root, file));
  expect(found).toEqual([]);
});

function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from|import)\s*\(?\s*'([^'.][^']*)'/g)].map((match) => match[1] ?? '');
}

function read(file: string): string {
  return readFileSync(file, 'utf8');
}

function filesBelow(folder: string, extension: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .map((name) => join(folder, name));
}
