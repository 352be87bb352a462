import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import * as knownChains from 'viem/chains';
import { formatManifestProblem } from '../../../adapters/manifests/manifest-problem.js';
import { parseManifest } from '../../../adapters/manifests/parse-manifest.js';
import { validateResource } from '../../../core/resources/validate.js';
import type { DataFeeSpec } from '../../../core/chain/data-fee/spec.js';
import { repositoryRoot } from '../../support/repository-root.js';

/** Except objects of Kubernetes itself and values of the chart, which `make e2e-first-steps` applies. */
const files = globSync('examples/**/*.yaml', { cwd: repositoryRoot })
  .filter((file) => !file.startsWith('examples/kubernetes/'))
  .sort();

test('there are examples of every kind', () => {
  const kinds = new Set(files.flatMap((file) => read(file).objects.map(({ kind }) => kind)));
  expect([...kinds].sort()).toEqual([
    'Chain',
    'FeeToken',
    'Organisation',
    'Paymaster',
    'PaymasterPolicy',
    'SmartContract',
  ]);
});

test.each(files)('%s is valid as it is shipped', (file) => {
  const { objects, problems } = read(file);
  const wrong = objects.flatMap((object) =>
    validateResource(object.kind, { metadata: object.key, spec: object.spec }).map(object.locate),
  );
  expect([...problems, ...wrong].map(formatManifestProblem)).toEqual([]);
});

test.each(globSync('examples/chains/*.yaml', { cwd: repositoryRoot }).sort())(
  '%s names the chain and the coin that wallets know under its id',
  (file) => {
    for (const { spec } of read(file).objects) {
      const published = Object.values(knownChains).find(({ id }) => id === spec['chainId']);
      expect(spec['nativeCurrency']).toEqual(published?.nativeCurrency);
    }
    expect(read(file).objects).toHaveLength(1);
  },
);

test.each(globSync('examples/chains/*.yaml', { cwd: repositoryRoot }).sort())(
  '%s says how the chain charges for data, and names the OP stack where wallets know its oracle',
  (file) => {
    for (const { spec } of read(file).objects) {
      const published = Object.values(knownChains).find(({ id }) => id === spec['chainId']);
      const isOpStack = published !== undefined && 'gasPriceOracle' in (published.contracts ?? {});
      const { kind } = spec['dataFee'] as DataFeeSpec;
      expect(kind === 'OpStack').toBe(isOpStack);
    }
  },
);

function read(file: string) {
  return parseManifest(file, readFileSync(join(repositoryRoot, file), 'utf8'));
}
