import { defineConfig } from 'vite';

/** Writes `dist/console`, which the dashboard role serves. Everything is a file: the policy allows nothing inline. */
export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that a proxy may serve the console below another path.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
  },
});
