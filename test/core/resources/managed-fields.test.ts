import { expect, test } from '@jest/globals';
import { ownedFields, listOwners } from '../../../core/resources/managed-fields.js';
import { apiVersion, type FieldsV1, type ManagedFields } from '../../../core/meta/meta.js';
import { aPaymaster } from '../../build/resources.js';

const entry = (manager: string, fieldsV1: FieldsV1, more: Partial<ManagedFields> = {}): ManagedFields => ({
  manager,
  operation: 'Apply',
  apiVersion,
  fieldsType: 'FieldsV1',
  fieldsV1,
  ...more,
});

const paymaster = aPaymaster({
  suspended: true,
  gas: { maxCallGasLimit: 5, maxFeePerGas: '7' },
  meta: {
    labels: { team: 'a' },
    managedFields: [
      entry('git', {
        'f:metadata': { 'f:labels': { 'f:team': {} } },
        'f:spec': { 'f:name': {}, 'f:gas': { 'f:maxCallGasLimit': {} } },
      }),
      entry('git', { 'f:spec': { 'f:suspended': {} } }, { operation: 'Update' }),
      entry('ui', { 'f:spec': { 'f:gas': {}, 'f:rateLimit': {} } }),
      entry('kubectl-edit', { 'f:spec': { 'f:suspended': {} } }, { operation: 'Update' }),
      entry(
        'operator',
        { 'f:status': { 'f:contracts': {} } },
        { operation: 'Update', subresource: 'status' },
      ),
    ],
  },
});

test('what a manager owns is what it has applied, with the values of now', () => {
  expect(ownedFields<'Paymaster'>(paymaster, 'git')).toEqual({
    spec: { name: 'Shop', gas: { maxCallGasLimit: 5 } },
    labels: { team: 'a' },
  });
});

test('an owned empty object stays empty whatever others put into it, and a field that is gone is not owned', () => {
  expect(ownedFields<'Paymaster'>(paymaster, 'ui').spec).toEqual({ gas: {} });
});

test('a manager without fields owns nothing', () => {
  expect(ownedFields<'Paymaster'>(paymaster, 'nobody')).toEqual({ spec: {} });
  expect(ownedFields<'Paymaster'>(aPaymaster(), 'git')).toEqual({ spec: {} });
});

test('owners of a field are those of it, of a part of it, or of the whole it is part of, and say how they wrote', () => {
  expect(listOwners(paymaster, 'spec.suspended')).toEqual([
    { manager: 'git', operation: 'Update' },
    { manager: 'kubectl-edit', operation: 'Update' },
  ]);
  expect(listOwners(paymaster, 'spec.gas').map(({ manager }) => manager)).toEqual(['git', 'ui']);
  expect(listOwners(paymaster, 'spec.gas.maxFeePerGas').map(({ manager }) => manager)).toEqual(['ui']);
  expect(listOwners(paymaster, 'spec.version')).toEqual([]);
});
