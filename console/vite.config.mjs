import { gzipSync } from 'node:zlib';
import { defineConfig } from 'vite';

/** Beside each script and style its compressed form, for servers that compress nothing themselves. */
const compressed = {
  name: 'compressed',
  generateBundle: {
    order: 'post',
    handler(_options, bundle) {
      for (const { fileName, code, source = code } of Object.values(bundle))
        if (/\.(js|css)$/.test(fileName))
          this.emitFile({
            type: 'asset',
            fileName: `${fileName}.gz`,
            source: gzipSync(source, { level: 9 }),
          });
    },
  },
};

/** Writes `dist/console`, which the dashboard role serves. Everything is a file: the policy allows nothing inline. */
export default defineConfig({
  root: import.meta.dirname,
  // Relative, so that a proxy may serve the console below another path.
  base: './',
  plugins: [compressed],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/console',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    // On a slow machine the first build would end with a report on the speed of plugins.
    rolldownOptions: { checks: { pluginTimings: false } },
  },
});
