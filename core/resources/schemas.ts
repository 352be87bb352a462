import type { KindDefinition } from '../schema/crd.js';
import { chainDefinition } from './chain.schema.js';
import { chainConfigDefinition, paymasterConfigDefinition } from './compiled.schema.js';
import { feeTokenDefinition } from './fee-token.schema.js';
import type { Kind } from './kinds.js';
import { organisationDefinition } from './organisation.schema.js';
import { paymasterPolicyDefinition } from './paymaster-policy.schema.js';
import { paymasterDefinition } from './paymaster.schema.js';
import { smartContractDefinition } from './smart-contract.schema.js';

/** Schema, columns and selectable fields of every kind that users write. */
export const definitions = {
  Chain: chainDefinition,
  FeeToken: feeTokenDefinition,
  Organisation: organisationDefinition,
  Paymaster: paymasterDefinition,
  SmartContract: smartContractDefinition,
  PaymasterPolicy: paymasterPolicyDefinition,
} as const satisfies Record<Kind, KindDefinition>;

/** Kinds that the operator writes for the servers. */
export const compiledDefinitions = {
  PaymasterConfig: paymasterConfigDefinition,
  ChainConfig: chainConfigDefinition,
} as const satisfies Record<string, KindDefinition>;
