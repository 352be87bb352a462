import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { expect, test } from '@jest/globals';
import { getAddress, type Chain } from 'viem';
import * as knownChains from 'viem/chains';
import { formatManifestProblem, parseManifest } from '../../../adapters/manifests/parse-manifest.js';
import { compilePriceGuard } from '../../../core/policy/rules/price-guard/compile.js';
import type { GasCaps } from '../../../core/policy/rules/price-guard/gas-caps.js';
import { validateResource } from '../../../core/resources/validate.js';
import type { DataFeeSpec } from '../../../core/chain/data-fee/spec.js';
import { paymaster } from '../../support/paymaster.js';
import { repositoryRoot } from '../../support/repository-root.js';

/** Except what Compose reads, and objects of Kubernetes itself and values of the chart, which `make e2e-first-steps` applies. */
const files = globSync('examples/**/*.yaml', { cwd: repositoryRoot })
  .filter((file) => !/^examples\/(compose|kubernetes|signers)\//.test(file))
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

const chainFiles = globSync('examples/chains/*.yaml', { cwd: repositoryRoot }).sort();

test('every chain is valid beside the others, as it is and with the profiles that its comment proposes', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chains-'));
  try {
    for (const file of chainFiles) writeFileSync(join(folder, basename(file)), withProfiles(file));
    for (const path of [join(repositoryRoot, 'examples/chains'), folder])
      expect(await paymaster(['validate', path])).toEqual({
        out: expect.stringContaining(
          `${chainFiles.length} objects in ${chainFiles.length} files: 0 errors, 0 warnings`,
        ),
        error: '',
        status: 0,
      });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

/** Gas that a transaction may have, where it is known, and bundles of one operation that come near it. */
const transactionGas: Readonly<Record<number, bigint>> = {
  ...Object.fromEntries([1, 8453, 56, 59144, 11155111, 84532, 97].map((id) => [id, 16_777_216n])),
  ...Object.fromEntries([42161, 137, 421614].map((id) => [id, 32_000_000n])),
};

test.each(chainFiles)('%s signs nothing that a transaction has no room for', (file) => {
  for (const { spec } of read(file).objects) {
    const room = transactionGas[Number(spec['chainId'])];
    if (room === undefined) continue;
    const caps = compilePriceGuard({}, (spec['gas'] ?? {}) as GasCaps);
    // Beside the limits of the account: the fixed cap on preVerificationGas, and what our largest contract takes.
    const sum = caps.maxCallGasLimit + caps.maxVerificationGasLimit + 200_000n;
    const most = (sum < caps.maxOperationGas ? sum : caps.maxOperationGas) + 500_000n;
    expect(10n * most).toBeLessThanOrEqual(9n * room);
  }
});

test.each(chainFiles)(
  '%s names the chain, the coin and the explorer that wallets know under its id',
  (file) => {
    for (const { spec } of read(file).objects) {
      const published = Object.values<Chain>(knownChains).find(({ id }) => id === spec['chainId']);
      expect(spec['nativeCurrency']).toEqual(published?.nativeCurrency);
      expect(spec['explorer']).toBe(published?.blockExplorers?.default.url);
      expect(spec['rpc']).toEqual({
        file: basename(file, '.yaml'),
        multicall3: getAddress(published?.contracts?.multicall3?.address ?? '0x'),
      });
    }
    expect(read(file).objects).toHaveLength(1);
  },
);

test.each(chainFiles)(
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

/** As somebody would write it who follows the comment at its end. */
function withProfiles(file: string): string {
  const text = readFileSync(join(repositoryRoot, file), 'utf8');
  const at = text.indexOf('  profiles: []\n');
  const proposed = text.slice(at).split('\n').slice(2);
  expect(proposed[0]).toBe('  # profiles:');
  return `${text.slice(0, at)}${proposed.map((line) => line.replace('  # ', '  ')).join('\n')}`.replaceAll(
    '0x…',
    '0x0293Ee1246D7c4Db95BB7E4c90996228393912eA',
  );
}

function read(file: string) {
  return parseManifest(file, readFileSync(join(repositoryRoot, file), 'utf8'));
}
