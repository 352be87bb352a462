import { expect, test } from '@jest/globals';
import { createObjectSlimmer, createSharedTexts } from '../../adapters/resources/kubernetes/slim-object.js';

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

const read = {
  apiVersion: 'paymasters.dev/v1alpha1',
  kind: 'SmartContract',
  metadata: {
    name: 'counter',
    namespace: 'shops',
    uid: '6a1f',
    resourceVersion: '7',
    generation: 2,
    creationTimestamp: '2026-01-01T00:00:00Z',
    deletionTimestamp: '2026-01-02T00:00:00Z',
    labels: { team: 'a' },
    annotations: { 'paymasters.dev/created-by': 'ada', [lastApplied]: '{}' },
    managedFields: [
      { manager: 'kubectl', operation: 'Apply', apiVersion: 'paymasters.dev/v1alpha1' },
    ] as const,
  },
  spec: { paymasterRef: { name: 'shop' }, abi: '[]', whitelistedMethods: ['mint'] },
  status: {
    observedGeneration: 2,
    conditions: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Ready',
        message: 'In use.',
        observedGeneration: 2,
        lastTransitionTime: '2026-01-01T00:00:01Z',
      },
    ],
    methods: ['mint'],
  },
};

test('a watched object keeps everything but ownership records and what kubectl last applied', () => {
  const { managedFields: _managedFields, ...metadata } = read.metadata;
  expect(createObjectSlimmer()(read)).toEqual({
    ...read,
    metadata: { ...metadata, annotations: { 'paymasters.dev/created-by': 'ada' } },
  });
});

test.each([
  { name: 'without a status', object: { ...read, status: undefined } },
  { name: 'without conditions', object: { ...read, status: { observedGeneration: 2 } } },
  { name: 'that names no kind, as in a list', object: { ...read, apiVersion: undefined, kind: undefined } },
])('an object $name is kept as it is', ({ object }) => {
  const parsed = JSON.parse(JSON.stringify(object)) as typeof read;
  const { spec, status } = createObjectSlimmer()(parsed) as typeof read;
  expect({ spec, status }).toEqual({ spec: parsed.spec, status: parsed.status });
});

test('a string stays the same when the table of shared strings has been cleared', () => {
  const share = createSharedTexts();
  const long = 'x'.repeat(3 * 1024 * 1024);
  expect([share('shop'), share(long), share(`${long}y`), share('shop')]).toEqual([
    'shop',
    long,
    `${long}y`,
    'shop',
  ]);
});
