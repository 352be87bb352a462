import { expect, test } from '@jest/globals';
import type { ResourceStore } from '../../../core/resources/resource-store.js';
import type { SmartContract } from '../../../core/resources/smart-contract.js';
import { createPace } from '../../../adapters/pace.js';
import { createMethodNames } from '../../../server/dashboard/ledger/method-names.js';

const mint = '0x40c10f19';
const burn = '0x42966c68';
const abiOf = (name: string, ...types: readonly string[]) =>
  JSON.stringify([{ type: 'function', name, inputs: types.map((type) => ({ type, name: '' })) }]);
const contract = (namespace: string, name: string, abi: string) =>
  ({ metadata: { namespace }, spec: { name, abi } }) as unknown as SmartContract;

const stored = [
  contract('acme', 'token', abiOf('mint', 'address', 'uint256')),
  contract('acme', 'token', abiOf('burn', 'uint256')),
  contract('acme', 'broken', 'not JSON'),
  contract('other', 'secret', abiOf('mint', 'address', 'uint256')),
];
const resources = {
  list: async (_, { namespace, fields } = {}) =>
    stored.filter(
      ({ metadata, spec }) => metadata.namespace === namespace && spec.name === fields?.['spec.name'],
    ),
} as Pick<ResourceStore, 'list'>;

test('methods have the names that the ABIs of the organisation have for them now', async () => {
  const names = createMethodNames({ resources, pace: createPace() }, { namespace: 'acme' });
  const nameOf = await names(new Set(['token', 'broken', 'secret', 'gone']));
  expect(nameOf('token', mint)).toBe('mint');
  expect(nameOf('token', burn)).toBe('burn');
  for (const [contractId, selector] of [
    ['token', '0x12345678'],
    ['broken', mint],
    ['secret', mint],
    ['gone', mint],
  ] as const)
    expect(nameOf(contractId, selector)).toBeUndefined();
});

test('of an answer with very many contracts the first are named', async () => {
  const names = createMethodNames({ resources, pace: createPace() }, { namespace: 'acme' });
  await names(new Set(Array.from({ length: 100 }, (_, n) => `contract-${n}`)));
  expect((await names(new Set(['token'])))('token', mint)).toBeUndefined();
});
