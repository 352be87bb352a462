import standalone from './jest.config.js';
import { suitesOfEveryRun, suitesOfSoak } from './dist/test/kube/mode/suites.js';
import { isSoak } from './dist/test/support/soak-seconds.js';

const suites = Object.keys(isSoak ? { ...suitesOfEveryRun, ...suitesOfSoak } : suitesOfEveryRun);

/**
 * Tests that share one API server, in which the chart is installed, and one PostgreSQL: suites of the service document once more, unchanged
 * (`test/kube/mode/suites.ts`), and those of `kube/mode`. One after the other.
 */
export default {
  ...standalone,
  testMatch: [`**/spec/@(${suites.join('|')}).component.test.js`, '**/kube/mode/*.component.test.js'],
  globalSetup: '<rootDir>/kube/mode/global-setup.js',
  globalTeardown: '<rootDir>/kube/mode/global-teardown.js',
  // A test that fails leaves connections to PostgreSQL and the API server open, which must not keep the run from ending.
  forceExit: true,
};
