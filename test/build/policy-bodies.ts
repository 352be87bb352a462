import { schemaOfPolicy } from '../../server/dashboard/schemas.js';

/** The body that creates a spending limit. */
export const createLimitSchema = schemaOfPolicy({ policyType: 'PAYMASTER_SA_LIMIT' });
