import { maxConfigBytes } from './paymaster-config.js';
import type { KindDefinition } from '../schema/crd.js';
import { list, object, text } from '../schema/structural.js';
import { ageColumn, categories, column } from '../meta/schema-parts.js';

/** What the operator writes for the servers: a compiled snapshot as JSON text, identified by its hash. */
type CompiledChainSpec = { readonly hash: string; readonly config: string };
export type CompiledPaymasterSpec = CompiledChainSpec & { readonly keyHashes: readonly string[] };

const sha256 = (description: string) =>
  text(description, {
    maxLength: 64,
    pattern: '^[0-9a-f]{64}$',
    expected: 'a SHA-256: 64 lowercase hex digits',
  });

const hash = sha256('SHA-256 of the content; an object with an equal hash is not written again.');
const config = text('The snapshot as JSON text.', { minLength: 2, maxLength: maxConfigBytes });

const columns = [column('Hash', 'string', '.spec.hash', 'Hash of the content.'), ageColumn] as const;

const paymasterConfigDefinition: KindDefinition = {
  kind: 'PaymasterConfig',
  plural: 'paymasterconfigs',
  singular: 'paymasterconfig',
  shortNames: ['pmconfig'],
  categories,
  scope: 'Namespaced',
  description:
    'What is served for one Paymaster. Written by the operator in its own namespace; edits by others are overwritten. When the Paymaster is deleted it stays for 30 days as a tombstone, which signs nothing and keeps the generation of the deletion.',
  spec: object<CompiledPaymasterSpec>(
    'The compiled snapshot of a Paymaster with its contracts and policies.',
    {
      required: {
        hash,
        keyHashes: list('SHA-256 of each apiKey that is accepted.', sha256('SHA-256 of an apiKey.'), {
          maxItems: 8,
        }),
        config,
      },
    },
  ),
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
  spec: object<CompiledChainSpec>('The compiled snapshot of a Chain with its fee tokens.', {
    required: { hash, config },
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
  spec: object<CompiledChainSpec>('The list.', { required: { hash, config } }),
  printerColumns: columns,
  selectableFields: [],
};

/** Kinds that the operator writes for the servers. */
export const compiledDefinitions = {
  PaymasterConfig: paymasterConfigDefinition,
  ChainConfig: chainConfigDefinition,
  AddressList: addressListDefinition,
} as const satisfies Record<string, KindDefinition>;
