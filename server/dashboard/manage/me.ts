import { tokenScopes } from '../../../core/resources/dashboard-token.js';
import { arrayOf, record } from '../../../core/schema/json-schema.js';
import { deriveOrganisationId } from '../../../core/config/ids.js';
import { endpoint } from '../endpoint.js';
import { text, uuid } from '../record-schemas.js';
import { timeOrNull } from '../ledger/schemas.js';

export const meEndpoint = endpoint({
  operationId: 'getMe',
  summary: 'Whose the token is, what it may do, and until when',
  method: 'get',
  path: '/me',
  scope: 'organisation',
  needs: tokenScopes,
  schema: record({
    organisation: record({ name: text, namespace: text, organisationId: uuid }),
    token: record({ name: text, scopes: arrayOf({ enum: tokenScopes }), expiresAt: timeOrNull }),
  }),
  example: {
    organisation: {
      name: 'acme',
      namespace: 'team-a',
      organisationId: '0f8fad5b-d9cb-569f-a165-70867728950e',
    },
    token: { name: 'on call', scopes: ['read', 'stop'], expiresAt: '2027-01-01T00:00:00Z' },
  },

  async handle(_tools, { principal }) {
    const { organisation, namespace, tenant, tokenName, scopes, expiresAt = null } = principal;
    return {
      data: {
        organisation: {
          name: organisation.metadata.name,
          namespace,
          organisationId: deriveOrganisationId(tenant),
        },
        token: { name: tokenName, scopes, expiresAt },
      },
    };
  },
});
