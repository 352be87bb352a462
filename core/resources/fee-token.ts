import type { ObservedStatus, Resource } from '../meta/meta.js';
import { column, foundStatus } from '../meta/schema-parts.js';
import { feeToken, type FeeTokenSpec } from '../pricing/fee-token-spec.js';

export type FeeToken = Resource<'FeeToken', FeeTokenSpec, ObservedStatus>;

export const feeTokenKind = {
  description: 'An ERC-20 token in which users may pay for gas.',
  spec: feeToken,
  status: foundStatus({}),
  printerColumns: [
    column('Chain', 'integer', '.spec.chainId', 'Chain id, e.g. 8453.'),
    column('Symbol', 'string', '.spec.symbol', 'Symbol of the token.'),
    column('Address', 'string', '.spec.address', 'Address.', 1),
    column('Premium', 'string', '.spec.premiumPercentage', 'Percent.', 1),
  ],
  selectableFields: ['spec.address', 'spec.chainId'],
} as const;
