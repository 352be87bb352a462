import { maxConfigBytes } from './paymaster-config.js';
import type { KindDefinition } from '../schema/crd.js';
import { choice, list, object, text, type Infer } from '../schema/structural.js';
import { ageColumn, categories, column } from '../meta/schema-parts.js';

const sha256 = (description: string) =>
  text(description, {
    maxLength: 64,
    pattern: '^[0-9a-f]{64}$',
    expected: 'a SHA-256: 64 lowercase hex digits',
  });

const hash = sha256('SHA-256 of the content; an object with an equal hash is not written again.');
const config = text('The snapshot as JSON text.', { minLength: 2, maxLength: maxConfigBytes });

const state = choice('What the snapshot says: whether it is served, stopped, or left behind by a deletion.', [
  'Served',
  'Suspended',
  'Deleted',
]);
/** What people see of a snapshot without reading it. */
const shown = {
  state,
  source: text('The object that it is made from, as namespace/name.', { maxLength: 512 }),
};

const hashColumn = column('Hash', 'string', '.spec.hash', 'Hash of the content.', 1);
const columns = [
  column('State', 'string', '.spec.state', 'Whether it is served.'),
  column('Source', 'string', '.spec.source', 'What it is made from.'),
  hashColumn,
  ageColumn,
] as const;

/** What the operator writes for the servers: a compiled snapshot as JSON text, identified by its hash. */
const paymasterSpec = object('The compiled snapshot of a Paymaster with its contracts and policies.', {
  required: {
    hash,
    keyHashes: list('SHA-256 of each apiKey that is accepted.', sha256('SHA-256 of an apiKey.'), {
      // Two master keys with two generations of the first key, and 20 keys with names.
      maxItems: 48,
    }),
    config,
  },
  optional: shown,
});
export type CompiledPaymasterSpec = Infer<typeof paymasterSpec>;

const paymasterConfigDefinition: KindDefinition = {
  kind: 'PaymasterConfig',
  plural: 'paymasterconfigs',
  singular: 'paymasterconfig',
  shortNames: ['pmconfig'],
  categories,
  scope: 'Namespaced',
  description:
    'What is served for one Paymaster. Written by the operator in its own namespace; edits by others are overwritten. When the Paymaster is deleted it stays for 30 days as a tombstone, which signs nothing and keeps the generation of the deletion.',
  spec: paymasterSpec,
  printerColumns: columns,
  selectableFields: [],
};

const chainConfigDefinition: KindDefinition = {
  kind: 'ChainConfig',
  plural: 'chainconfigs',
  singular: 'chainconfig',
  shortNames: ['pmchainconfig'],
  categories,
  scope: 'Namespaced',
  description:
    'What is served for one chain. Written by the operator in its own namespace; edits by others are overwritten. When the Chain is deleted it stays for 30 days as a tombstone.',
  spec: object('The compiled snapshot of a Chain with its fee tokens.', {
    required: { hash, config },
    optional: shown,
  }),
  printerColumns: columns,
  selectableFields: [],
};

const addressListDefinition: KindDefinition = {
  kind: 'AddressList',
  plural: 'addresslists',
  singular: 'addresslist',
  shortNames: ['pmlist'],
  categories,
  scope: 'Namespaced',
  description:
    'Addresses that a PaymasterConfig or ChainConfig names by the hash of the list, which is the name of this object. Written by the operator in its own namespace; an edited one counts as absent. Deleted an hour after nothing names it.',
  spec: object('The list.', { required: { hash, config } }),
  printerColumns: [hashColumn, ageColumn],
  selectableFields: [],
};

/** Kinds that the operator writes for the servers. */
export const compiledDefinitions = {
  PaymasterConfig: paymasterConfigDefinition,
  ChainConfig: chainConfigDefinition,
  AddressList: addressListDefinition,
} as const satisfies Record<string, KindDefinition>;
