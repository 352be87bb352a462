/** Jest runs what `tsc -b` compiled; there is no transform, so failures point to the built files' source maps. */
export default {
  rootDir: 'dist/test',
  testMatch: ['**/*.test.js'],
  transform: {},
  testTimeout: 30_000,
};
