import standalone from './jest.config.js';

/**
 * Suites whose results no store can change; they run on the embedded stores only. Everything else of the service
 * document runs in both modes, a new suite too.
 */
const withoutStores = [
  // Judged before a store is asked: the form of requests, and documents that are made of schemas.
  'dashboard-malformed',
  'dashboard-openapi',
  'dashboard-versioning',
  'dashboard-warnings',
  'rpc-errors',
  'rpc-openrpc',
  'rpc-request-envelope',
  // Connections, readiness and stopping of the process; a store that fails is a fake there.
  'rpc-server',
  // Decided from the compiled config and the request, before anything is reserved. What reserves, and what the
  // amounts are, is in the suites of sponsorships, reservations and token payments.
  'rpc-data-fee',
  'rpc-eip-7702',
  'rpc-erc20-quotes',
  'rpc-get-fee-quote',
  'rpc-open-sponsorship',
  'rpc-unused-gas',
  'webhook-delivery',
];

/**
 * The tests of the service document once more, unchanged, in Kubernetes mode: on a real API server and PostgreSQL; and those
 * that need the same surroundings.
 */
export default {
  ...standalone,
  testMatch: ['**/spec/*.component.test.js', '**/kube/mode/*.component.test.js'],
  testPathIgnorePatterns: [`/spec/(${withoutStores.join('|')})\\.component\\.test\\.js$`],
  globalSetup: '<rootDir>/kube/mode/global-setup.js',
  globalTeardown: '<rootDir>/kube/mode/global-teardown.js',
  // A test that fails leaves connections to PostgreSQL and the API server open, which must not keep the run from ending.
  forceExit: true,
};
