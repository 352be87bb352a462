/** Jest runs what `tsc -b` compiled, without a transform, so failures point to the built files' source maps. */
export default {
  rootDir: 'dist/test',
  // Those in `kube/mode` need what its configuration starts; those of a release are run by `make test-release`.
  testMatch: ['**/*.test.js', '!**/*.release.test.js', '!**/kube/mode/**'],
  transform: {},
  testRunner: '<rootDir>/../../test/runner/run-file.mjs',
  testEnvironment: '<rootDir>/../../test/runner/environment.mjs',
  injectGlobals: false,
  testSequencer: '<rootDir>/../../test/longest-first.mjs',
  // Bounds a hang, and nothing else: on a busy machine a test may take ten times what it takes on an idle one.
  testTimeout: 300_000,
};
