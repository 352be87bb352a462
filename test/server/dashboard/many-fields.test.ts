import { expect, test } from '@jest/globals';
import { applyFields, type ApplyOutcome } from '../../../core/meta/server-side-apply.js';
import { ownedFields } from '../../../core/resources/managed-fields.js';
import {
  composeEdit,
  manifestFields,
  toWritten,
  type Written,
} from '../../../server/dashboard/manage/edit.js';
import { aPaymaster } from '../../build/resources.js';
import { growthOf, mostGrowth } from '../../support/work.js';

// Each label is a field with owners of its own. Reading, changing and listing many of them takes time linear in their number: 4,000
// labels once held the thread that signs for 16 seconds.

const manager = 'dashboard';
const time = '2026-01-01T00:00:00Z';
const labelsOf = (count: number, value = 'one'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`example.com/label-${index}`, value]));

const nothing: Pick<ApplyOutcome, 'live' | 'managedFields'> = { live: {}, managedFields: [] };

function apply(count: number, value = 'one', before = nothing) {
  const fields = { metadata: { labels: labelsOf(count, value) }, spec: { name: 'shop' } };
  const { live, managedFields } = before;
  return applyFields({ live, managedFields, manager, fields, force: false, time });
}

function objectWith(count: number) {
  const { live, managedFields } = apply(count);
  const plain = aPaymaster();
  const { labels } = live['metadata'] as { labels: Record<string, string> };
  return { ...plain, metadata: { ...plain.metadata, labels, managedFields } };
}

test.each([
  { name: 'applied to nothing', run: (count: number) => () => apply(count) },
  {
    name: 'applied with other values',
    run: (count: number) => {
      const before = apply(count);
      return () => apply(count, 'two', before);
    },
  },
  {
    name: 'left out by the next apply',
    run: (count: number) => {
      const before = apply(count);
      return () => apply(0, 'one', before);
    },
  },
  {
    name: 'listed as what a manager owns',
    run: (count: number) => {
      const object = objectWith(count);
      return () => ownedFields<'Paymaster'>(object, manager);
    },
  },
  {
    name: 'changed through the dashboard',
    run: (count: number) => {
      const object = objectWith(count);
      const next: Written = { ...toWritten(object), labels: labelsOf(count, 'two') };
      return () => composeEdit<'Paymaster'>(object, ownedFields(object, manager), next, manager);
    },
  },
  {
    name: 'removed through the dashboard',
    run: (count: number) => {
      const object = objectWith(count);
      const next: Written = { ...toWritten(object), labels: {} };
      return () => composeEdit<'Paymaster'>(object, ownedFields(object, manager), next, manager);
    },
  },
  {
    name: 'written as the manifest of their owner',
    run: (count: number) => {
      const object = objectWith(count);
      return () => manifestFields(object, toWritten(object), 'somebody');
    },
  },
])('labels that are $name', ({ run }) => {
  expect(growthOf(run, 200)).toBeLessThan(mostGrowth);
});
