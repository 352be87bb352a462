import standard from './jest.config.js';

/** What only a release needs (`make test-release`). */
export default { ...standard, testMatch: ['**/*.release.test.js'] };
