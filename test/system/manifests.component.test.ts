import { cpSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { repositoryRoot } from '../support/repository-root.js';
import { dashboard } from './support/client.js';
import { newDataDirectory } from './support/standalone.js';
import { sponsors, useStarts } from './support/starts.js';
import { until } from '../support/until.js';

// The manifests of `make run`, which it watches.

const { start, forget } = useStarts();

/** A private copy of the quickstart that a test may edit. */
function copyQuickstart(): string {
  const directory = forget(mkdtempSync(join(tmpdir(), 'paymaster-manifests-')));
  cpSync(join(repositoryRoot, 'examples/quickstart'), directory, { recursive: true });
  return directory;
}

describe('manifests while it runs', () => {
  test('an edit takes effect without a restart; a broken file is reported by file, line, field and expectation, and the last good state keeps serving', async () => {
    const manifests = copyQuickstart();
    const running = await start({ environment: { PAYMASTER_MANIFESTS: manifests } });
    const connection = running.connection();
    expect(await sponsors(running)).toBe('sponsored');
    const contract = join(manifests, 'contract.yaml');
    const methods = readFileSync(contract, 'utf8');
    writeFileSync(contract, methods.replace('whitelistedMethods: [increment]', 'whitelistedMethods: [burn]'));
    await until(
      'the edit is served',
      async () => (await sponsors(running, connection)) === 'METHOD_NOT_WHITELISTED',
    );
    writeFileSync(contract, methods);
    await until('the old text is served', async () => (await sponsors(running, connection)) === 'sponsored');

    const policies = join(manifests, 'policies.yaml');
    const limits = readFileSync(policies, 'utf8');
    writeFileSync(policies, limits.replace('unit: day', 'unit: week'));
    await until('the broken file is named', () => running.output().includes('policies.yaml:'));
    expect(running.output()).toMatch(
      /policies\.yaml:\d+:\d+: spec\.spendingLimit\.cycleDuration\.unit must be .*"hour".*"day".*"week"/,
    );
    expect(await sponsors(running, connection)).toBe('sponsored');
    writeFileSync(policies, limits);
    await until('it says fixed', () => running.output().includes('fixed:'));
  });

  test('a manifest that is broken at the start and a damaged file of limits are reported, and the others are used', async () => {
    const manifests = copyQuickstart();
    writeFileSync(
      join(manifests, 'broken.yaml'),
      'apiVersion: paymasters.dev/v1alpha1\nkind: Paymaster\nmetadata: {name: x',
    );
    const dataDirectory = newDataDirectory();
    const file = join(dataDirectory, 'usage.sqlite');
    writeFileSync(file, 'not a database. '.repeat(100), { mode: 0o600 });
    const running = await start({ dataDirectory, environment: { PAYMASTER_MANIFESTS: manifests } });
    expect(running.output()).toMatch(/warning: .*broken\.yaml/);
    expect(running.output()).toContain(`warning: ${file} is damaged and was moved to ${file}.damaged`);
    expect(await sponsors(running)).toBe('sponsored');
  });
});

test('paused and refused objects are named at the start; what is put right is told, and connection.json follows', async () => {
  const manifests = copyQuickstart();
  const contract = join(manifests, 'contract.yaml');
  const paymaster = join(manifests, 'paymaster.yaml');
  const policies = join(manifests, 'policies.yaml');
  const original = readFileSync(contract, 'utf8');
  writeFileSync(contract, original.replace('[increment]', '[incremnt]'));
  // It sorts before the one of the quickstart, and has no contract that the examples could call.
  writeFileSync(
    join(manifests, 'bare.yaml'),
    readFileSync(paymaster, 'utf8').replaceAll('name: shop', 'name: bare'),
  );
  writeFileSync(
    policies,
    readFileSync(policies, 'utf8').replace(
      'name: operations per day',
      'name: operations per day\n  active: false',
    ),
  );
  const running = await start({ environment: { PAYMASTER_MANIFESTS: manifests } });
  const refusal =
    '✗ SmartContract quickstart/shop-counter  spec.whitelistedMethods[0] must be a method of the ABI (burn, increment), got "incremnt".';
  expect(running.output()).toMatch(/Checking the resources … 7 of 9 ready, 1 paused, 1 refused \([\d.]+ s\)/);
  expect(running.output()).toContain(refusal);
  expect(running.output()).toContain('⏸ PaymasterPolicy quickstart/shop-operations-per-day  paused');
  expect(running.connection().sponsoredContract).toBeUndefined();

  writeFileSync(contract, original);
  await until('it is told', () =>
    running.output().includes('✓ SmartContract quickstart/shop-counter  Ready'),
  );
  await until(
    'the contract is in connection.json',
    () => running.connection().sponsoredContract !== undefined,
  );
  const before = running.connection();
  writeFileSync(paymaster, `${readFileSync(paymaster, 'utf8')}  keyGeneration: 2\n`);
  await until('the new key is in connection.json, and what it is for', () => {
    const { apiKey, sponsoredContract } = running.connection();
    return apiKey !== before.apiKey && sponsoredContract !== undefined;
  });
  expect(await sponsors(running)).toBe('sponsored');

  const { authToken } = running.connection();
  await dashboard({ ...running.connection(), authToken }, 'POST', '/paymaster', {
    body: { name: 'by rest', type: 'HYBRID', chainId: 31337, version: '1.1.0' },
  });
  await until('what REST made is told', () =>
    /✓ Paymaster quickstart\/(?!shop |bare )\S+ {2}Ready/.test(running.output()),
  );
});
