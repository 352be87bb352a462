import standalone from './jest.config.js';

/**
 * The tests of the service document once more, unchanged, in Kubernetes mode: on a real API server and Redis; and those
 * that need the same surroundings.
 */
export default {
  ...standalone,
  testMatch: ['**/spec/*.component.test.js', '**/kube/mode/*.component.test.js'],
  globalSetup: '<rootDir>/kube/mode/global-setup.js',
  globalTeardown: '<rootDir>/kube/mode/global-teardown.js',
  // A test that fails leaves connections to Redis and the API server open, which must not keep the run from ending.
  forceExit: true,
};
