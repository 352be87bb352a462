/** Jest runs what `tsc -b` compiled; there is no transform, so failures point to the built files' source maps. */
export default {
  rootDir: 'dist/test',
  // Those in `kube/mode` need what its configuration starts.
  testMatch: ['**/*.test.js', '!**/kube/mode/**'],
  transform: {},
  // Bounds a hang; the slowest property takes seconds on an idle machine and a minute on a busy one.
  testTimeout: 120_000,
};
