import type { Role } from './config.js';

/** What `GET /` answers: the addresses of this process, for anyone who has only its origin. */
export function renderIndex(roles: readonly Role[], hasOps: boolean): string {
  const addresses = {
    ...(roles.includes('rpc')
      ? {
          'POST /api/v1/{chainId}/{apiKey}': 'JSON-RPC of wallets and SDKs; /api/v2/{chainId}/{apiKey} alike',
          'GET /openrpc.json': 'its methods, errors and reasons',
          'POST /api/v1/webhooks/{policyId}/deliveries':
            'test delivery of a webhook policy (authToken, apiKey)',
        }
      : {}),
    ...(roles.includes('dashboard')
      ? {
          '/console/': 'console, in a browser (authToken)',
          '/api/v2/public/sdk/…': 'dashboard API (authToken, apiKey)',
          'GET /api/v2/public/sdk/openapi.json': 'its endpoints, and what webhook hosts are sent',
          'GET /manage/v1/usage, /decisions, /limits, /funds':
            'what was decided, mined and spent (authToken)',
          'POST /manage/v1/what-if': 'what other rules would have done (authToken)',
        }
      : {}),
    ...(hasOps
      ? {
          'GET /healthz': 'whether the process is alive',
          'GET /readyz': 'whether it should get traffic, and what to do about each check that fails',
          'GET /metrics': 'Prometheus',
        }
      : {}),
  };
  return JSON.stringify({ name: 'paymaster-operator', roles, addresses }, null, 2);
}
